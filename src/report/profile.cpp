#include "report/profile.h"

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/percent.h"
#include "base/printable.h"
#include "base/text.h"
#include "compare/metrics.h"
#include "json/json_text.h"
#include "report/durations.h"

namespace qtool {
namespace {

using Json = nlohmann::ordered_json;
using Kind = TextTable::Kind;
constexpr std::size_t kMaxCrossings = 20;
constexpr std::size_t kMaxReaders = 3;
constexpr double kGiga = 1e9;
constexpr std::array<std::string_view, 2> kModelNames{"FP32", "INT8"};  // of RuntimeTimes::models

/// One step of each model, side by side. Steps of the same node belong together.
struct StepRow {
  const StepTime* fp32 = nullptr;
  const StepTime* int8 = nullptr;
};

std::vector<StepRow> align_steps(const ProfileResult& result) {
  std::vector<StepRow> rows;
  if (!result.int8) {
    for (const StepTime& step : result.fp32.steps) rows.push_back({&step, nullptr});
    return rows;
  }
  std::multimap<std::string_view, const StepTime*> fp32;
  for (const StepTime& step : result.fp32.steps) fp32.emplace(step.step.node, &step);
  for (const StepTime& step : result.int8->steps) {
    const auto match = fp32.find(step.step.node);
    rows.push_back({match == fp32.end() ? nullptr : match->second, &step});
    if (match != fp32.end()) fp32.erase(match);
  }
  // Steps that only the FP32 model has follow, in their order.
  for (const StepTime& step : result.fp32.steps) {
    const auto [begin, end] = fp32.equal_range(step.step.node);
    if (std::any_of(begin, end, [&](const auto& entry) { return entry.second == &step; })) {
      rows.push_back({&step, nullptr});
    }
  }
  return rows;
}

/// The work that a step does per second.
struct Rate {
  std::string_view unit;
  double per_second = 0.0;
  std::optional<double> peak_share{};  ///< share of the machine's measured peak
};

/// The rate in multiplications for a step that multiplies, or in bytes for a step that only moves
/// data or computes element by element. Nothing if neither number is known.
std::optional<Rate> rate_of(const StepTime& time, const MachinePeak& peak) {
  const bool multiplies = time.step.macs > 0;
  const std::int64_t items = multiplies ? time.step.macs : time.bytes;
  if (items == 0 || time.seconds <= 0.0) return std::nullopt;
  const double macs = time.step.integer ? peak.int8_macs_per_second : peak.fp32_macs_per_second;
  const double most = multiplies ? macs : peak.copied_bytes_per_second;
  Rate rate{multiplies ? "GMAC/s" : "GB/s", static_cast<double>(items) / time.seconds};
  if (most > 0.0) rate.peak_share = rate.per_second / most;
  return rate;
}

std::string rate_text(const StepTime& time, const MachinePeak& peak) {
  const std::optional<Rate> rate = rate_of(time, peak);
  if (!rate || !rate->peak_share) return {};
  return to_text(to_fixed(rate->per_second / kGiga, 1), " ", rate->unit, ", ",
                 percent(*rate->peak_share, 0));
}

std::string interval_text(const StepTime& time) {
  return to_text(milliseconds(time.low_seconds), "-", milliseconds(time.high_seconds));
}

std::string peak_line(const ProfileResult& result) {
  const MachinePeak& peak = result.peak;
  if (peak.fp32_macs_per_second <= 0.0) return {};
  return to_text("peak of this machine on ", result.threads,
                 result.threads == 1 ? " thread" : " threads", ", measured: FP32 ",
                 to_fixed(peak.fp32_macs_per_second / kGiga, 1), " GMAC/s, INT8 ",
                 to_fixed(peak.int8_macs_per_second / kGiga, 1), " GMAC/s, copying ",
                 to_fixed(peak.copied_bytes_per_second / kGiga, 1), " GB/s\n");
}

double total_seconds(const PlanProfile& profile) {
  double total = 0.0;
  for (const StepTime& time : profile.steps) total += time.seconds;
  return total;
}

double crossing_seconds(const PlanProfile& profile) {
  double sum = 0.0;
  for (const Crossing& crossing : profile.crossings) sum += profile.steps.at(crossing.step).seconds;
  return sum;
}

// The conversions between reals and integers, the slowest first, and their sum.
std::string crossing_lines(const char* name, const PlanProfile& profile, ListLength length) {
  if (profile.crossings.empty()) return {};
  std::vector<const Crossing*> order;
  for (const Crossing& crossing : profile.crossings) order.push_back(&crossing);
  std::ranges::stable_sort(order, [&](const Crossing* a, const Crossing* b) {
    return profile.steps.at(a->step).seconds > profile.steps.at(b->step).seconds;
  });
  const double sum = crossing_seconds(profile);
  const double total = total_seconds(profile);
  std::string text =
      to_text(name, ": ", order.size(), order.size() == 1 ? " step converts" : " steps convert",
              " between FP32 and integers, ", milliseconds(sum), " ms in all, ",
              percent(total > 0.0 ? sum / total : 0.0, 1), " of its steps\n");
  const std::size_t most = length == ListLength::kShort ? kQuietList : kMaxCrossings;
  for (std::size_t i = 0; i < order.size() && i < most; ++i) {
    const StepTime& time = profile.steps.at(order[i]->step);
    const bool leaves = time.step.op_type == "DequantizeLinear";
    text += to_text("  ", milliseconds(time.seconds), " ms (", milliseconds(time.low_seconds),
                    " to ", milliseconds(time.high_seconds), ") to ", leaves ? "FP32" : "integers");
    if (!order[i]->from.empty()) text += to_text(", from '", printable(order[i]->from), "'");
    const std::vector<std::string>& to = order[i]->to;
    for (std::size_t r = 0; r < to.size() && r < kMaxReaders; ++r) {
      text += to_text(r == 0 ? " for '" : ", '", printable(to[r]), "'");
    }
    if (to.size() > kMaxReaders) text += to_text(" and ", to.size() - kMaxReaders, " more");
    text += "\n";
  }
  if (order.size() > most) {
    text += to_text("  and ", order.size() - most, " faster ones\n");
  }
  return text;
}

Json json_of_plan(const PlanProfile& profile, const MachinePeak& peak) {
  Json steps = Json::array();
  for (const StepTime& step : profile.steps) {
    const std::optional<Rate> rate = rate_of(step, peak);
    Json share;
    if (rate && rate->peak_share) share = *rate->peak_share;
    steps.push_back({{"node", step.step.node},
                     {"operator", step.step.op_type},
                     {"kernel", step.step.kernel},
                     {"output", step.step.output},
                     {"integer", step.step.integer},
                     {"macs", step.step.macs},
                     {"bytes", step.bytes},
                     {"seconds", step.seconds},
                     {"low_seconds", step.low_seconds},
                     {"high_seconds", step.high_seconds},
                     {"peak_share", std::move(share)}});
  }
  Json crossings = Json::array();
  for (const Crossing& crossing : profile.crossings) {
    const StepTime& time = profile.steps.at(crossing.step);
    crossings.push_back({{"step", crossing.step},
                         {"operator", time.step.op_type},
                         {"from", crossing.from},
                         {"to", crossing.to},
                         {"seconds", time.seconds}});
  }
  return {{"median_seconds", profile.median_seconds},
          {"low_seconds", profile.low_seconds},
          {"high_seconds", profile.high_seconds},
          {"fastest_seconds", profile.fastest_seconds},
          {"arena_bytes", profile.arena_bytes},
          {"steps", std::move(steps)},
          {"crossing_seconds", crossing_seconds(profile)},
          {"crossings", std::move(crossings)}};
}

}  // namespace

std::string text_of(const ProfileResult& result, std::size_t width, ListLength length) {
  const bool has_int8 = result.int8.has_value();
  std::vector<TextTable::Column> columns{{"node"},
                                         {"operator", Kind::kText, 2},
                                         {"FP32 kernel", Kind::kText, 1},
                                         {"FP32 ms", Kind::kNumber, 7},
                                         {"FP32 95 %", Kind::kNumber, 3},
                                         {"FP32 rate, of peak", Kind::kNumber, 3}};
  if (has_int8) {
    columns.insert(columns.end(), {{"INT8 kernel", Kind::kText, 4},
                                   {"INT8 ms", Kind::kNumber, 8},
                                   {"INT8 95 %", Kind::kNumber, 5},
                                   {"INT8 rate, of peak", Kind::kNumber, 5},
                                   {"speed-up", Kind::kNumber, 6}});
  }
  TextTable table(columns);
  for (const StepRow& row : align_steps(result)) {
    const StepInfo& step = (row.int8 != nullptr ? row.int8 : row.fp32)->step;
    std::vector<std::string> cells{step.node, step.op_type};
    const auto add = [&](const StepTime* time) {
      cells.push_back(time == nullptr ? std::string() : time->step.kernel);
      cells.push_back(time == nullptr ? std::string() : milliseconds(time->seconds));
      cells.push_back(time == nullptr ? std::string() : interval_text(*time));
      cells.push_back(time == nullptr ? std::string() : rate_text(*time, result.peak));
    };
    add(row.fp32);
    if (has_int8) {
      add(row.int8);
      const bool both = row.fp32 != nullptr && row.int8 != nullptr;
      cells.push_back(both ? ratio(row.fp32->seconds, row.int8->seconds) : std::string());
    }
    const double slowest = std::max(row.fp32 == nullptr ? 0.0 : row.fp32->seconds,
                                    row.int8 == nullptr ? 0.0 : row.int8->seconds);
    table.add(cells, -slowest);
  }

  std::string text = table.to_string(width, length);
  const auto batch = static_cast<double>(result.batch);
  const auto total = [&](const char* name, const PlanProfile& plan) {
    return to_text(name, ": ", milliseconds(plan.median_seconds),
                   " ms (95 %: ", milliseconds(plan.low_seconds), " to ",
                   milliseconds(plan.high_seconds), "; fastest ",
                   milliseconds(plan.fastest_seconds), "), ",
                   to_fixed(batch / plan.median_seconds, 1), " images/s\n",
                   unsteady_line(name, plan.median_seconds, plan.fastest_seconds));
  };
  text += crossing_lines("FP32", result.fp32, length);
  if (has_int8) text += crossing_lines("INT8", *result.int8, length);
  text += to_text(peak_line(result), "median of ", result.repeat, " runs, batch ", result.batch,
                  ", ", result.threads, result.threads == 1 ? " thread\n" : " threads\n");
  text += total("FP32", result.fp32);
  if (has_int8) {
    text += total("INT8", *result.int8);
    text += to_text("speed-up in qtool: ",
                    ratio(result.fp32.median_seconds, result.int8->median_seconds), "\n");
  }
  return text;
}

RuntimeTimes times_of_runs(std::string runtime, std::int64_t threads,
                           const std::vector<std::vector<double>>& runs) {
  RuntimeTimes times{std::move(runtime), threads, std::ssize(runs.front()), 1, {}};
  for (const std::vector<double>& seconds : runs) times.models.push_back(median_interval(seconds));
  return times;
}

RuntimeTimes times_in_qtool(const ProfileResult& result) {
  RuntimeTimes times{"qtool", result.threads, result.repeat, result.batch, {}};
  const auto add = [&](const PlanProfile& plan) {
    times.models.push_back({plan.median_seconds, plan.low_seconds, plan.high_seconds});
  };
  add(result.fp32);
  if (result.int8) add(*result.int8);
  return times;
}

std::string text_of(const RuntimeTimes& times) {
  std::string text = to_text("in ", times.runtime, ", median of ", times.repeat, " runs, ");
  if (times.batch > 1) text += to_text("batch ", times.batch, ", ");
  text += to_text(times.threads, times.threads == 1 ? " thread\n" : " threads\n");
  for (std::size_t i = 0; i < times.models.size(); ++i) {
    const MedianInterval& time = times.models[i];
    text += to_text(kModelNames.at(i), ": ", milliseconds(time.median),
                    " ms (95 %: ", milliseconds(time.low), " to ", milliseconds(time.high), ")\n");
  }
  if (times.models.size() < 2) return text;
  return to_text(text, "speed-up in ", times.runtime, ": ",
                 ratio(times.models[0].median, times.models[1].median), "\n");
}

std::string medians_text(const RuntimeTimes& times) {
  std::string text = to_text("in ", times.runtime, ":");
  for (std::size_t i = 0; i < times.models.size(); ++i) {
    text += to_text(i == 0 ? " " : ", ", kModelNames.at(i), " ",
                    milliseconds(times.models[i].median), " ms");
  }
  return text;
}

std::string json_of(const RuntimeTimes& times) {
  Json json{{"runtime", times.runtime},
            {"threads", times.threads},
            {"repeat", times.repeat},
            {"batch", times.batch}};
  for (std::size_t i = 0; i < times.models.size(); ++i) {
    const MedianInterval& time = times.models[i];
    json[i == 0 ? "fp32" : "int8"] = {
        {"median_seconds", time.median}, {"low_seconds", time.low}, {"high_seconds", time.high}};
  }
  return json_text(json);
}

std::string json_of(const ProfileResult& result, const RuntimeTimes* other) {
  Json json{{"threads", result.threads},
            {"repeat", result.repeat},
            {"batch", result.batch},
            {"peak",
             {{"fp32_macs_per_second", result.peak.fp32_macs_per_second},
              {"int8_macs_per_second", result.peak.int8_macs_per_second},
              {"copied_bytes_per_second", result.peak.copied_bytes_per_second}}},
            {"fp32", json_of_plan(result.fp32, result.peak)}};
  if (result.int8) json["int8"] = json_of_plan(*result.int8, result.peak);
  if (other != nullptr) json["also"] = Json::parse(json_of(*other));
  return json_text(json);
}

}  // namespace qtool

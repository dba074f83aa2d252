#include "report/search.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "json/json_text.h"
#include "report/percent.h"
#include "report/preprocessing_json.h"

namespace qtool {
namespace {

using Json = nlohmann::ordered_json;
using Kind = TextTable::Kind;

constexpr double kMilliseconds = 1e3;
constexpr std::size_t kRows = 12;  // of the frontier, in a text

std::string milliseconds(double seconds) { return to_fixed(kMilliseconds * seconds, 2); }

std::string signed_milliseconds(double seconds) {
  const std::string text = milliseconds(seconds);
  return text.starts_with('-') ? text : concat("+", text);
}

std::string nodes_text(std::size_t nodes) {
  return concat(nodes, nodes == 1 ? " node" : " nodes", " in FP32");
}

std::string wide_text(std::size_t tensors) {
  if (tensors == 0) return "";
  return concat(", ", tensors, tensors == 1 ? " tensor" : " tensors", " in 16 bits");
}

bool is_same(const SearchPoint& a, const SearchPoint& b) {
  return a.exclude == b.exclude && a.wide == b.wide;
}

std::string slower_text(const SearchPoint& point, double int8_seconds) {
  if (!point.slower_seconds) return "";
  const MedianInterval& slower = *point.slower_seconds;
  std::string text =
      concat(signed_milliseconds(slower.median), " ms (", signed_milliseconds(slower.low), " to ",
             signed_milliseconds(slower.high), ")");
  if (int8_seconds > 0.0) text += concat(", ", percent(slower.median / int8_seconds, 1));
  return text;
}

std::string agreement_text(const SearchPoint& point) {
  return point.agreement ? percent(*point.agreement, 2) : "-";
}

/// What the goal counts of a model.
std::string accuracy_text(const SearchPoint& point, SearchGoal::Kind kind) {
  std::string text = concat(to_fixed(point.sqnr_db, 2), " dB");
  if (kind == SearchGoal::Kind::kAgreement) {
    text += concat(", agreement ", agreement_text(point));
  } else if (kind == SearchGoal::Kind::kTop1Drop) {
    text += concat(", top-1 ", percent_of(point.top1, point.labelled), " against ",
                   percent_of(point.fp32_top1, point.labelled));
  }
  return text;
}

std::string_view name_of(SearchGoal::Kind kind) {
  switch (kind) {
    case SearchGoal::Kind::kSqnr:
      return "sqnr";
    case SearchGoal::Kind::kAgreement:
      return "agreement";
    case SearchGoal::Kind::kTop1Drop:
      return "top1_drop";
  }
  return "";
}

std::string_view name_of(SearchEnd end) {
  switch (end) {
    case SearchEnd::kComplete:
      return "complete";
    case SearchEnd::kBudget:
      return "budget";
    case SearchEnd::kInterrupted:
      return "interrupted";
  }
  return "";
}

std::string_view end_text(SearchEnd end) {
  switch (end) {
    case SearchEnd::kComplete:
      return "nothing was left to try";
    case SearchEnd::kBudget:
      return "the budget is used up";
    case SearchEnd::kInterrupted:
      return "stopped on request";
  }
  return "";
}

/// The models of the frontier that a text shows: those that were timed, the first one and the
/// best; without times, some spread evenly.
std::vector<const SearchPoint*> shown_of(const SearchResult& result) {
  const bool timed =
      std::any_of(result.frontier.begin(), result.frontier.end(),
                  [](const SearchPoint& point) { return point.slower_seconds.has_value(); });
  const std::size_t count = result.frontier.size();
  const std::size_t stride = timed ? count : (count + kRows - 1) / kRows;
  std::vector<const SearchPoint*> shown;
  for (std::size_t i = 0; i < count; ++i) {
    const SearchPoint& point = result.frontier[i];
    if (i % stride == 0 || point.slower_seconds || is_same(point, result.best)) {
      shown.push_back(&point);
    }
  }
  return shown;
}

Json json_of(const SearchPoint& point) {
  Json json{{"sqnr_db", point.sqnr_db},
            {"output_sqnr_db", point.output_sqnr_db},
            {"images", point.images},
            {"agreement", point.agreement ? Json(*point.agreement) : Json()},
            {"labelled", point.labelled},
            {"fp32_top1", point.fp32_top1},
            {"top1", point.top1},
            {"unanswered", point.unanswered},
            {"integer_share", point.integer_share},
            {"cost", point.cost},
            {"reaches_goal", point.reaches_goal},
            {"slower_seconds", nullptr},
            {"exclude", point.exclude},
            {"wide", point.wide}};
  if (point.slower_seconds) {
    json["slower_seconds"] = {{"median", point.slower_seconds->median},
                              {"low", point.slower_seconds->low},
                              {"high", point.slower_seconds->high}};
  }
  return json;
}

}  // namespace

std::string text_of(const SearchGoal& goal) {
  switch (goal.kind) {
    case SearchGoal::Kind::kSqnr:
      return concat(goal.value, " dB or more");
    case SearchGoal::Kind::kAgreement:
      return concat(goal.value, " % agreement or more");
    case SearchGoal::Kind::kTop1Drop:
      return concat(goal.value, " points of top-1 lost or fewer");
  }
  return "";
}

std::string text_of(const SearchCost& cost, int threads) {
  return concat("an image costs ", milliseconds(cost.trial_seconds),
                " ms per model that is tried, ", milliseconds(cost.probe_seconds),
                " ms to measure ", cost.sources, " sources alone, on each of ", threads,
                threads == 1 ? " thread: " : " threads: ", cost.images, " images for models, ",
                cost.probed, " for sources");
}

std::string text_of(const SearchResult& result, std::size_t width) {
  const SearchGoal::Kind kind = result.goal.kind;
  const SearchPoint& best = result.best;
  std::string text =
      concat("INT8: ", accuracy_text(result.int8, kind), " on ", result.int8.images, " images, ",
             percent(result.int8.integer_share, 1), " of MACs on integers");
  if (result.int8_seconds > 0.0) {
    text += concat(", ", milliseconds(result.int8_seconds), " ms on ", result.threads,
                   result.threads == 1 ? " thread" : " threads");
  }
  text += concat("\nGoal: ", text_of(result.goal),
                 result.reached ? "; reached: " : "; nearest: ", accuracy_text(best, kind), " at ",
                 percent(best.integer_share, 1), " of MACs on integers, ",
                 nodes_text(best.exclude.size()), wide_text(best.wide.size()));
  const std::string slower = slower_text(best, result.int8_seconds);
  if (!slower.empty()) text += concat(", ", slower);
  text += "\n\n";

  const bool classes =
      std::any_of(result.frontier.begin(), result.frontier.end(),
                  [](const SearchPoint& point) { return point.agreement.has_value(); });
  std::vector<TextTable::Column> columns{{"dB", Kind::kNumber},
                                         {"MACs on integers", Kind::kNumber},
                                         {"nodes in FP32", Kind::kNumber, 5},
                                         {"slower", Kind::kText, 6},
                                         {"", Kind::kText}};
  const bool wide = std::ranges::any_of(
      result.frontier, [](const SearchPoint& point) { return !point.wide.empty(); });
  if (wide) columns.insert(columns.begin() + 3, {"tensors in 16 bits", Kind::kNumber, 5});
  if (classes) columns.insert(columns.begin() + 1, {"agreement", Kind::kNumber, 7});
  TextTable table(std::move(columns));
  const std::vector<const SearchPoint*> shown = shown_of(result);
  for (const SearchPoint* point : shown) {
    std::vector<std::string> row{to_fixed(point->sqnr_db, 2), percent(point->integer_share, 1),
                                 to_text(static_cast<std::int64_t>(point->exclude.size())),
                                 slower_text(*point, result.int8_seconds),
                                 is_same(*point, best) ? "<" : ""};
    if (wide) row.insert(row.begin() + 3, to_text(static_cast<std::int64_t>(point->wide.size())));
    if (classes) row.insert(row.begin() + 1, agreement_text(*point));
    table.add(std::move(row));
  }
  text += table.to_string(width);
  if (shown.size() < result.frontier.size()) {
    text += concat(result.frontier.size() - shown.size(), " more between them\n");
  }
  const bool unmeasured = result.end != SearchEnd::kComplete && result.islands == 0;
  return concat(text, "\n", result.tried, " models and ", result.islands, " sets of nodes in ",
                to_fixed(result.seconds, 1), " s; ", end_text(result.end),
                unmeasured ? " before the sources of noise were measured" : "", "\n");
}

std::string json_of(const SearchResult& result,
                    const std::optional<SourcedPreprocess>& preprocess) {
  Json json;
  json["goal"] = {{"kind", name_of(result.goal.kind)}, {"value", result.goal.value}};
  json["reached"] = result.reached;
  json["end"] = name_of(result.end);
  json["preprocess"] = json_of(preprocess);
  json["int8"] = json_of(result.int8);
  json["best"] = json_of(result.best);
  json["frontier"] = Json::array();
  for (const SearchPoint& point : result.frontier) json["frontier"].push_back(json_of(point));
  json["images"] = result.cost.images;
  json["sources"] = result.cost.sources;
  json["probed_images"] = result.cost.probed;
  json["probe_seconds"] = result.cost.probe_seconds;
  json["trial_seconds"] = result.cost.trial_seconds;
  json["islands"] = result.islands;
  json["tried"] = result.tried;
  json["threads"] = result.threads;
  json["int8_seconds"] = result.int8_seconds;
  json["seconds"] = result.seconds;
  return json_text(json);
}

}  // namespace qtool

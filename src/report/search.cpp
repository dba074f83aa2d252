#include "report/search.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>
#include <vector>

#include "base/percent.h"
#include "base/text.h"
#include "json/json_text.h"
#include "report/durations.h"
#include "report/preprocessing_json.h"
#include "report/samples.h"
#include "report/samples_json.h"

namespace qtool {
namespace {

using Json = nlohmann::ordered_json;
using Kind = TextTable::Kind;

constexpr double kNoLimit = 1e9;  // percent of boxes added

std::string nodes_text(std::size_t nodes) {
  return to_text(nodes, nodes == 1 ? " node" : " nodes", " in FP32");
}

std::string wide_text(std::size_t tensors) {
  if (tensors == 0) return "";
  return to_text(", ", tensors, tensors == 1 ? " tensor" : " tensors", " in 16 bits");
}

bool is_same(const SearchPoint& a, const SearchPoint& b) {
  return a.exclude == b.exclude && a.wide == b.wide;
}

std::string slower_text(const SearchPoint& point, double int8_seconds) {
  if (!point.slower_seconds) return "";
  const MedianInterval& slower = *point.slower_seconds;
  std::string text = slower_by(slower);
  if (int8_seconds > 0.0) text += to_text(", ", percent(slower.median / int8_seconds, 1));
  return text;
}

std::string agreement_text(const SearchPoint& point) {
  return point.agreement ? percent(*point.agreement, 2) : "-";
}

std::string sure_text(const std::optional<double>& share) {
  return share ? percent(std::max(*share, 0.0), 1) : "-";
}

/// The lower bound of the agreement, or the bounds for kept and added boxes, on other images.
std::string sure_text(const SearchPoint& point) {
  if (!point.boxes) return sure_text(point.agreement_at_least);
  return to_text(sure_text(point.kept_at_least), " kept and at most ",
                 sure_text(point.added_at_most), " added");
}

std::string kept_text(const BoxMatch& boxes) { return percent_of(boxes.kept, boxes.fp32); }
std::string added_text(const BoxMatch& boxes) { return percent_of(boxes.added(), boxes.fp32); }

/// The figures of a model that belong to the kind of the goal.
std::string accuracy_text(const SearchPoint& point, SearchGoal::Kind kind) {
  std::string text = to_text(to_fixed(point.sqnr_db, 2), " dB");
  if (point.boxes) {
    text += to_text(", ", kept_text(*point.boxes), " of ", point.boxes->fp32, " boxes kept and ",
                    added_text(*point.boxes), " added");
  } else if (kind == SearchGoal::Kind::kAgreement) {
    text += to_text(", agreement ", agreement_text(point));
  } else if (kind == SearchGoal::Kind::kTop1Drop) {
    text += to_text(", top-1 ", percent_of(point.top1, point.labelled), " against ",
                    percent_of(point.fp32_top1, point.labelled));
  }
  return text;
}

std::string_view goal_name(SearchGoal::Kind kind) {
  switch (kind) {
    case SearchGoal::Kind::kSqnr:
      return "sqnr";
    case SearchGoal::Kind::kAgreement:
      return "agreement";
    case SearchGoal::Kind::kTop1Drop:
      return "top1_drop";
    case SearchGoal::Kind::kBoxes:
      return "boxes";
  }
  return "";
}

std::string_view end_name(SearchEnd end) {
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

/// How certain it is that other images reach the goal too.
std::string evidence_text(const SearchResult& result) {
  const SearchPoint& best = result.best;
  if (!best.agreement_at_least) return "";
  std::string text = to_text("On other images like these, with ", 100.0 * result.goal.confidence,
                             " % confidence: at least ", sure_text(best), "\n");
  if (result.surest) {
    text += to_text(
        "So few answers cannot show the goal: of a model without a mistake one would only "
        "know that it has ",
        percent(*result.surest, 1), "; therefore no mistake was allowed\n");
  }
  return text;
}

std::string frontier_text(const SearchResult& result, std::size_t width) {
  const std::vector<SearchPoint>& points = result.frontier;
  const bool classes = std::ranges::any_of(
      points, [](const SearchPoint& point) { return point.agreement && !point.boxes; });
  const bool boxes =
      std::ranges::any_of(points, [](const SearchPoint& point) { return point.boxes.has_value(); });
  const bool sure = std::ranges::any_of(
      points, [](const SearchPoint& point) { return point.agreement_at_least.has_value(); });
  const bool wide =
      std::ranges::any_of(points, [](const SearchPoint& point) { return !point.wide.empty(); });
  std::vector<TextTable::Column> columns{{"dB", Kind::kNumber}};
  if (classes) columns.push_back({"agreement", Kind::kNumber, 7});
  if (boxes) columns.push_back({"kept", Kind::kNumber});
  if (boxes) columns.push_back({"added", Kind::kNumber});
  if (sure && !boxes) columns.push_back({"for sure", Kind::kNumber, 5});
  if (sure && boxes) columns.push_back({"kept for sure", Kind::kNumber, 8});
  if (sure && boxes) columns.push_back({"added at most", Kind::kNumber, 7});
  columns.push_back({"MACs on integers", Kind::kNumber});
  columns.push_back({"nodes in FP32", Kind::kNumber, 5});
  if (wide) columns.push_back({"tensors in 16 bits", Kind::kNumber, 5});
  columns.push_back({"slower", Kind::kText, 6});
  columns.push_back({"", Kind::kText});
  TextTable table(std::move(columns));
  for (const SearchPoint& point : points) {
    std::vector<std::string> row{to_fixed(point.sqnr_db, 2)};
    if (classes) row.push_back(agreement_text(point));
    if (boxes) row.push_back(point.boxes ? kept_text(*point.boxes) : "-");
    if (boxes) row.push_back(point.boxes ? added_text(*point.boxes) : "-");
    if (sure) row.push_back(sure_text(boxes ? point.kept_at_least : point.agreement_at_least));
    if (sure && boxes) row.push_back(sure_text(point.added_at_most));
    row.push_back(percent(point.integer_share, 1));
    row.push_back(to_text(static_cast<std::int64_t>(point.exclude.size())));
    if (wide) row.push_back(to_text(static_cast<std::int64_t>(point.wide.size())));
    row.push_back(slower_text(point, result.int8_seconds));
    row.emplace_back(is_same(point, result.best) ? "<" : "");
    table.add(std::move(row));
  }
  return table.to_string(width);
}

Json optional(const std::optional<double>& value) { return value ? Json(*value) : Json(); }

Json json_of_point(const SearchPoint& point) {
  Json json{{"sqnr_db", point.sqnr_db},
            {"output_sqnr_db", point.output_sqnr_db},
            {"images", point.images},
            {"agreement", optional(point.agreement)},
            {"agreement_at_least", optional(point.agreement_at_least)},
            {"boxes", nullptr},
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
  if (point.boxes) {
    json["boxes"] = {{"fp32", point.boxes->fp32},
                     {"kept", point.boxes->kept},
                     {"added", point.boxes->added()},
                     {"kept_at_least", optional(point.kept_at_least)},
                     {"added_at_most", optional(point.added_at_most)}};
  }
  if (point.slower_seconds) {
    json["slower_seconds"] = {{"median", point.slower_seconds->median},
                              {"low", point.slower_seconds->low},
                              {"high", point.slower_seconds->high}};
  }
  return json;
}

Json json_of_goal(const SearchGoal& goal) {
  Json json{{"kind", goal_name(goal.kind)}, {"value", goal.value}};
  if (goal.kind == SearchGoal::Kind::kBoxes) {
    json["most_added"] = goal.most_added < kNoLimit ? Json(goal.most_added) : Json();
  }
  if (goal.kind == SearchGoal::Kind::kAgreement || goal.kind == SearchGoal::Kind::kBoxes) {
    json["confidence"] = goal.confidence;
  }
  return json;
}

}  // namespace

std::string text_of(const SearchGoal& goal) {
  switch (goal.kind) {
    case SearchGoal::Kind::kSqnr:
      return to_text(goal.value, " dB or more");
    case SearchGoal::Kind::kAgreement:
      return to_text(goal.value, " % agreement or more");
    case SearchGoal::Kind::kTop1Drop:
      return to_text(goal.value, " points of top-1 lost or fewer");
    case SearchGoal::Kind::kBoxes:
      if (goal.most_added >= kNoLimit) return to_text(goal.value, " % of the boxes kept or more");
      if (goal.value <= 0.0) return to_text(goal.most_added, " % of boxes added or fewer");
      return to_text(goal.value, " % of the boxes kept or more and ", goal.most_added,
                     " % added or fewer");
  }
  return "";
}

std::string text_of(const SearchCost& cost, int threads) {
  return to_text("an image costs ", milliseconds(cost.trial_seconds, 2),
                 " ms per model that is tried, ", milliseconds(cost.probe_seconds, 2),
                 " ms to measure ", cost.sources, " sources alone, on each of ", threads,
                 threads == 1 ? " thread: " : " threads: ", cost.images, " images for models, ",
                 cost.probed, " for sources");
}

std::string text_of(const SearchPoint& best, const SearchGoal& goal) {
  std::string text = accuracy_text(best, goal.kind);
  return to_text(text, " at ", percent(best.integer_share, 1), " of MACs on integers, ",
                 nodes_text(best.exclude.size()), wide_text(best.wide.size()));
}

std::string text_of(const SearchResult& result, std::size_t width) {
  const SearchGoal::Kind kind = result.goal.kind;
  const SearchPoint& best = result.best;
  std::string text =
      to_text("INT8: ", accuracy_text(result.int8, kind), " on ", result.int8.images, " images, ",
              percent(result.int8.integer_share, 1), " of MACs on integers");
  if (result.int8_seconds > 0.0) {
    text += to_text(", ", milliseconds(result.int8_seconds, 2), " ms on ", result.threads,
                    result.threads == 1 ? " thread" : " threads");
  }
  text += to_text("\n", overlap_line(result.overlap), "Goal: ", text_of(result.goal),
                  result.reached ? "; reached: " : "; nearest: ", text_of(best, result.goal));
  const std::string slower = slower_text(best, result.int8_seconds);
  if (!slower.empty()) text += to_text(", ", slower);
  text += to_text("\n", evidence_text(result), "\n");
  text += frontier_text(result, width);
  const bool unmeasured = result.end != SearchEnd::kComplete && result.islands == 0;
  return to_text(text, "\n", result.tried, " models and ", result.islands, " sets of nodes in ",
                 to_fixed(result.seconds, 1), " s; ", end_text(result.end),
                 unmeasured ? " before the sources of noise were measured" : "", "\n",
                 text_of(UnusedFiles{result.bad, result.passed_over}));
}

std::string json_of(const SearchResult& result,
                    const std::optional<SourcedPreprocess>& preprocess) {
  Json json;
  json["goal"] = json_of_goal(result.goal);
  json["surest"] = optional(result.surest);
  json["reached"] = result.reached;
  json["end"] = end_name(result.end);
  json["preprocess"] = json_of(preprocess);
  json["int8"] = json_of_point(result.int8);
  json["best"] = json_of_point(result.best);
  json["frontier"] = Json::array();
  for (const SearchPoint& point : result.frontier) json["frontier"].push_back(json_of_point(point));
  json["images"] = result.cost.images;
  json["overlap"] = overlap_json(result.overlap);
  json["sources"] = result.cost.sources;
  json["probed_images"] = result.cost.probed;
  json["probe_seconds"] = result.cost.probe_seconds;
  json["trial_seconds"] = result.cost.trial_seconds;
  json["islands"] = result.islands;
  json["tried"] = result.tried;
  json["threads"] = result.threads;
  json["int8_seconds"] = result.int8_seconds;
  json["seconds"] = result.seconds;
  add_unused({result.bad, result.passed_over}, json);
  return json_text(json);
}

}  // namespace qtool

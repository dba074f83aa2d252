#include <nlohmann/json.hpp>
#include <string_view>

#include "json/json_text.h"
#include "report/answers_json.h"
#include "report/preprocessing_json.h"
#include "report/samples_json.h"
#include "report/search.h"

namespace qtool {
namespace {

using Json = nlohmann::ordered_json;

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

Json optional(const std::optional<double>& value) { return value ? Json(*value) : Json(); }

Json json_of_point(const SearchPoint& point) {
  Json json{{"pooled_sqnr_db", point.sqnr_db},
            {"output_pooled_sqnr_db", point.output_sqnr_db},
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
            {"beyond_limit", point.beyond_limit},
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
  if (point.slower_seconds) json["slower_seconds"] = median_json(*point.slower_seconds);
  return json;
}

Json json_of_figures(const SearchFigures& figures) {
  Json json{{"images", figures.images},
            {"pooled_sqnr_db", figures.sqnr_db},
            {"pooled_sqnr_db_interval", interval_json(figures.sqnr_interval_db)},
            {"agreement", optional(figures.agreement)},
            {"agreement_interval", interval_json(figures.agreement_interval)},
            {"boxes", nullptr},
            {"labelled", figures.labelled},
            {"fp32_top1", figures.fp32_top1},
            {"top1", figures.top1},
            {"top1_change_interval", interval_json(figures.top1_change_interval)}};
  if (figures.boxes) {
    json["boxes"] = {{"fp32", figures.boxes->fp32},
                     {"kept", figures.boxes->kept},
                     {"added", figures.boxes->added()},
                     {"kept_interval", interval_json(figures.boxes->kept_interval)},
                     {"added_interval", interval_json(figures.boxes->added_interval)}};
  }
  return json;
}

std::string_view verdict_name(GoalVerdict verdict) {
  switch (verdict) {
    case GoalVerdict::kReached:
      return "reached";
    case GoalVerdict::kUndecided:
      return "undecided";
    case GoalVerdict::kMissed:
      return "missed";
  }
  return "";
}

Json json_of_part(const std::optional<SearchedPart>& part) {
  if (!part) return {};
  return Json{{"int8", json_of_figures(part->int8)},
              {"best", json_of_figures(part->best)},
              {"gain_db", part->gain_db},
              {"gain_db_interval", interval_json(part->gain_interval_db)},
              {"verdict", verdict_name(part->verdict)},
              {"deciding_images", part->deciding_images},
              {"lacks_interval", part->lacks_interval}};
}

Json json_of_points(const std::vector<SearchPoint>& points) {
  Json rows = Json::array();
  for (const SearchPoint& point : points) rows.push_back(json_of_point(point));
  return rows;
}

Json json_of_goal(const SearchGoal& goal) {
  Json json{{"kind", goal_name(goal.kind)}, {"value", goal.value}};
  if (goal.kind == SearchGoal::Kind::kBoxes) {
    json["most_added"] = goal.most_added < SearchGoal().most_added ? Json(goal.most_added) : Json();
  }
  if (goal.kind == SearchGoal::Kind::kAgreement || goal.kind == SearchGoal::Kind::kBoxes) {
    json["confidence"] = goal.confidence;
  }
  return json;
}

}  // namespace

std::string json_of(const SearchResult& result,
                    const std::optional<SourcedPreprocess>& preprocess) {
  Json json;
  json["goals"] = Json::array();
  for (const SearchGoal& goal : result.goals) json["goals"].push_back(json_of_goal(goal));
  json["surest"] = optional(result.surest);
  json["reached"] = result.reached;
  json["end"] = end_name(result.end);
  json["preprocess"] = json_of(preprocess);
  json["int8"] = json_of_point(result.int8);
  json["best"] = json_of_point(result.best);
  json["most_decibels"] = result.most_decibels ? json_of_point(*result.most_decibels) : Json();
  json["held_back"] = result.held_back;
  const bool compared = result.contents_compared;
  json["held_copies"] = compared ? Json(result.held_copies) : Json();
  json["held_calibrated"] = compared ? Json(result.held_calibrated) : Json();
  json["learned"] = result.learned;
  json["searched"] = json_of_part(result.searched);
  json["held_out"] = json_of_part(result.held_out);
  json["loudest"] = json_of_points(result.loudest);
  json["frontier"] = json_of_points(result.frontier);
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

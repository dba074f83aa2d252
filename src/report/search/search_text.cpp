#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>
#include <vector>

#include "base/percent.h"
#include "base/text.h"
#include "compare/intervals.h"
#include "qtool/samples/hold_back.h"
#include "report/durations.h"
#include "report/samples.h"
#include "report/search.h"

namespace qtool {
namespace {

using Kind = TextTable::Kind;

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

/// The time over INT8's; for INT8 itself, its time.
std::string slower_text(const SearchPoint& point, const SearchResult& result) {
  if (is_same(point, result.int8) && result.int8_seconds > 0.0) {
    return to_text(milliseconds(result.int8_seconds, 2), " ms");
  }
  if (!point.slower_seconds) return "-";
  const MedianInterval& slower = *point.slower_seconds;
  std::string text = slower_by(slower);
  if (result.int8_seconds > 0.0) {
    text += to_text(", ", percent(slower.median / result.int8_seconds, 1));
  }
  return text;
}

/// How much slower the found model is.
std::string found_slower_text(const SearchResult& result) {
  if (result.int8_seconds <= 0.0) return "slower than INT8: not measured";
  std::string text = to_text("slower than INT8's ", milliseconds(result.int8_seconds, 2), " ms");
  if (is_same(result.best, result.int8)) return text + " by 0 ms: it is the same model";
  if (!result.best.slower_seconds) return text + ": not measured";
  return to_text(text, " by ", slower_text(result.best, result));
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

bool has_kind(const std::vector<SearchGoal>& goals, SearchGoal::Kind kind) {
  return std::ranges::any_of(goals, [&](const SearchGoal& goal) { return goal.kind == kind; });
}

/// The figures of a model that belong to the kinds of the goals.
std::string accuracy_text(const SearchPoint& point, const std::vector<SearchGoal>& goals) {
  std::string text = to_text(to_fixed(point.sqnr_db, 2), " dB");
  if (point.boxes) {
    text += to_text(", ", kept_text(*point.boxes), " of ", point.boxes->fp32, " boxes kept and ",
                    added_text(*point.boxes), " added");
  } else if (has_kind(goals, SearchGoal::Kind::kAgreement)) {
    text += to_text(", agreement ", agreement_text(point));
  }
  if (has_kind(goals, SearchGoal::Kind::kTop1Drop)) {
    text += to_text(", top-1 ", percent_of(point.top1, point.labelled), " against ",
                    percent_of(point.fp32_top1, point.labelled));
  }
  return text;
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

/// The figures of the found model on a part of the images, with their intervals.
std::string part_text(const SearchedPart& part, const std::vector<SearchGoal>& goals) {
  const SearchFigures& best = part.best;
  std::string text = to_text(to_fixed(best.sqnr_db, 2), " dB",
                             in_brackets(fixed_interval(best.sqnr_interval_db, 2)), ", ",
                             to_signed_fixed(part.gain_db, 2), " dB over INT8",
                             in_brackets(fixed_interval(part.gain_interval_db, 2)));
  if (best.boxes) {
    text += to_text(", ", kept_text(*best.boxes), " of ", best.boxes->fp32, " boxes kept",
                    in_brackets(percent_interval(best.boxes->kept_interval)), " and ",
                    added_text(*best.boxes), " added",
                    in_brackets(percent_interval(best.boxes->added_interval)), "; INT8 kept ",
                    part.int8.boxes ? kept_text(*part.int8.boxes) : "-");
  } else if (best.agreement) {
    text += to_text(", agreement ", percent(*best.agreement, 2),
                    in_brackets(percent_interval(best.agreement_interval)), "; INT8 ",
                    part.int8.agreement ? percent(*part.int8.agreement, 2) : "-");
  }
  if (has_kind(goals, SearchGoal::Kind::kTop1Drop)) {
    text += to_text(", top-1 ", percent_of(best.top1, best.labelled), " against ",
                    percent_of(best.fp32_top1, best.labelled));
    if (best.top1_change_interval) {
      text +=
          to_text(" (change ", to_signed_fixed(100.0 * best.top1_change_interval->low, 1), " to ",
                  to_signed_fixed(100.0 * best.top1_change_interval->high, 1), " points)");
    }
  }
  return text;
}

std::string verdict_text(const SearchedPart& held, bool reached) {
  if (held.verdict == GoalVerdict::kReached) {
    return to_text("others reach the goal", reached ? ", too" : "");
  }
  if (held.verdict == GoalVerdict::kMissed) return "others miss the goal";
  if (held.best.boxes && held.best.boxes->fp32 == 0) {
    return "FP32 finds no box in them, so they do not say whether others reach the goal";
  }
  if (held.lacks_interval) {
    return "no interval is known for this figure, so they do not say whether others reach the goal";
  }
  std::string text = "too few to say whether others reach the goal";
  if (held.deciding_images > 0) {
    text += to_text("; about ", held.deciding_images, " images would decide");
  }
  return text;
}

std::string_view cut_text(SearchEnd end) {
  return end == SearchEnd::kInterrupted ? "the search was stopped" : "the budget was used up";
}

/// Why the images held back are known to more than the choice.
std::string known_text(const SearchResult& result) {
  std::string text;
  if (result.held_calibrated > 0) {
    text = to_text(result.held_calibrated, " of them also set the ranges");
  }
  if (result.learned) text += to_text(text.empty() ? "" : "; ", "the model also learned from them");
  return in_brackets(text);
}

/// The found model on the images that were searched on, and on those that were held back.
std::string parts_text(const SearchResult& result) {
  std::string text;
  if (result.searched) {
    text += to_text("On the ", result.searched->best.images,
                    " images of the search: ", part_text(*result.searched, result.goals), "\n");
  }
  if (result.held_out) {
    const std::string copies =
        result.held_copies == 0
            ? ""
            : to_text(", of which ", result.held_copies, " are copies of images of the search");
    text += to_text("On ", result.held_out->best.images, " images held back", copies,
                    known_text(result), ": ", part_text(*result.held_out, result.goals), ": ",
                    verdict_text(*result.held_out, result.reached), "\n");
  } else if (result.held_back > 0) {
    text += to_text("The ", result.held_back,
                    " images held back were not judged: ", cut_text(result.end), "\n");
  } else {
    text += to_text("No images were held back, because there are fewer than ", kLeastForHoldOut,
                    ": other images say what the choice is worth\n");
  }
  if (!result.contents_compared && result.end != SearchEnd::kComplete) {
    text += to_text("Whether images are copies, or also set the ranges, was not looked up: ",
                    cut_text(result.end), "\n");
  }
  if (result.searched && result.searched->best.sqnr_interval_db) {
    text += "(intervals: 95 % confidence, for other images of the same kind)\n";
  }
  return text;
}

/// The model with the most decibels, where it is another one, and the goal that asks for it.
std::string more_decibels_text(const SearchResult& result) {
  if (!result.most_decibels) return "";
  const SearchPoint& most = *result.most_decibels;
  return to_text(
      "More decibels at a higher cost reach the goal, too: ", text_of(most, result.goals),
      ", slower by ", most.slower_seconds ? slower_text(most, result) : "an unknown time",
      " (the same search with --min-sqnr ", to_fixed(std::floor(100.0 * most.sqnr_db) / 100.0, 2),
      " asks for them)\n");
}

/// The confidence of the goals that count answers; all have the same.
double confidence_of(const std::vector<SearchGoal>& goals) {
  for (const SearchGoal& goal : goals) {
    if (goal.kind == SearchGoal::Kind::kAgreement || goal.kind == SearchGoal::Kind::kBoxes) {
      return goal.confidence;
    }
  }
  return 0.0;
}

/// How certain it is that other images reach the goals too.
std::string evidence_text(const SearchResult& result) {
  const SearchPoint& best = result.best;
  if (!best.agreement_at_least) return "";
  std::string text =
      to_text("On other images like these, with ", 100.0 * confidence_of(result.goals),
              " % confidence: at least ", sure_text(best), "\n");
  if (result.surest) {
    text += to_text(
        "So few answers cannot show the goal: of a model without a mistake one would only "
        "know that it has ",
        percent(*result.surest, 1), "; therefore no mistake was allowed\n");
  }
  return text;
}

std::string points_text(const SearchResult& result, const std::vector<SearchPoint>& points,
                        std::size_t width) {
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
    row.push_back(slower_text(point, result));
    row.emplace_back(is_same(point, result.best) ? "<"
                     : point.beyond_limit        ? "beyond a limit"
                                                 : "");
    table.add(std::move(row));
  }
  return table.to_string(width);
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
      if (goal.most_added >= SearchGoal().most_added)
        return to_text(goal.value, " % of the boxes kept or more");
      if (goal.value <= 0.0) return to_text(goal.most_added, " % of boxes added or fewer");
      return to_text(goal.value, " % of the boxes kept or more and ", goal.most_added,
                     " % added or fewer");
  }
  return "";
}

std::string text_of(const std::vector<SearchGoal>& goals) {
  std::string text;
  for (const SearchGoal& goal : goals) text += to_text(text.empty() ? "" : " and ", text_of(goal));
  return text;
}

std::string text_of(const SearchCost& cost, int threads) {
  return to_text("an image costs ", milliseconds(cost.trial_seconds, 2),
                 " ms per model that is tried, ", milliseconds(cost.probe_seconds, 2),
                 " ms to measure ", cost.sources, " sources alone, on each of ", threads,
                 threads == 1 ? " thread: " : " threads: ", cost.images, " images for models, ",
                 cost.probed, " for sources");
}

std::string text_of(const SearchPoint& best, const std::vector<SearchGoal>& goals) {
  std::string text = accuracy_text(best, goals);
  return to_text(text, " at ", percent(best.integer_share, 1), " of MACs on integers, ",
                 nodes_text(best.exclude.size()), wide_text(best.wide.size()));
}

std::string text_of(const SearchResult& result, std::size_t width) {
  const SearchPoint& best = result.best;
  std::string text =
      to_text("INT8: ", accuracy_text(result.int8, result.goals), " on ", result.int8.images,
              " images, ", percent(result.int8.integer_share, 1), " of MACs on integers");
  if (result.int8_seconds > 0.0) {
    text += to_text(", ", milliseconds(result.int8_seconds, 2), " ms on ", result.threads,
                    result.threads == 1 ? " thread" : " threads");
  }
  text += to_text("\n", overlap_line(result.overlap), "Goal: ", text_of(result.goals),
                  result.reached ? "; reached: " : "; nearest: ", text_of(best, result.goals), ", ",
                  found_slower_text(result), "\n", more_decibels_text(result),
                  evidence_text(result), parts_text(result), "\n");
  if (!result.loudest.empty()) {
    text += to_text(
        "The nodes of the loudest sources in FP32, twice as many sources in each row:\n",
        points_text(result, result.loudest, width), "\nINT8, and the best for their cost:\n");
  }
  text += points_text(result, result.frontier, width);
  const bool unmeasured = result.end != SearchEnd::kComplete && result.islands == 0;
  return to_text(text, "\n", result.tried, " models and ", result.islands, " sets of nodes in ",
                 to_fixed(result.seconds, 1), " s; ", end_text(result.end),
                 unmeasured ? " before the sources of noise were measured" : "", "\n",
                 text_of(UnusedFiles{result.bad, result.passed_over}));
}

}  // namespace qtool

#include "report/page/verdict.h"

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "analyze/accuracy_limits.h"
#include "base/percent.h"
#include "base/printable.h"
#include "base/text.h"
#include "compare/intervals.h"
#include "report/durations.h"
#include "report/first_model.h"
#include "report/shell.h"

namespace qtool {
namespace {

constexpr std::size_t kNamedNodes = 4;

std::string bracketed(const std::string& interval) {
  return interval.empty() ? interval : to_text(" (95 % confidence: ", interval, ")");
}

// The figure that advise() judges, for people.
std::string judged_figure(const EvalResult& compared) {
  if (const std::optional<BoxMatch> match = compared.answers.judged_boxes()) {
    return to_text("INT8 keeps ", percent_of(match->kept, match->fp32, 1), " of FP32's boxes",
                   bracketed(percent_interval(match->kept_interval)), " and adds ",
                   percent_of(match->added(), match->fp32, 1), ", on ", compared.images, " ",
                   compared.noun, "s");
  }
  if (compared.answers.mask) {
    const MaskAgreement& mask = *compared.answers.mask;
    return to_text(percent_of(mask.equal, mask.pixels, 1), " of the pixels keep FP32's class",
                   bracketed(percent_interval(mask.equal_interval)), ", mean IoU ",
                   percent(mask.mean_iou().value_or(1.0), 1),
                   bracketed(percent_interval(mask.mean_iou_interval)), ", on ", compared.images,
                   " ", compared.noun, "s");
  }
  if (compared.judged_by_classes()) {
    std::string text =
        to_text("INT8 answers with FP32's class for ", compared.agreement, " of ", compared.images,
                " ", compared.noun, "s: ", percent_of(compared.agreement, compared.images, 1),
                bracketed(percent_interval(compared.agreement_interval())));
    if (compared.labelled > 0 && compared.int8) {
      text += to_text("; top-1 is ", percent_of(compared.int8->top1, compared.labelled, 1),
                      ", in FP32 ", percent_of(compared.fp32.top1, compared.labelled, 1));
    }
    return text;
  }
  const OutputError* worst = compared.worst_pooled_output();
  if (worst == nullptr) return {};
  return to_text("output '", printable(worst->name), "' has a pooled SQNR of ",
                 to_fixed(worst->pooled_sqnr_db, 2), " dB against FP32",
                 bracketed(fixed_interval(worst->pooled_interval, 2)), ", on ", compared.images,
                 " ", compared.noun, "s");
}

std::string first_nodes(const std::vector<std::string>& nodes) {
  std::string text;
  const std::size_t shown = std::min(nodes.size(), kNamedNodes);
  for (std::size_t i = 0; i < shown; ++i) {
    text += to_text(i == 0 ? "" : ", ", printable(nodes[i]));
  }
  if (shown < nodes.size()) text += to_text(" and ", nodes.size() - shown, " more");
  return text;
}

// The parts of a change, in words.
std::string change_text(const Change& change) {
  std::string text;
  const auto add = [&text](const std::string& part) {
    text += to_text(text.empty() ? "" : ", ", part);
  };
  if (!change.exclude.empty()) add(to_text(first_nodes(change.exclude), " in FP32"));
  if (!change.wide.empty()) add(to_text(first_nodes(change.wide), " in 16 bits"));
  if (!change.ranges.empty()) add(to_text(change.ranges.size(), " other ranges"));
  if (!change.method.empty()) add(to_text("method ", change.method));
  if (!change.weight_method.empty()) add(to_text("weights by ", change.weight_method));
  if (change.rewrites) {
    add(change.rewrites->empty() ? "channels as they are" : "channels equalized");
  }
  if (!change.target.empty()) add(to_text("target ", change.target));
  if (!change.effort.empty()) add(to_text("all of effort ", change.effort));
  if (change.corrects_biases) add("biases corrected on images");
  return text.empty() ? shell_line(options_of(change).words) : text;
}

// What the figure misses: `the limit is 95 %`. Empty if nothing is missed.
std::string limit_text(const CommandWords& goal) {
  if (goal.size() != 2) return {};
  if (goal[0] == "--min-sqnr") return to_text("the limit is ", goal[1], " dB");
  if (goal[0] == "--max-top1-drop") return to_text("top-1 may fall by ", goal[1], " point");
  return to_text("the limit is ", goal[1], " %");
}

// Whether the whole interval of a changed model reaches the goal.
bool reaches(const Suggestion& suggestion, const CommandWords& goal, const EvalResult& compared) {
  if (goal.size() != 2) return false;
  if (compared.answers.boxes || compared.answers.mask) return keeps_enough(suggestion.answers);
  const double limit = parse_double(goal[1], goal[0]);
  if (goal[0] == "--min-sqnr") {
    return suggestion.worst_interval_db && suggestion.worst_interval_db->low >= limit;
  }
  const std::optional<AnswerShare>& classes = suggestion.answers.classes;
  return goal[0] == "--min-agreement" && classes && classes->interval &&
         100.0 * classes->interval->low >= limit;
}

// What a change brings on the images that judged it:
// `17.23 -> 19.79 dB, boxes kept 89.5 -> 90.0 % (85.3 to 93.9), ...; time of an image +3.0 %`.
std::string gain_text(const SuggestResult& tried, const Suggestion& change) {
  const std::string answers = answers_text(tried.answers, change.answers);
  return to_text(to_fixed(tried.sqnr_db, 2), " -> ", to_fixed(change.sqnr_db, 2), " dB",
                 answers.empty() ? "" : ", ", answers, "; time of an image ",
                 slower_by(change.cost));
}

// Writes the commands that make and compare a changed model. `next`: what to do.
void add_change(const SuggestResult& tried, const Suggestion& change, std::string next,
                const MakingCommands& making, const EvalResult& compared, Verdict& verdict) {
  verdict.next =
      to_text(next, " on other ", compared.noun, "s (here ", gain_text(tried, change),
              "). It was chosen on these ", compared.noun, "s, and may bring less on others.");
  const ChangeOptions options = options_of(change.change);
  const ChangeLine line = line_of(options, making);
  if (line.complete) {
    verdict.lines.push_back(line.text);
    if (!making.eval.empty()) verdict.lines.push_back(printable_line(making.eval));
  } else {
    verdict.next += to_text(" Its options of qtool ", options.command, ": ", line.text);
  }
}

// Whether one of the commands searches for several changes at once.
bool searches(const std::vector<CommandWords>& commands) {
  return std::ranges::any_of(commands, [](const CommandWords& words) {
    return (words.size() > 1 && words[1] == "search") ||
           std::ranges::find(words, "--search") != words.end();
  });
}

// For a model that loses too much: the first change that surely reaches the limit. If there is
// none, the next step remains, and where none is known the first change. `has_next`: whether one
// is.
void add_changes(const SuggestResult& tried, const MakingCommands& making, const Advice& advice,
                 const EvalResult& compared, bool has_next, Verdict& verdict) {
  const auto enough = std::ranges::find_if(tried.suggestions, [&](const Suggestion& suggestion) {
    return reaches(suggestion, advice.goal, compared);
  });
  if (enough != tried.suggestions.end()) {
    verdict.name = "use_changed";
    verdict.heading = to_text("Use it with a change: ", change_text(enough->change));
    add_change(tried, *enough, "Make this model, and compare it", making, compared, verdict);
    return;
  }
  if (has_next) {
    verdict.next += " No single change below surely reaches the limit.";
    return;
  }
  const Suggestion& first = tried.suggestions.front();
  add_change(tried, first,
             to_text("Try the first of the suggested changes: ", change_text(first.change),
                     ". It brings ", to_signed_fixed(first.gain_db, 2), " dB; compare it"),
             making, compared, verdict);
}

struct Heading {
  std::string_view name;
  std::string_view heading;
  std::string_view next;
};

Heading heading_of(NextStep step) {
  switch (step) {
    case NextStep::kFindObjects:
      return {"undecided", "No verdict: FP32 finds nothing to compare",
              "Correct --boxes or how images are prepared."};
    case NextStep::kNamePreprocessing:
      return {"undecided", "No verdict: how images are prepared is only assumed",
              "Say it with --preprocess, and begin again."};
    case NextStep::kCheckSamples:
      return {"undecided", "No verdict: FP32 is no better than guessing",
              "Correct the labels or how images are prepared."};
    case NextStep::kAddSamples:
      return {"undecided", "No verdict: too few samples set the ranges",
              "Calibrate on 100 or more like those that the network will meet."};
    case NextStep::kOtherTarget:
      return {"do_not_use", "Do not use it as it is", ""};
    case NextStep::kKeepNodes:
      return {"do_not_use", "Do not use it as it is",
              "Search what must stay in FP32 or in 16 bits."};
    case NextStep::kCompareMore:
      return {"undecided", "", ""};  // the heading names the samples
    case NextStep::kInspect:
      return {"use", "Use it, but it gains little", "See with qtool inspect what stays in FP32."};
    case NextStep::kUse:
      return {"use", "Use this model", ""};
  }
  return {};
}

}  // namespace

Verdict verdict_of(const Advice& advice, const EvalResult& compared, const SuggestResult* tried,
                   const MakingCommands& making, const std::vector<CommandWords>& commands,
                   const FirstSearch* searched) {
  const Heading heading = heading_of(advice.step);
  Verdict verdict{std::string(heading.name), std::string(heading.heading), judged_figure(compared),
                  advice.why, std::string(heading.next)};
  const bool loses = advice.step == NextStep::kKeepNodes || advice.step == NextStep::kOtherTarget;
  if (loses || advice.step == NextStep::kCompareMore) {
    const std::string limit = limit_text(advice.goal);
    verdict.why = limit.empty() ? advice.why : to_text(advice.why, "; ", limit);
    // advise() begins with the figure, so it need not be said twice.
    verdict.figure.clear();
  }
  if (advice.step == NextStep::kCompareMore) {
    verdict.heading =
        to_text("Not decided: too few ", compared.noun, "s to tell whether it is good enough");
    verdict.next =
        to_text("Compare on ", advice.samples > 0 ? to_text("about ", advice.samples) : "very many",
                " ", compared.noun, "s of the same kind in all; these were ", compared.images, ".");
  }
  if (advice.step == NextStep::kOtherTarget) {
    verdict.next = to_text("Quantize for ", own_target_text(), ".");
  }
  if (advice.step == NextStep::kKeepNodes && searched != nullptr) {
    verdict.next = to_text("The goal of the search: ", goal_line(searched->result, compared.noun),
                           ". ", after_search_text(*searched), ".");
  }
  // Images that set the ranges do not show what the model is worth.
  const std::optional<Overlap>& overlap = compared.overlap;
  if (advice.step == NextStep::kUse && overlap && overlap->samples > 0 &&
      overlap->common == overlap->samples) {
    verdict.name = "undecided";
    verdict.heading = to_text("Not decided: the same ", compared.noun, "s set the ranges");
    verdict.next = to_text("Compare on other ", compared.noun, "s.");
    return verdict;
  }
  if (loses && tried != nullptr && !tried->suggestions.empty()) {
    const bool has_next = !commands.empty() || searched != nullptr;
    add_changes(*tried, making, advice, compared, has_next, verdict);
    if (!verdict.lines.empty()) return verdict;
  }
  if (searches(commands)) {
    verdict.next += " The command tries many together, and says at its end what it reached.";
  }
  for (const CommandWords& words : commands) verdict.lines.push_back(printable_line(words));
  return verdict;
}

}  // namespace qtool

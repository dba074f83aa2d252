#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "compare/intervals.h"
#include "qtool/compare/evaluate.h"

namespace qtool {
namespace {

// The doubt whether the categories of annotations became the right classes; empty without one.
std::string doubt_about_order(const CategoryMatch& match) {
  if (!match.unsuited_names.empty()) {
    return to_text(
        "the names of classes in the model's metadata do not suit the annotations: ",
        match.unsuited_names, "; they are not used, and the categories are classes by ",
        match.is_guess() ? "the order of their ids instead, which is a guess" : "their ids instead",
        "; give the right names by --labels");
  }
  if (!match.is_guess()) return {};
  if (match.classes == 0) {
    return to_text(
        "the model does not say how many classes it has: that they are the ", match.categories,
        " categories of the annotations, in the order of their ids, ",
        "is a guess, because no names say so; give the names of the classes by --labels");
  }
  return to_text("the detector has ", match.classes,
                 " classes, more than the annotations have categories (", match.categories,
                 "), and neither names nor ids say which ones these are: that they are ",
                 "the first classes is a guess; give the names of the classes by --labels");
}

}  // namespace

double EvalResult::images_per_second(const ModelScore& score) const {
  return score.run_seconds > 0.0 ? static_cast<double>(images) * workers / score.run_seconds : 0.0;
}

std::vector<std::string> EvalResult::doubts() const {
  std::vector<std::string> sentences;
  const auto add = [&](std::string_view model, const Unanswered& unanswered) {
    if (unanswered.images == 0) return;
    sentences.push_back(to_text("the ", model, " model's outputs are NaN or infinite for ",
                                unanswered.images, " of ", images, " ", noun, "s, the first: '",
                                unanswered.first.string(), "'"));
  };
  add("FP32", fp32.unanswered);
  if (int8) add("INT8", int8->unanswered);
  if (finds_nothing()) {
    sentences.push_back(to_text("FP32 finds no box of score ", answers.boxes->matches.front().score,
                                " or more in any of ", images, " ", noun,
                                "s: the preprocessing or --boxes is probably wrong"));
  }
  if (accuracy && accuracy->other_size > 0) {
    sentences.push_back(
        to_text(accuracy->other_size, " of ", accuracy->images + accuracy->other_size,
                " annotated images have another size than their annotation and do not count, the "
                "first: ",
                accuracy->first_other_size));
  }
  if (accuracy) {
    const CategoryMatch& match = accuracy->categories;
    if (!match.without_class.empty()) {
      sentences.push_back(to_text(match.without_class.size(), " of ", match.categories,
                                  " categories of the annotations have the name of no class, and ",
                                  "their ", match.boxes_without_class,
                                  " boxes do not count: ", match.names_without_class()));
    }
    if (std::string doubt = doubt_about_order(match); !doubt.empty()) {
      sentences.push_back(std::move(doubt));
    }
  }
  if (near_chance) {
    sentences.push_back(to_text(
        "FP32 top-1 is ", fp32.top1, " of ", labelled, " images, about what ", "guessing among ",
        classes, " classes gives: the preprocessing or the ", "labels are probably wrong"));
  }
  return sentences;
}

std::optional<Interval> EvalResult::agreement_interval() const {
  return classes > 0 && int8 ? wilson_interval(agreement, images) : std::nullopt;
}

std::optional<Interval> EvalResult::top1_interval(const ModelScore& score) const {
  return wilson_interval(score.top1, labelled);
}

const OutputError* EvalResult::worst_pooled_output() const {
  const OutputError* worst = nullptr;
  for (const OutputError& output : outputs) {
    if (!is_float(output.dtype)) continue;
    if (worst == nullptr || output.pooled_sqnr_db < worst->pooled_sqnr_db) worst = &output;
  }
  return worst;
}

bool EvalResult::finds_nothing() const {
  return answers.boxes && !answers.boxes->matches.empty() &&
         answers.boxes->matches.front().fp32 == 0;
}

bool EvalResult::useless() const {
  const auto most = [&](const ModelScore& score) { return 2 * score.unanswered.images > images; };
  return most(fp32) || (int8 && most(*int8));
}

}  // namespace qtool

#include "report/evaluation.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/percent.h"
#include "base/printable.h"
#include "base/text.h"
#include "json/json_text.h"
#include "report/answers.h"
#include "report/answers_json.h"
#include "report/durations.h"
#include "report/int8_lines.h"
#include "report/preprocessing_json.h"
#include "report/samples.h"
#include "report/samples_json.h"

namespace qtool {
namespace {

using Json = nlohmann::ordered_json;
using Kind = TextTable::Kind;

std::string difference(std::int64_t int8, std::int64_t fp32, std::int64_t total) {
  if (total == 0) return "-";
  const double points = 100.0 * static_cast<double>(int8 - fp32) / static_cast<double>(total);
  return to_text(points > 0.0 ? "+" : "", to_fixed(points, 2));
}

bool has_intervals(const EvalResult& result) {
  const auto has = [](const OutputError& output) { return output.sqnr_interval.has_value(); };
  return result.agreement_interval() || std::ranges::any_of(result.outputs, has) ||
         (result.answers.mask && result.answers.mask->equal_interval);
}

}  // namespace

std::string text_of(const EvalResult& result, std::size_t width) {
  const bool has_int8 = result.int8.has_value();
  const ModelScore int8 = result.int8.value_or(ModelScore{});
  std::vector<TextTable::Column> columns{{to_text(result.images, " ", result.noun, "s")},
                                         {"FP32", Kind::kNumber, 2}};
  add_int8_columns(columns, {{"INT8", Kind::kNumber, 3}, {"change", Kind::kNumber, 1}}, has_int8);
  TextTable table(columns);
  const auto add_accuracy = [&](const char* name, std::int64_t a, std::int64_t b) {
    std::vector<std::string> row{name, percent_of(a, result.labelled)};
    add_int8_columns(row, {percent_of(b, result.labelled), difference(b, a, result.labelled)},
                     has_int8);
    table.add(row);
  };
  if (result.labelled > 0) {
    add_accuracy("top-1", result.fp32.top1, int8.top1);
    add_accuracy("top-5", result.fp32.top5, int8.top5);
  }
  if (result.fp32.unanswered.images + int8.unanswered.images > 0) {
    std::vector<std::string> row{"no answer", to_text(result.fp32.unanswered.images)};
    add_int8_columns(row, {to_text(int8.unanswered.images), ""}, has_int8);
    table.add(row);
  }
  const double fp32_rate = result.images_per_second(result.fp32);
  const double int8_rate = result.images_per_second(int8);
  std::vector<std::string> speed{to_text(result.noun, "s/s in qtool"), to_fixed(fp32_rate, 1)};
  add_int8_columns(speed, {to_fixed(int8_rate, 1), ratio(int8_rate, fp32_rate)}, has_int8);
  table.add(speed);

  std::string text = table.to_string(width);
  if (result.labelled < result.images && result.classes > 0 && result.noun == "image") {
    text += to_text(result.images - result.labelled, " images have no known class\n");
  }
  if (has_int8 && result.classes > 0) {
    text += to_text("agreement: ", percent_of(result.agreement, result.images), ", ",
                    percent_interval(result.agreement_interval()), " (same top-1 class for ",
                    result.agreement, " of ", result.images, " ", result.noun, "s)\n");
  }
  if (result.top1_change_interval) {
    text += to_text("top-1 change: ", difference(int8.top1, result.fp32.top1, result.labelled),
                    " points, ", to_signed_fixed(100.0 * result.top1_change_interval->low, 1),
                    " to ", to_signed_fixed(100.0 * result.top1_change_interval->high, 1), " (",
                    result.labelled, " ", result.noun, "s)\n");
  }
  text += text_of_classes(result, width);
  text += requantization_line(result.requantization);
  text += text_of(result.answers, width);
  if (result.accuracy) text += text_of(*result.accuracy, width);
  text += output_lines(result.outputs, result.images, result.noun);
  if (has_intervals(result)) {
    text += to_text("intervals: 95 % confidence, for other ", result.noun, "s of the same kind\n");
  }
  return text + text_of(UnusedFiles{result.bad, result.passed_over});
}

std::string text_of(std::span<const RuntimeTimes> times) {
  std::string text;
  for (const RuntimeTimes& runtime : times) text += to_text("\n", text_of(runtime));
  return text;
}

std::string json_of(const EvalResult& result, const std::optional<SourcedPreprocess>& preprocess,
                    std::span<const RuntimeTimes> times) {
  const auto score = [&](const ModelScore& model) {
    Json unanswered{{"images", model.unanswered.images}};
    if (model.unanswered.images > 0) unanswered["first"] = model.unanswered.first.string();
    return Json{{"top1", share_json(model.top1, result.labelled)},
                {"top1_interval", interval_json(result.top1_interval(model))},
                {"top5", share_json(model.top5, result.labelled)},
                {"unanswered", std::move(unanswered)},
                {"images_per_second", result.images_per_second(model)}};
  };
  Json json{{"images", result.images},           {"labelled", result.labelled},
            {"classes", result.classes},         {"batch", result.batch},
            {"workers", result.workers},         {"requantize", name_of(result.requantization)},
            {"preprocess", json_of(preprocess)}, {"fp32", score(result.fp32)}};
  json["near_chance"] = result.near_chance;
  json["overlap"] = overlap_json(result.overlap);
  if (result.int8) {
    json["int8"] = score(*result.int8);
    json["agreement"] = result.classes > 0 ? share_json(result.agreement, result.images) : Json();
    json["agreement_interval"] = interval_json(result.agreement_interval());
    json["top1_change"] = share_json(result.int8->top1 - result.fp32.top1, result.labelled);
    json["top1_change_interval"] = interval_json(result.top1_change_interval);
    json["outputs"] = json_of_outputs(result.outputs);
    add_agreement(result.answers, json);
    if (result.accuracy) json["annotated"] = json_of(*result.accuracy);
  }
  for (const RuntimeTimes& runtime : times) json["times"].push_back(Json::parse(json_of(runtime)));
  add_classes(result, json);
  add_unused({result.bad, result.passed_over}, json);
  return json_text(json);
}

}  // namespace qtool

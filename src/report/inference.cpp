#include "report/inference.h"

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "json/json_text.h"
#include "report/answers.h"
#include "report/answers_json.h"
#include "report/durations.h"
#include "report/int8_lines.h"
#include "report/preprocessing_json.h"

namespace qtool {
namespace {

using Json = nlohmann::ordered_json;
using Kind = TextTable::Kind;

Json json_of_run(const InferRun& run, std::span<const std::string> class_names) {
  Json top = Json::array();
  for (const ScoredClass& scored : run.top) {
    Json entry{{"class", scored.index}};
    const auto index = static_cast<std::size_t>(scored.index);
    if (index < class_names.size()) entry["name"] = class_names[index];
    entry["score"] = scored.score;
    entry["probability"] = scored.probability;
    top.push_back(std::move(entry));
  }
  return {{"latency_seconds", run.seconds},     {"fastest_seconds", run.fastest_seconds},
          {"answered", run.answered},           {"steps", run.steps},
          {"integer_steps", run.integer_steps}, {"top", std::move(top)}};
}

}  // namespace

std::string text_of(const InferResult& result, std::span<const std::string> class_names,
                    std::size_t width) {
  const bool has_int8 = result.int8.has_value();
  std::string text;
  if (!result.fp32.top.empty()) {
    const TextTable::Column probability{"", Kind::kNumber, 1};
    std::vector<TextTable::Column> columns{{"", Kind::kNumber}, {"FP32"}, probability};
    add_int8_columns(columns, {{"INT8"}, probability}, has_int8);
    TextTable table(columns);
    for (std::size_t i = 0; i < result.fp32.top.size(); ++i) {
      const auto cells = [&](const ScoredClass& scored) {
        return std::vector<std::string>{class_name(scored.index, class_names),
                                        to_fixed(scored.probability, 4)};
      };
      std::vector<std::string> row{to_text(static_cast<std::int64_t>(i + 1))};
      const std::vector<std::string> fp32 = cells(result.fp32.top[i]);
      row.insert(row.end(), fp32.begin(), fp32.end());
      if (has_int8) add_int8_columns(row, cells(result.int8->top[i]), true);
      table.add(row);
    }
    text += table.to_string(width);
  }
  if (!result.fp32.answered) text += "the FP32 model's outputs are NaN or infinite\n";
  if (has_int8 && !result.int8->answered) text += "the INT8 model's outputs are NaN or infinite\n";
  text += text_of_answers(result, class_names, width);
  text += requantization_line(result.requantization);
  text += output_lines(result.outputs, 1, "sample");
  text += to_text("latency (median of ", result.repeat, ", ", result.threads,
                  result.threads == 1 ? " thread" : " threads", "): FP32 ",
                  milliseconds(result.fp32.seconds), " ms");
  if (has_int8) {
    text += to_text(", INT8 ", milliseconds(result.int8->seconds), " ms (",
                    ratio(result.fp32.seconds, result.int8->seconds), ")");
  }
  text += to_text("\n", unsteady_line("FP32", result.fp32.seconds, result.fp32.fastest_seconds));
  if (has_int8) {
    text += unsteady_line("INT8", result.int8->seconds, result.int8->fastest_seconds);
  }
  return text;
}

std::string json_of(const InferResult& result, std::span<const std::string> class_names,
                    const std::optional<SourcedPreprocess>& preprocess) {
  Json json{{"threads", result.threads},         {"repeat", result.repeat},
            {"classes", result.classes},         {"requantize", name_of(result.requantization)},
            {"preprocess", json_of(preprocess)}, {"fp32", json_of_run(result.fp32, class_names)}};
  const auto add_answer = [&](const char* model, const InferRun& run) {
    if (result.detects) json[model]["boxes"] = json_of(run.answer.boxes, class_names);
    if (run.answer.mask) json[model]["pixels"] = json_of(*run.answer.mask, class_names);
  };
  add_answer("fp32", result.fp32);
  if (result.int8) {
    json["int8"] = json_of_run(*result.int8, class_names);
    add_answer("int8", *result.int8);
    json["outputs"] = json_of_outputs(result.outputs);
    add_agreement(result.answers, json);
  }
  return json_text(json);
}

}  // namespace qtool

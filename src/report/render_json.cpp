#include <nlohmann/json.hpp>
#include <string>

#include "json/json_text.h"
#include "report/answers_json.h"
#include "report/preprocessing_json.h"
#include "report/render.h"
#include "report/samples_json.h"

namespace qtool {
namespace {

using Json = nlohmann::ordered_json;

Json json_of_outputs(const std::vector<OutputError>& outputs) {
  Json list = Json::array();
  for (const OutputError& output : outputs) {
    list.push_back({{"name", output.name},
                    {"sqnr_db", output.sqnr_db},
                    {"pooled_sqnr_db", output.pooled_sqnr_db},
                    {"lowest_sqnr_db", output.lowest_sqnr_db},
                    {"cosine", output.cosine},
                    {"max_abs_error", output.max_abs_error}});
    if (output.psnr_db) list.back()["psnr_db"] = *output.psnr_db;
    const std::string worst = output.lowest_sqnr_image.string();
    if (!worst.empty()) list.back()["lowest_sqnr_image"] = worst;
  }
  return list;
}

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

Json json_of_ports(const std::vector<PortSummary>& ports) {
  Json list = Json::array();
  for (const PortSummary& port : ports) {
    list.push_back({{"name", port.name}, {"type", port.type}, {"shape", port.shape}});
  }
  return list;
}

Json json_of_outlook(const Outlook& outlook) {
  Json left = Json::array();
  for (const NodeReport& node : outlook.report.nodes) {
    if (node.role != NodeRole::kFloat) continue;
    left.push_back({{"node", node.node}, {"operator", node.op_type}, {"reason", node.reason}});
  }
  return {{"target", outlook.report.target},
          {"macs", outlook.coverage.macs},
          {"integer_macs", outlook.coverage.integer_macs},
          {"convolutions", outlook.coverage.convolutions},
          {"integer_convolutions", outlook.coverage.integer_convolutions},
          {"products", outlook.coverage.products},
          {"integer_products", outlook.coverage.integer_products},
          {"fp32", std::move(left)}};
}

Json json_of_names(const std::vector<NodeNames>& names) {
  Json rows = Json::array();
  for (const NodeNames& row : names) {
    rows.push_back({{"node", row.node}, {"operator", row.op_type}, {"outputs", row.outputs}});
  }
  return rows;
}

}  // namespace

std::string json_of(const EvalResult& result, const std::optional<SourcedPreprocess>& preprocess) {
  const auto share = [](std::int64_t part, std::int64_t total) {
    return total > 0 ? Json(static_cast<double>(part) / static_cast<double>(total)) : Json();
  };
  const auto score = [&](const ModelScore& model) {
    Json unanswered{{"images", model.unanswered.images}};
    if (model.unanswered.images > 0) unanswered["first"] = model.unanswered.first.string();
    return Json{{"top1", share(model.top1, result.labelled)},
                {"top5", share(model.top5, result.labelled)},
                {"unanswered", std::move(unanswered)},
                {"images_per_second", result.images_per_second(model)}};
  };
  Json json{{"images", result.images},           {"labelled", result.labelled},
            {"classes", result.classes},         {"batch", result.batch},
            {"workers", result.workers},         {"requantize", name_of(result.requantization)},
            {"preprocess", json_of(preprocess)}, {"fp32", score(result.fp32)}};
  json["near_chance"] = result.near_chance;
  if (result.int8) {
    json["int8"] = score(*result.int8);
    json["agreement"] = result.classes > 0 ? share(result.agreement, result.images) : Json();
    json["outputs"] = json_of_outputs(result.outputs);
    add_agreement(result.answers, json);
  }
  add_classes(result, json);
  Json bad = Json::array();
  for (const BadImage& image : result.bad) {
    bad.push_back({{"path", image.path.string()}, {"reason", image.reason}});
  }
  json["left_out"] = std::move(bad);
  return json_text(json);
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

std::string json_of(const ModelSummary& model, const std::optional<RunSummary>& run) {
  Json operators = Json::array();
  for (const OperatorCount& row : model.operators) {
    operators.push_back(
        {{"operator", row.op_type}, {"nodes", row.nodes}, {"supported", row.supported}});
  }
  Json json{{"producer", model.producer},
            {"opset", model.opset},
            {"inputs", json_of_ports(model.inputs)},
            {"outputs", json_of_ports(model.outputs)},
            {"nodes", model.nodes},
            {"operators", std::move(operators)},
            {"parameters", model.parameters},
            {"parameter_bytes", model.parameter_bytes},
            {"metadata", model.metadata}};
  if (run) {
    const PlanSummary& plan = run->plan;
    Json layers = Json::array();
    for (const StepInfo& step : plan.layers) {
      layers.push_back({{"node", step.node},
                        {"operator", step.op_type},
                        {"kernel", step.kernel},
                        {"output", step.output},
                        {"integer", step.integer},
                        {"macs", step.macs}});
    }
    json["plan"] = {{"macs", plan.macs},
                    {"integer_macs", plan.integer_macs},
                    {"steps", plan.steps},
                    {"integer_steps", plan.integer_steps},
                    {"arena_bytes", plan.arena_bytes},
                    {"layers", std::move(layers)}};
    if (run->outlook) json["outlook"] = json_of_outlook(*run->outlook);
  }
  if (!model.names.empty()) json["names"] = json_of_names(model.names);
  return json_text(json);
}

}  // namespace qtool

#include "report/samples_json.h"

#include <array>
#include <string>
#include <utility>

#include "compare/class_tally.h"

namespace qtool {
namespace {

using Json = nlohmann::ordered_json;

Json json_class(const EvalResult& result, std::int64_t index) {
  Json json{{"class", index}};
  const auto i = static_cast<std::size_t>(index);
  if (i < result.class_names.size()) json["name"] = result.class_names[i];
  return json;
}

Json json_top1(const EvalResult& result, const TopClass& top) {
  Json json = json_class(result, top.index);
  json["margin"] = top.margin;
  return json;
}

}  // namespace

Json json_of(const std::vector<BadImage>& bad) {
  Json rows = Json::array();
  for (const BadImage& image : bad) {
    rows.push_back({{"path", image.path.string()}, {"reason", image.reason}});
  }
  return rows;
}

void add_unused(const UnusedFiles& files, Json& json) {
  Json first = Json::array();
  for (const auto& path : files.passed_over.first) first.push_back(path.string());
  json["left_out"] = json_of(files.bad);
  json["passed_over"] = {{"count", files.passed_over.count}, {"first", std::move(first)}};
}

void add_classes(const EvalResult& result, Json& json) {
  if (result.classes == 0) return;
  const auto add_counts = [&](const std::array<std::int64_t, 2>& counts, Json& row) {
    row["fp32"] = counts[0];
    if (result.int8) row["int8"] = counts[1];
  };
  Json classes = Json::array();
  for (const ClassTally& one : tally_classes(result.samples)) {
    Json row = json_class(result, one.label);
    row["images"] = one.images;
    add_counts(one.top1, row);
    classes.push_back(std::move(row));
  }
  Json pairs = Json::array();
  for (const Confusion& one : confusions(result.samples)) {
    Json row{{"label", json_class(result, one.label)}, {"answer", json_class(result, one.answer)}};
    add_counts(one.images, row);
    pairs.push_back(std::move(row));
  }
  json["top1_by_class"] = std::move(classes);
  json["confusions"] = std::move(pairs);
  if (!result.int8) return;
  Json flipped = Json::array();
  for (const SampleResult* sample : flips(result.samples)) {
    Json row{{"path", sample->path.string()}};
    if (sample->label >= 0) row["label"] = json_class(result, sample->label);
    row["fp32"] = json_top1(result, sample->top1[0]);
    row["int8"] = json_top1(result, sample->top1[1]);
    row["margin_lost"] = sample->margin_lost;
    flipped.push_back(std::move(row));
  }
  json["flips"] = std::move(flipped);
}

Json overlap_json(const std::optional<Overlap>& overlap) {
  return overlap ? Json(overlap->common) : Json();
}

}  // namespace qtool

#include "qtool/calib/format.h"

#include <algorithm>
#include <unordered_set>

#include "base/choices.h"
#include "base/file_kind.h"
#include "base/text.h"
#include "graph/node_name.h"
#include "graph/op_traits.h"
#include "json/json.h"

namespace qtool {

#define QTOOL_FORMAT(name) FormatInfo format_##name();
#include "calib/formats/formats.inc"

namespace {

constexpr std::int64_t kMaxMapBytes = std::int64_t{1} << 24;
constexpr std::int64_t kMaxAxis = 7;

std::vector<std::string> format_names() {
  std::vector<std::string> names;
  for (const FormatInfo& format : formats()) names.emplace_back(format.name);
  return names;
}

bool holds(const CalibrationTable& table, TableContent content) {
  const auto any_activation = [&](auto predicate) {
    return std::any_of(table.activations.begin(), table.activations.end(), predicate);
  };
  switch (content) {
    case TableContent::kRanges:
      return any_activation([](const ActivationEntry& e) { return e.range.min != -e.range.max; });
    case TableContent::kTypes:
      return any_activation([](const ActivationEntry& e) {
        return e.dtype != DType::kInt8 || e.affine.zero_point != 0;
      });
    case TableContent::kStatistics:
      return any_activation([](const ActivationEntry& e) {
        return e.observed.count > 0 || e.observed.min != 0.0F || e.observed.max != 0.0F;
      });
    case TableContent::kWeightScales:
      return !table.weights.empty();
    case TableContent::kWeightTypes:
      return std::any_of(table.weights.begin(), table.weights.end(), [](const WeightEntry& e) {
        return e.bits != 8 || !e.affines.zero_points.empty();
      });
    case TableContent::kProvenance:
      return has_provenance(table);
    case TableContent::kAliases:
      return !table.aliases.empty();
    case TableContent::kRewrites:
      return !table.rewrites.names.empty();
  }
  return false;
}

}  // namespace

LayerNames layer_names(const Graph& graph) {
  LayerNames names;
  for (const NodeId id : graph.nodes()) {
    const Node& node = graph.node(id);
    LayerName row;
    row.op_type = node.op_type;
    if (const ValueId output = first_output(node); output != kNoValue) {
      row.output = graph.value(output).name;
    }
    row.layer = name_of(graph, id);
    if (node.has_input(0) && !graph.is_constant(node.inputs[0])) {
      row.input = graph.value(node.inputs[0]).name;
    }
    const auto axis = weight_axis(node);
    if (axis && node.has_input(1) && graph.is_constant(node.inputs[1])) {
      row.weight = graph.value(node.inputs[1]).name;
      row.axis = *axis;
    }
    if (!row.layer.empty()) names.push_back(std::move(row));
  }
  return names;
}

LayerNames layer_names_from_json(std::string_view text) {
  const nlohmann::json document = parse_json(text, kMaxMapBytes, "name map", ErrorCode::kUsage);
  LayerNames names;
  std::unordered_set<std::string> seen;
  for (const JsonField& field : JsonField(document, "name map", ErrorCode::kUsage).elements()) {
    field.require_object({"layer", "op_type", "input", "output", "weight", "axis"});
    const auto text_of = [&](std::string_view key) {
      const auto part = field.find(key);
      return part ? part->as_string() : std::string();
    };
    LayerName row;
    row.layer = field.at("layer").as_string();
    if (row.layer.empty()) field.at("layer").fail("a name");
    if (!seen.insert(row.layer).second) field.at("layer").fail("each layer once");
    row.op_type = text_of("op_type");
    row.input = text_of("input");
    row.output = text_of("output");
    row.weight = text_of("weight");
    if (const auto axis = field.find("axis")) row.axis = axis->as_int(0, kMaxAxis);
    names.push_back(std::move(row));
  }
  return names;
}

std::string_view describe(TableContent content) noexcept {
  switch (content) {
    case TableContent::kRanges:
      return "both ends of the ranges";
    case TableContent::kTypes:
      return "types and zero points";
    case TableContent::kStatistics:
      return "statistics";
    case TableContent::kWeightScales:
      return "scales of the weights";
    case TableContent::kWeightTypes:
      return "bits and zero points of the weights";
    case TableContent::kProvenance:
      return "model, images, preprocessing and method";
    case TableContent::kAliases:
      return "aliases";
    case TableContent::kRewrites:
      return "changes of the network before it is quantized";
  }
  return "";
}

std::span<const FormatInfo> formats() {
  static const std::vector<FormatInfo> all = {
#define QTOOL_FORMAT(name) format_##name(),
#include "calib/formats/formats.inc"
  };
  return all;
}

const FormatInfo& find_format(std::string_view name) {
  for (const FormatInfo& format : formats()) {
    if (format.name == name) return format;
  }
  throw Error(ErrorCode::kUsage,
              to_text("table format '", name, "' is unknown", expected_text(name, format_names())));
}

const FormatInfo& recognise(std::string_view bytes, std::string_view filename) {
  for (const FormatInfo& format : formats()) {
    if (format.recognises(bytes)) return format;
  }
  const std::string_view found = recognise_foreign_file(bytes);
  if (!found.empty()) {
    throw Error(ErrorCode::kInvalidTable,
                to_text("table '", filename, "' ", found, ", expected a calibration table"));
  }
  std::string known;
  for (const std::string& name : format_names()) {
    known += to_text(known.empty() ? "" : ", ", name);
  }
  throw Error(ErrorCode::kInvalidTable,
              to_text("table '", filename, "': found none of the known formats (", known, ")"));
}

std::vector<TableContent> lost_contents(const CalibrationTable& table, const FormatInfo& format) {
  std::vector<TableContent> lost;
  for (const TableContent content :
       {TableContent::kRanges, TableContent::kTypes, TableContent::kStatistics,
        TableContent::kWeightScales, TableContent::kWeightTypes, TableContent::kProvenance,
        TableContent::kAliases, TableContent::kRewrites}) {
    const bool carried =
        std::find(format.carries.begin(), format.carries.end(), content) != format.carries.end();
    if (!carried && holds(table, content)) lost.push_back(content);
  }
  return lost;
}

bool has_provenance(const CalibrationTable& table) noexcept {
  return table.model_fingerprint != 0 || table.image_count != 0;
}

}  // namespace qtool

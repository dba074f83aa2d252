#include "report/diff/model_diff_text.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/percent.h"
#include "base/printable.h"
#include "base/text.h"
#include "json/json.h"
#include "json/json_text.h"
#include "report/diff/array_diff_text.h"

namespace qtool {
namespace {

using Json = nlohmann::ordered_json;
using Kind = TextTable::Kind;

std::string granularity(const Affines& affines) {
  return affines.per_tensor() ? "one scale"
                              : to_text(affines.scales.size(), " on axis ", affines.axis);
}

std::string lines(std::string_view head, const std::vector<std::string>& items, ListLength length) {
  const std::size_t shown =
      length == ListLength::kShort ? std::min(kQuietList, items.size()) : items.size();
  std::string out;
  for (std::size_t i = 0; i < shown; ++i) out += to_text(head, printable(items[i]), "\n");
  return out + left_out_line(items.size() - shown);
}

}  // namespace

std::string text_of(const ModelDiff& diff, const ModelLimits& limits, std::size_t width,
                    ListLength length) {
  if (diff.equal()) {
    return to_text("the models are equal: ", diff.nodes, " nodes, ", diff.weights.size(),
                   " constants, ", diff.scales.size(), " scales",
                   diff.renamed.empty() ? "" : to_text("; ", diff.renamed.size(), " nodes renamed"),
                   "\n");
  }
  std::string out = lines("", diff.interface, length) + lines("only in A: ", diff.only_a, length) +
                    lines("only in B: ", diff.only_b, length) +
                    lines("changed: ", diff.changed, length);
  TextTable weights({{"constant of"},
                     {"input", Kind::kNumber, 3},
                     {"SQNR dB", Kind::kNumber, 8},
                     {"largest error", Kind::kNumber, 7},
                     {"equal", Kind::kNumber, 5},
                     {"", Kind::kText, 6}});
  std::int64_t equal = 0;
  for (const WeightDiff& weight : diff.weights) {
    if (weight.equal()) {
      ++equal;
      continue;
    }
    if (!weight.diff) {
      weights.add({weight.node, to_text(weight.input), "-", "-", "-", weight.other},
                  -std::numeric_limits<double>::infinity());
      continue;
    }
    const ArrayDiff& row = *weight.diff;
    weights.add(
        {weight.node, to_text(weight.input), to_fixed(row.sqnr_db, 2),
         to_text(static_cast<float>(row.max_abs_error)),
         percent_of(row.equal, row.shape.elements()), limits.weights.accept(row) ? "" : "beyond"},
        rank_of(row, limits.weights));
  }
  const auto count = static_cast<std::int64_t>(diff.weights.size());
  if (equal < count) out += to_text(out.empty() ? "" : "\n", weights.to_string(width, length));
  TextTable scales({{"scale of"},
                    {"A", Kind::kNumber, 5},
                    {"B", Kind::kNumber, 4},
                    {"differs", Kind::kNumber, 8},
                    {"", Kind::kText, 6}});
  const double tolerance = limits.tolerance.value_or(0.0);
  std::int64_t beyond = 0;
  for (const ScaleDiff& row : diff.scales) {
    if (row.within(tolerance)) continue;
    ++beyond;
    const std::string a = granularity(row.a);
    const std::string b = granularity(row.b);
    const bool single = row.a.per_tensor() && row.b.per_tensor();
    scales.add(
        {row.name, single ? to_text(row.a.scales[0]) : a, single ? to_text(row.b.scales[0]) : b,
         a == b ? percent(row.scale, 4) : "-", row.zero_points_differ ? "zero points differ" : ""},
        row.zero_points_differ || std::isnan(row.scale) ? -std::numeric_limits<double>::infinity()
                                                        : -row.scale);
  }
  if (beyond > 0) out += to_text(out.empty() ? "" : "\n", scales.to_string(width, length));
  if (!out.empty()) out += "\n";
  if (diff.prepared)
    out += "only one is quantized: compared with BatchNormalization folded in both\n";
  out += to_text(diff.nodes, " nodes in both",
                 diff.renamed.empty() ? "" : to_text(" (", diff.renamed.size(), " renamed)"), ", ",
                 diff.only_a.size(), " only in A, ", diff.only_b.size(), " only in B, ",
                 diff.changed.size(), " changes; ", diff.quantize_a, " and ", diff.quantize_b,
                 " QuantizeLinear and DequantizeLinear\n");
  out += to_text(count, " constants: ", equal, " equal\n");
  if (!diff.scales.empty() || diff.quantize_a + diff.quantize_b > 0) {
    out += to_text(diff.scales.size(), " tensors quantized in both: ", beyond,
                   " differ by more than ", percent(tolerance, 4), "; ", diff.scales_only_a.size(),
                   " only in A, ", diff.scales_only_b.size(), " only in B\n");
  }
  return out;
}

std::string json_of(const ModelDiff& diff, const ModelLimits& limits) {
  const auto finite = [](double value) {
    return std::isfinite(value) ? Json(value) : Json(nullptr);
  };
  Json json;
  json["equal"] = diff.equal();
  json["prepared"] = diff.prepared;
  json["within_limits"] = limits.accept(diff);
  json["nodes_in_both"] = diff.nodes;
  json["interface"] = diff.interface;
  json["only_a"] = diff.only_a;
  json["only_b"] = diff.only_b;
  json["changed"] = diff.changed;
  json["renamed"] = Json::array();
  for (const auto& [a, b] : diff.renamed) json["renamed"].push_back({{"a", a}, {"b", b}});
  json["quantize_nodes_a"] = diff.quantize_a;
  json["quantize_nodes_b"] = diff.quantize_b;
  json["weights"] = Json::array();
  for (const WeightDiff& weight : diff.weights) {
    Json row{{"node", weight.node},
             {"input", weight.input},
             {"a", weight.name_a},
             {"b", weight.name_b},
             {"equal", weight.equal()}};
    if (weight.diff) {
      row["sqnr_db"] = finite(weight.diff->sqnr_db);
      row["max_abs_error"] = finite(weight.diff->max_abs_error);
      row["equal_elements"] = weight.diff->equal;
      row["shape"] = weight.diff->shape.dims();
    } else {
      row["changed"] = weight.other;
    }
    json["weights"].push_back(std::move(row));
  }
  json["scales"] = Json::array();
  for (const ScaleDiff& row : diff.scales) {
    json["scales"].push_back({{"tensor", row.name},
                              {"a", json_numbers(row.a.scales)},
                              {"b", json_numbers(row.b.scales)},
                              {"axis_a", row.a.axis},
                              {"axis_b", row.b.axis},
                              {"scale_difference", finite(row.scale)},
                              {"zero_points_differ", row.zero_points_differ}});
  }
  json["scales_only_a"] = diff.scales_only_a;
  json["scales_only_b"] = diff.scales_only_b;
  return json_text(json);
}

}  // namespace qtool

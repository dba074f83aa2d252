#include "report/diff/table_text.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/percent.h"
#include "base/printable.h"
#include "base/text.h"
#include "json/json_text.h"

namespace qtool {
namespace {

using Json = nlohmann::ordered_json;
using Kind = TextTable::Kind;

Json number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

}  // namespace

std::string text_of(const TableDiff& diff, double tolerance, std::size_t width, ListLength length) {
  TextTable text({{"tensor"},
                  {"scale A", Kind::kNumber, 2},
                  {"scale B", Kind::kNumber, 1},
                  {"scale differs", Kind::kNumber, 4},
                  {"range differs", Kind::kNumber, 3}});
  std::size_t count = 0;
  for (const auto* list : {&diff.activations, &diff.weights}) {
    for (const TensorDiff& row : *list) {
      if (row.largest() <= tolerance) continue;
      text.add({row.tensor, to_text(row.scale_a), to_text(row.scale_b), percent(row.scale, 4),
                percent(row.range, 4)},
               -row.largest());
      ++count;
    }
  }
  std::string out = count > 0 ? text.to_string(width, length) + "\n" : "";
  for (const std::string& name : diff.only_a) out += to_text("only in A: ", printable(name), "\n");
  for (const std::string& name : diff.only_b) out += to_text("only in B: ", printable(name), "\n");
  out += to_text(diff.activations.size(), " activations and ", diff.weights.size(),
                 " weights in both: ", count, " differ by more than ", percent(tolerance, 4),
                 "; largest difference ", percent(diff.largest(), 4), "\n");
  return out;
}

std::string json_of(const TableDiff& diff, double tolerance) {
  const auto rows = [](const std::vector<TensorDiff>& diffs) {
    Json list = Json::array();
    for (const TensorDiff& row : diffs) {
      list.push_back({{"tensor", row.tensor},
                      {"scale_a", row.scale_a},
                      {"scale_b", row.scale_b},
                      {"scale_difference", number(row.scale)},
                      {"range_difference", number(row.range)}});
    }
    return list;
  };
  Json json;
  json["tolerance"] = tolerance;
  json["within_tolerance"] = diff.within(tolerance);
  json["activations"] = rows(diff.activations);
  json["weights"] = rows(diff.weights);
  json["only_a"] = diff.only_a;
  json["only_b"] = diff.only_b;
  return json_text(json);
}

std::string table_text(const CalibrationTable& table, std::size_t width) {
  TextTable text({{"tensor"},
                  {"range", Kind::kText, 6},
                  {"scale", Kind::kNumber, 7},
                  {"zero point", Kind::kNumber, 4},
                  {"type", Kind::kText, 2},
                  {"saturated", Kind::kNumber, 1},
                  {"SQNR dB", Kind::kNumber, 3},
                  {"", Kind::kText, 5}});
  for (const ActivationEntry& entry : table.activations) {
    const bool observed = entry.observed.count > 0;
    text.add({entry.tensor,
              to_text("[", to_text(entry.range.min), ", ", to_text(entry.range.max), "]"),
              to_text(entry.affine.scale), to_text(std::int64_t{entry.affine.zero_point}),
              std::string(name_of(entry.dtype)), observed ? percent(entry.saturated_share, 4) : "-",
              entry.sqnr_db ? to_fixed(*entry.sqnr_db, 1) : "-",
              std::string(name_of(entry.degenerate))});
  }
  std::string out = text.to_string(width);
  if (!table.weights.empty()) {
    TextTable weights({{"weight"},
                       {"read by", Kind::kName, 1},
                       {"scales", Kind::kNumber, 2},
                       {"smallest", Kind::kNumber, 3},
                       {"largest", Kind::kNumber, 4}});
    for (const WeightEntry& entry : table.weights) {
      const auto [low, high] =
          std::minmax_element(entry.affines.scales.begin(), entry.affines.scales.end());
      weights.add({entry.tensor, entry.consumer, to_text(std::int64_t(entry.affines.scales.size())),
                   to_text(*low), to_text(*high)});
    }
    out += "\n" + weights.to_string(width);
  }
  out += to_text("\n", table.activations.size(), " activations and ", table.weights.size(),
                 " weights by '", table.method, "'");
  if (table.image_count > 0) out += to_text(" from ", table.image_count, " images");
  return out + "\n";
}

std::string table_json(const CalibrationTable& table) {
  Json json;
  json["method"] = table.method;
  json["images"] = table.image_count;
  json["activations"] = Json::array();
  for (const ActivationEntry& entry : table.activations) {
    Json row{{"tensor", entry.tensor},
             {"range", {entry.range.min, entry.range.max}},
             {"scale", entry.affine.scale},
             {"zero_point", entry.affine.zero_point},
             {"dtype", name_of(entry.dtype)}};
    if (entry.observed.count > 0) row["saturated_share"] = entry.saturated_share;
    if (entry.sqnr_db) row["sqnr_db"] = *entry.sqnr_db;
    if (entry.degenerate != Degenerate::kNo) row["degenerate"] = name_of(entry.degenerate);
    json["activations"].push_back(std::move(row));
  }
  json["weights"] = Json::array();
  for (const WeightEntry& entry : table.weights) {
    json["weights"].push_back({{"tensor", entry.tensor},
                               {"consumer", entry.consumer},
                               {"axis", entry.affines.axis},
                               {"scales", entry.affines.scales}});
  }
  return json_text(json);
}

}  // namespace qtool

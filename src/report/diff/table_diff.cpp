#include "report/diff/table_diff.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "base/printable.h"
#include "base/text.h"
#include "json/json_text.h"
#include "report/percent.h"
#include "report/text_table.h"

namespace qtool {
namespace {

using Json = nlohmann::ordered_json;
using Kind = TextTable::Kind;

double relative(double a, double b) {
  const double larger = std::max(std::abs(a), std::abs(b));
  return larger == 0.0 ? 0.0 : std::abs(a - b) / larger;
}

TensorDiff compare(const ActivationEntry& a, const ActivationEntry& b) {
  TensorDiff diff;
  diff.tensor = a.tensor;
  diff.scale_a = a.affine.scale;
  diff.scale_b = b.affine.scale;
  if (a.dtype == b.dtype) diff.scale = relative(a.affine.scale, b.affine.scale);
  const double width =
      std::max(double{a.range.max} - a.range.min, double{b.range.max} - b.range.min);
  const double moved = std::max(std::abs(double{a.range.min} - b.range.min),
                                std::abs(double{a.range.max} - b.range.max));
  diff.range = width > 0.0 ? moved / width : 0.0;
  return diff;
}

TensorDiff compare(const WeightEntry& a, const WeightEntry& b) {
  TensorDiff diff;
  diff.tensor = a.tensor;
  if (a.affines.scales.size() != b.affines.scales.size()) {
    diff.scale = 1.0;
    return diff;
  }
  for (std::size_t c = 0; c < a.affines.scales.size(); ++c) {
    const double change = relative(a.affines.scales[c], b.affines.scales[c]);
    if (c > 0 && change <= diff.scale) continue;
    diff.scale = change;
    diff.scale_a = a.affines.scales[c];
    diff.scale_b = b.affines.scales[c];
  }
  return diff;
}

std::string_view reader_of(const ActivationEntry& /*entry*/) { return {}; }
std::string_view reader_of(const WeightEntry& entry) { return entry.consumer; }

std::string entry_key(std::string_view tensor, std::string_view reader) {
  return concat(tensor, "\n", reader);
}

/// The entries of one table by tensor and reader. Shared weights have one entry for each node that
/// reads them. Some formats do not name the reader; then entries are found by the tensor alone.
template <typename Entry>
class Entries {
 public:
  explicit Entries(const std::vector<Entry>& entries) {
    for (const Entry& entry : entries) {
      by_key_.try_emplace(entry_key(entry.tensor, reader_of(entry)), &entry);
      by_tensor_.try_emplace(entry.tensor, &entry);
    }
  }

  /// The entry of this table that corresponds to `wanted`, an entry of another table. Null if there
  /// is none.
  [[nodiscard]] const Entry* find(const Entry& wanted) const {
    for (const std::string_view reader : {reader_of(wanted), std::string_view()}) {
      const auto found = by_key_.find(entry_key(wanted.tensor, reader));
      if (found != by_key_.end()) return found->second;
    }
    const auto found = by_tensor_.find(wanted.tensor);
    return reader_of(wanted).empty() && found != by_tensor_.end() ? found->second : nullptr;
  }

 private:
  std::unordered_map<std::string, const Entry*> by_key_;
  std::unordered_map<std::string, const Entry*> by_tensor_;  // the first entry of each tensor
};

template <typename Entry>
void match(const std::vector<Entry>& a, const std::vector<Entry>& b, std::vector<TensorDiff>& both,
           TableDiff& diff) {
  const Entries<Entry> of_a(a);
  const Entries<Entry> of_b(b);
  for (const Entry& entry : a) {
    if (const Entry* other = of_b.find(entry)) {
      both.push_back(compare(entry, *other));
    } else {
      diff.only_a.push_back(entry.tensor);
    }
  }
  for (const Entry& entry : b) {
    if (of_a.find(entry) == nullptr) diff.only_b.push_back(entry.tensor);
  }
}

double largest(const std::vector<TensorDiff>& diffs) {
  double result = 0.0;
  for (const TensorDiff& diff : diffs) result = std::max(result, diff.largest());
  return result;
}

Json number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

}  // namespace

bool TableDiff::within(double tolerance) const noexcept {
  return only_a.empty() && only_b.empty() && largest(activations) <= tolerance &&
         largest(weights) <= tolerance;
}

TableDiff diff_of(const CalibrationTable& a, const CalibrationTable& b) {
  TableDiff diff;
  match(a.activations, b.activations, diff.activations, diff);
  // A table without weights is not compared with the weights of the other table.
  if (!a.weights.empty() && !b.weights.empty()) match(a.weights, b.weights, diff.weights, diff);
  return diff;
}

std::string text_of(const TableDiff& diff, double tolerance, std::size_t width) {
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
                percent(row.range, 4)});
      ++count;
    }
  }
  std::string out = count > 0 ? text.to_string(width) + "\n" : "";
  for (const std::string& name : diff.only_a) out += concat("only in A: ", printable(name), "\n");
  for (const std::string& name : diff.only_b) out += concat("only in B: ", printable(name), "\n");
  out += concat(diff.activations.size(), " activations and ", diff.weights.size(),
                " weights in both: ", count, " differ by more than ", percent(tolerance, 4),
                "; largest difference ",
                percent(std::max(largest(diff.activations), largest(diff.weights)), 4), "\n");
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
              concat("[", to_text(entry.range.min), ", ", to_text(entry.range.max), "]"),
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
  out += concat("\n", table.activations.size(), " activations and ", table.weights.size(),
                " weights by '", table.method, "'");
  if (table.image_count > 0) out += concat(" from ", table.image_count, " images");
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

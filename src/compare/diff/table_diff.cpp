#include "compare/diff/table_diff.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "base/text.h"

namespace qtool {
namespace {

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
  return to_text(tensor, "\n", reader);
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

}  // namespace

double TableDiff::largest() const noexcept {
  double result = 0.0;
  for (const auto* list : {&activations, &weights}) {
    for (const TensorDiff& diff : *list) result = std::max(result, diff.largest());
  }
  return result;
}

bool TableDiff::within(double tolerance) const noexcept {
  return only_a.empty() && only_b.empty() && largest() <= tolerance;
}

TableDiff diff_of(const CalibrationTable& a, const CalibrationTable& b) {
  TableDiff diff;
  match(a.activations, b.activations, diff.activations, diff);
  // A table without weights is not compared with the weights of the other table.
  if (!a.weights.empty() && !b.weights.empty()) match(a.weights, b.weights, diff.weights, diff);
  return diff;
}

}  // namespace qtool

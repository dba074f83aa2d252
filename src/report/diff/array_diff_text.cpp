#include "report/diff/array_diff_text.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/percent.h"
#include "base/printable.h"
#include "base/text.h"
#include "json/json.h"
#include "json/json_text.h"

namespace qtool {
namespace {

using Json = nlohmann::ordered_json;
using Kind = TextTable::Kind;

std::vector<std::int64_t> index_of(const Shape& shape, std::int64_t element) {
  std::vector<std::int64_t> index(static_cast<std::size_t>(shape.rank()));
  for (std::int64_t axis = shape.rank() - 1; axis >= 0; --axis) {
    index[static_cast<std::size_t>(axis)] = element % shape[axis];
    element /= shape[axis];
  }
  return index;
}

std::string place_of(const Shape& shape, std::int64_t element) {
  return Shape(index_of(shape, element)).to_string();
}

double equal_share(const ArrayDiff& diff) {
  const std::int64_t elements = diff.shape.elements();
  return elements == 0 ? 1.0 : static_cast<double>(diff.equal) / static_cast<double>(elements);
}

std::string row_name(const ArrayDiff& diff) {
  return diff.kind.empty() ? diff.name : to_text(diff.name, " (", diff.kind, ")");
}

}  // namespace

double rank_of(const ArrayDiff& diff, const ArrayLimits& limits) {
  constexpr double kBeyond = 1e6;  // decibels, more than SQNR can differ
  if (std::isnan(diff.sqnr_db)) return -std::numeric_limits<double>::infinity();
  return limits.accept(diff) ? diff.sqnr_db : diff.sqnr_db - kBeyond;
}

std::string text_of(const ArraysDiff& diff, const ArrayLimits& limits, std::size_t width,
                    ListLength length) {
  TextTable table({{"tensor"},
                   {"shape", Kind::kText, 2},
                   {"SQNR dB", Kind::kNumber, 8},
                   {"largest error", Kind::kNumber, 7},
                   {"cosine", Kind::kNumber, 5},
                   {"equal", Kind::kNumber, 6},
                   {"mean A", Kind::kNumber, 1},
                   {"mean B", Kind::kNumber, 1},
                   {"", Kind::kText, 4}});
  for (const ArrayDiff& row : diff.both) {
    table.add({row_name(row), row.shape.to_string(), to_fixed(row.sqnr_db, 2),
               to_text(static_cast<float>(row.max_abs_error)), to_fixed(row.cosine, 6),
               percent(equal_share(row), 2), to_text(static_cast<float>(row.mean_a)),
               to_text(static_cast<float>(row.mean_b)), limits.accept(row) ? "" : "beyond"},
              rank_of(row, limits));
  }
  std::string out = diff.both.empty() ? "" : table.to_string(width, length) + "\n";
  for (const std::string& one : diff.not_compared) {
    out += to_text("not comparable: ", printable(one), "\n");
  }
  for (const std::string& one : diff.only_a) out += to_text("only in A: ", printable(one), "\n");
  for (const std::string& one : diff.only_b) out += to_text("only in B: ", printable(one), "\n");
  const auto identical = std::count_if(diff.both.begin(), diff.both.end(),
                                       [](const ArrayDiff& d) { return !d.first_mismatch; });
  out += to_text(diff.both.size(), " compared, ", static_cast<std::int64_t>(identical), " equal");
  const auto first = std::find_if(diff.both.begin(), diff.both.end(),
                                  [](const ArrayDiff& d) { return d.first_mismatch.has_value(); });
  if (first != diff.both.end()) {
    out += to_text("; first mismatch: '", printable(row_name(*first)), "' at ",
                   place_of(first->shape, *first->first_mismatch), ", largest at ",
                   place_of(first->shape, *first->worst), ": ",
                   to_text(static_cast<float>(first->value_a)), " in A, ",
                   to_text(static_cast<float>(first->value_b)), " in B");
  }
  out += "\n";
  if (const ArrayDiff* beyond = diff.first_beyond(limits)) {
    out += to_text("first beyond the limits: '", printable(row_name(*beyond)), "'\n");
  }
  return out;
}

std::string json_of(const ArraysDiff& diff, const ArrayLimits& limits) {
  Json json;
  json["within_limits"] = diff.within(limits);
  if (const ArrayDiff* beyond = diff.first_beyond(limits)) {
    json["first_beyond"] = row_name(*beyond);
  }
  json["arrays"] = Json::array();
  for (const ArrayDiff& row : diff.both) {
    Json one{{"name", row.name}};
    if (!row.kind.empty()) one["kind"] = row.kind;
    one["shape"] = row.shape.dims();
    one["dtype_a"] = name_of(row.dtype_a);
    one["dtype_b"] = name_of(row.dtype_b);
    one["sqnr_db"] = finite_or_null(row.sqnr_db);
    one["max_abs_error"] = finite_or_null(row.max_abs_error);
    one["cosine"] = finite_or_null(row.cosine);
    one["mean_a"] = finite_or_null(row.mean_a);
    one["mean_b"] = finite_or_null(row.mean_b);
    one["equal"] = row.equal;
    one["equal_share"] = equal_share(row);
    if (row.first_mismatch) {
      one["first_mismatch"] = index_of(row.shape, *row.first_mismatch);
      one["largest_error_at"] = index_of(row.shape, *row.worst);
      one["value_a"] = finite_or_null(row.value_a);
      one["value_b"] = finite_or_null(row.value_b);
    }
    one["within_limits"] = limits.accept(row);
    json["arrays"].push_back(std::move(one));
  }
  json["not_comparable"] = diff.not_compared;
  json["only_a"] = diff.only_a;
  json["only_b"] = diff.only_b;
  return json_text(json);
}

}  // namespace qtool

#include "qtool/calib/overrides.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/did_you_mean.h"
#include "base/name_pattern.h"
#include "base/text.h"
#include "calib/statistics.h"
#include "qtool/base/error.h"
#include "qtool/calib/collect.h"
#include "quant/density.h"

namespace qtool {
namespace {

bool is_pattern(std::string_view name) {
  return name.find_first_of("*?") != std::string_view::npos;
}

/// The indices of the activations that a name or pattern matches; aliases count as names.
std::vector<std::size_t> matches(std::string_view wanted, const CalibrationTable& table) {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < table.activations.size(); ++i) {
    const ActivationEntry& entry = table.activations[i];
    bool hit = entry.tensor == wanted || matches_pattern(entry.tensor, wanted);
    for (const Alias& alias : table.aliases) {
      hit = hit || (alias.tensor == entry.tensor &&
                    (alias.name == wanted || matches_pattern(alias.name, wanted)));
    }
    if (hit) found.push_back(i);
  }
  if (!found.empty()) return found;
  std::vector<std::string> names;
  for (const ActivationEntry& entry : table.activations) names.push_back(entry.tensor);
  for (const Alias& alias : table.aliases) names.push_back(alias.name);
  throw Error(ErrorCode::kUsage,
              to_text("'", wanted, "' matches no calibrated tensor", did_you_mean(wanted, names)));
}

std::int32_t usual_zero_point(const ActivationEntry& entry, const Scheme& scheme) {
  if (scheme.dtype == DType::kUInt8 && scheme.symmetry == Symmetry::kAsymmetric &&
      entry.observed.min >= 0.0F) {
    return limits_of(scheme).min;
  }
  return choose_affine(Range(), {scheme.dtype, scheme.bits, Symmetry::kSymmetric}).zero_point;
}

Affine affine_of(const Overrides::GivenScale& given, const ActivationEntry& entry,
                 const Scheme& scheme) {
  if (!std::isfinite(given.scale) || given.scale < std::numeric_limits<float>::min()) {
    throw Error(ErrorCode::kInvalidArgument,
                to_text("scale of '", given.tensor, "': found ", given.scale,
                        ", expected a positive, normal float"));
  }
  const Affine affine{given.scale, given.zero_point.value_or(usual_zero_point(entry, scheme))};
  const Limits limits = limits_of(scheme);
  const bool symmetric = scheme.symmetry == Symmetry::kSymmetric;
  if (affine.zero_point < limits.min || affine.zero_point > limits.max ||
      (symmetric && affine.zero_point != choose_affine(Range(), scheme).zero_point)) {
    throw Error(
        ErrorCode::kInvalidArgument,
        to_text("zero point of '", given.tensor, "': found ", affine.zero_point, ", expected ",
                symmetric ? to_text(std::int64_t{choose_affine(Range(), scheme).zero_point})
                          : to_text(limits.min, " to ", limits.max)));
  }
  return affine;
}

void set_entry(ActivationEntry& entry, Range range, const Affine& affine, const Scheme& scheme,
               const Collection* collection) {
  entry.range = range;
  entry.affine = affine;
  entry.dtype = scheme.dtype;
  entry.degenerate = Degenerate::kNo;
  entry.origin = Origin::kUser;
  entry.saturated_share = 0.0;
  entry.sqnr_db.reset();
  if (collection == nullptr) return;
  for (const TensorStatistics& tensor : collection->tensors) {
    if (tensor.tensor != entry.tensor) continue;
    const QuantizationEffect effect =
        Density(tensor.statistics.histogram()).effect(affine, limits_of(scheme));
    entry.saturated_share = effect.saturated_share;
    if (std::isfinite(effect.sqnr_db())) entry.sqnr_db = effect.sqnr_db();
  }
}

}  // namespace

void apply_overrides(const Overrides& overrides, const Scheme& scheme, const Collection* collection,
                     CalibrationTable& table) {
  // Patterns first, then names, because a later override wins.
  for (const bool patterns : {true, false}) {
    for (const Overrides::GivenRange& given : overrides.ranges) {
      if (is_pattern(given.tensor) != patterns) continue;
      if (!(given.range.min <= 0.0F && given.range.max >= 0.0F) ||
          !std::isfinite(given.range.min) || !std::isfinite(given.range.max)) {
        throw Error(ErrorCode::kInvalidArgument,
                    to_text("range of '", given.tensor, "': found [", given.range.min, ", ",
                            given.range.max, "], expected one that holds 0"));
      }
      for (const std::size_t i : matches(given.tensor, table)) {
        set_entry(table.activations[i], given.range, choose_affine(given.range, scheme), scheme,
                  collection);
      }
    }
    for (const Overrides::GivenScale& given : overrides.scales) {
      if (is_pattern(given.tensor) != patterns) continue;
      for (const std::size_t i : matches(given.tensor, table)) {
        ActivationEntry& entry = table.activations[i];
        const Affine affine = affine_of(given, entry, scheme);
        set_entry(entry, represented_range(affine, limits_of(scheme)), affine, scheme, collection);
      }
    }
  }
}

}  // namespace qtool

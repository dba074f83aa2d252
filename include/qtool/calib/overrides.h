#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "qtool/calib/table.h"
#include "qtool/quant/affine.h"

namespace qtool {

struct Collection;

/// Ranges, scales and exclusions that a user gives. `tensor` and the exclusions are names or
/// patterns with `*` and `?`.
struct Overrides {
  struct GivenRange {
    std::string tensor;
    Range range;  ///< holds 0
    friend bool operator==(const GivenRange&, const GivenRange&) = default;
  };
  struct GivenScale {
    std::string tensor;
    float scale = 1.0F;
    /// Default: the zero point of a symmetric type. For an asymmetric unsigned type and a tensor
    /// without negative values, the default is the lowest integer.
    std::optional<std::int32_t> zero_point;
    friend bool operator==(const GivenScale&, const GivenScale&) = default;
  };
  std::vector<GivenRange> ranges;
  std::vector<GivenScale> scales;
  std::vector<std::string> exclude;  ///< nodes, see PlacementOptions::exclude
  std::vector<std::string> wide{};   ///< tensors, see StaticOptions::wide
  friend bool operator==(const Overrides&, const Overrides&) = default;
};

inline constexpr std::int64_t kMaxOverridesBytes = std::int64_t{1} << 20;

/// Reads `{"ranges": {"conv1*": [0, 6]}, "scales": {"data": {"scale": 0.02, "zero_point": 128}},
/// "exclude": ["head/*"], "wide": ["stem"]}`, every key optional. Any bytes are safe. Throws
/// Error(kInvalidArgument) that names the field, what was found and what was expected.
Overrides read_overrides(std::string_view text);

/// The overrides as the JSON text that read_overrides() reads. If several entries have the same
/// name, only the last one is written. Throws Error(kUnsupported) when the text is longer than
/// read_overrides() accepts.
std::string to_json_text(const Overrides& overrides);

/// Gives the matching activations of `table` the user's ranges and scales under `scheme`, with
/// Origin::kUser. A name overrides a pattern, a scale overrides a range, and a later entry
/// overrides an earlier one. An entry loses its SQNR and saturated share unless `collection` has
/// the statistics to compute them again. A table that has only names gives the same errors, so that
/// overrides can be checked before a long calibration.
/// Throws Error(kUsage) with the three nearest names when a name or pattern matches no activation,
/// Error(kInvalidArgument) for a range without 0, a scale that is not a positive, normal float, or
/// a zero point beyond the integers of `scheme`. Cost: patterns times tensors.
void apply_overrides(const Overrides& overrides, const Scheme& scheme, const Collection* collection,
                     CalibrationTable& table);

}  // namespace qtool

#pragma once

#include <optional>

#include "kernels/wide_curve/contract.h"
#include "ops/integer/curve_domain.h"
#include "qtool/quant/affine.h"

namespace qtool {

/// The positive factors of a curve's channels.
struct FactorRange {
  float smallest = 1.0F;
  float largest = 1.0F;
};

/// The curve that approximates a function, whose results times a factor become the two bytes of a
/// tensor that keeps 16 bits. `high`: the affine map of the high byte; that of the low byte has a
/// step that is smaller by WideCurve::kSteps, and the zero point 128. Before rounding, the values
/// are within one step of the low byte of the exact ones, for every factor. This is checked at two
/// thousand numbers, among them both ends of each segment. The domain ends where the function
/// leaves the range of the bytes for the smallest factor, where it does not change any more, or
/// where it becomes a line, at most 2^20 steps of the high byte from 0. std::nullopt if the
/// function cannot be approximated that well. Cost: some thousand evaluations of the function, and
/// up to two hundred thousand where hardly any curve or none fits.
std::optional<WideCurve> fit_wide_curve(const RealFunction& function, const Affine& high,
                                        const FactorRange& factors = {});

}  // namespace qtool

#pragma once

#include <optional>

#include "kernels/curve.h"
#include "ops/integer/curve_domain.h"
#include "qtool/quant/affine.h"

namespace qtool {

/// The curve that approximates the bytes clamp(rint(f / scale) + zero_point, 0, 255) of a function.
/// Before rounding, its values are within 0.02 of a step of the exact ones in the middle of a
/// position, 0.04 between two positions, and 0.06 beyond the domain; a CurveFactor multiplies these
/// errors. This is checked at a thousand positions, among them both ends of each segment. The
/// domain ends where the function leaves the bytes or does not change any more, at most 2^20 steps
/// from 0. std::nullopt if the function cannot be approximated that well, for example because it
/// has a step, a pole or a kink inside a segment, or if it changes without end. Cost: some thousand
/// evaluations of the function, and up to two hundred thousand where hardly any curve or none fits.
std::optional<Curve> fit_curve(const RealFunction& function, const Affine& rounding);

}  // namespace qtool

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "qtool/tensor/tensor.h"

namespace qtool {

/// Returns the given scales, one per bias or one for all, each raised until its bias fits as in
/// choose_weight_affines(). `magnitude`: the largest |q_w - z_w|.
std::vector<float> fit_scales(std::vector<float> scales, std::span<const float> bias,
                              float input_scale, std::int64_t depth, std::int32_t magnitude = 127);
/// The scale of each int32 bias: the float32 product s_x s_c.
std::vector<float> bias_scales(std::span<const float> weight_scales, std::size_t channels,
                               float input_scale);
/// q = round_half_even(b_c / scale_c) as int32, clamped to +-2^30.
Tensor quantize_bias(std::span<const float> bias, std::span<const float> scales);

}  // namespace qtool

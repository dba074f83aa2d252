#include "ops/integer/packed_product.h"

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace qtool {
namespace {

// s_x s_w[c], one per output channel; the product is rounded to float, as ONNX does for the scale
// of an int32 bias.
std::vector<float> product_scales(const QProductParams& params, std::int64_t channels) {
  const auto weight_scales = params.weight_scales->values<float>();
  const float input_scale = params.input.scale;
  std::vector<float> scales;
  for (std::int64_t c = 0; c < channels; ++c) {
    scales.push_back(input_scale *
                     weight_scales[weight_scales.size() == 1 ? 0 : static_cast<std::size_t>(c)]);
  }
  return scales;
}

std::string curve_text(const Curve& curve, const std::vector<CurveFactor>& factors) {
  std::string text = to_text(" on curve ", curve.scale, " ", curve.offset, " ", curve.place_bits,
                             " ", curve.zero_point);
  for (std::int32_t i = 0; i < Curve::kCoefficients; ++i) {
    for (std::int32_t s = 0; s < curve.segments(); ++s) {
      text += to_text(" ", curve.low[i][s] + 256 * curve.high[i][s]);
    }
  }
  for (const CurveFactor& factor : factors) {
    text += to_text(" * ", factor.shift, " ", factor.fraction);
  }
  return text;
}

// A text that names the extents and the epilogue that the weights are packed for. Plans share
// packed weights of the same form.
std::string form_of(const QProductParams& params, bool sums, const ProductExtents& extents,
                    std::string_view part) {
  std::string form = to_text("qconv ", part, " ", extents.out_channels, " ", extents.in_channels,
                             " ", extents.kernel_h, " ", extents.kernel_w, " ", extents.groups, " ",
                             params.input.zero_point);
  if (sums) return form + " i32";
  form += to_text(" ", params.input.scale);
  if (!params.result) return form + " f32";
  const QuantizedResult& y = *params.result;
  if (params.curve) return form + curve_text(*params.curve, params.factors);
  form += to_text(" u8 ", y.affine.scale, " ", y.affine.zero_point, " ", y.low, " ", y.high);
  if (params.slopes) {
    for (const std::vector<float>* slopes : {&params.slopes->positive, &params.slopes->negative}) {
      form += " slopes";
      for (const float slope : *slopes) form += to_text(" ", slope);
    }
  }
  if (!params.residual) return form;
  return form + to_text(" + ", params.residual->scale, " ", params.residual->zero_point);
}

// s_x s_w[c] / s_y in double, one per output channel.
std::vector<double> fixed_multipliers(const QProductParams& params, std::int64_t channels) {
  const auto weight_scales = params.weight_scales->values<float>();
  const auto input_scale = static_cast<double>(params.input.scale);
  const auto output_scale = static_cast<double>(params.result.value().affine.scale);
  std::vector<double> multipliers;
  for (std::int64_t c = 0; c < channels; ++c) {
    const float weight_scale =
        weight_scales[weight_scales.size() == 1 ? 0 : static_cast<std::size_t>(c)];
    multipliers.push_back(input_scale * static_cast<double>(weight_scale) / output_scale);
  }
  return multipliers;
}

bool makes_sums(const QProductParams& params, Requantization requantization) {
  return params.result && !params.curve && !params.slopes &&
         requantization != Requantization::kFloat;
}

}  // namespace

DType product_type(const OpContext& op) {
  return op.params<QProductParams>().result ? DType::kUInt8 : DType::kFloat32;
}

bool requantizes_sums(const OpContext& op) {
  return makes_sums(op.params<QProductParams>(), op.requantization);
}

std::shared_ptr<const PackedConv> pack_product(const OpContext& op, const ProductExtents& extents,
                                               std::string_view part,
                                               std::span<const std::int8_t> values) {
  return pack_product(op, {op.params<QProductParams>()}, extents, part, values);
}

std::shared_ptr<const PackedConv> pack_product(const OpContext& op, const ProductPart& product,
                                               const ProductExtents& extents, std::string_view part,
                                               std::span<const std::int8_t> values) {
  const QProductParams& params = product.params;
  const std::size_t bias_at = product.weights + 1;
  const bool sums = makes_sums(params, op.requantization);
  const auto make = [&] {
    ConvWeights weights;
    weights.values = values;
    weights.out_channels = extents.out_channels;
    weights.in_channels = extents.in_channels;
    weights.kernel_h = extents.kernel_h;
    weights.kernel_w = extents.kernel_w;
    weights.groups = extents.groups;
    if (op.has_input(bias_at)) weights.bias = op.constant(bias_at)->values<std::int32_t>();
    weights.input_zero_point = params.input.zero_point;
    const auto stored = params.weight_zero_points->values<std::int32_t>();
    std::vector<std::int32_t> zero_points(stored.begin(), stored.end());
    if (std::all_of(zero_points.begin(), zero_points.end(), [](auto z) { return z == 0; })) {
      zero_points.clear();
    } else if (zero_points.size() == 1) {
      zero_points.resize(static_cast<std::size_t>(extents.out_channels), zero_points[0]);
    }
    weights.weight_zero_points = zero_points;
    if (sums) return std::make_shared<PackedConv>(PackedConv::of_sums(weights));
    std::vector<float> scales = product_scales(params, extents.out_channels);
    if (!params.result) return std::make_shared<PackedConv>(weights, std::move(scales));
    const QuantizedResult& y = *params.result;
    Epilogue epilogue;
    epilogue.multiplier = std::move(scales);
    if (params.curve) {
      for (float& multiplier : epilogue.multiplier) multiplier *= params.curve->scale;
      epilogue.curve = params.curve;
      epilogue.factors = params.factors;
      return std::make_shared<PackedConv>(weights, std::move(epilogue));
    }
    for (float& multiplier : epilogue.multiplier) multiplier /= y.affine.scale;
    if (params.slopes) {
      epilogue.negative = epilogue.multiplier;
      for (std::size_t c = 0; c < epilogue.multiplier.size(); ++c) {
        epilogue.multiplier[c] *= params.slopes->positive[c];
        epilogue.negative[c] *= params.slopes->negative[c];
      }
    }
    epilogue.zero_point = y.affine.zero_point;
    epilogue.low = y.low;
    epilogue.high = y.high;
    if (params.residual) {
      epilogue.residual = {params.residual->scale / y.affine.scale, params.residual->zero_point};
    }
    return std::make_shared<PackedConv>(weights, std::move(epilogue));
  };
  return op.packed<PackedConv>({form_of(params, sums, extents, part),
                                {op.shared_constant(product.weights), op.shared_constant(bias_at),
                                 params.weight_zero_points, sums ? nullptr : params.weight_scales}},
                               make);
}

FixedOutput fixed_output(const OpContext& op, std::int64_t channels) {
  const auto& params = op.params<QProductParams>();
  return {op.requantization,
          fixed_multipliers(params, channels),
          params.result->affine,
          {params.result->low, params.result->high},
          params.residual};
}

}  // namespace qtool

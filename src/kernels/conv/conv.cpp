#include "kernels/conv/conv.h"

#include <cmath>
#include <utility>

#include "base/text.h"
#include "kernels/conv/driver.h"
#include "qtool/base/error.h"

namespace qtool {
namespace {

void check_length(std::size_t found, std::int64_t expected, std::string_view what) {
  if (static_cast<std::int64_t>(found) != expected) {
    throw Error(ErrorCode::kInvalidModel,
                to_text("convolution: ", what, " has ", found, " elements, expected ", expected));
  }
}

void check_finite(const std::vector<float>& values, std::string_view what) {
  for (const float value : values) {
    if (!std::isfinite(value)) {
      throw Error(ErrorCode::kInvalidModel,
                  to_text("convolution: ", what, " holds ", value, ", expected finite numbers"));
    }
  }
}

std::unique_ptr<const ConvDriver> make_driver(const ConvWeights& weights, ConvOutput output,
                                              const KernelSelection& selection) {
  check_length(output.multiplier.size(), weights.out_channels, "the list of multipliers");
  check_finite(output.multiplier, "the list of multipliers");
  if (!output.negative.empty()) {
    check_length(output.negative.size(), weights.out_channels, "the list of negative multipliers");
    check_finite(output.negative, "the list of negative multipliers");
  }
  if (output.curve) {
    check_length(output.factors.size(), weights.out_channels, "the list of factors");
  }
  const bool depthwise = weights.groups > 1 && weights.groups == weights.in_channels &&
                         weights.groups == weights.out_channels;
  return depthwise ? make_depthwise_driver(weights, std::move(output), selection)
                   : make_dense_driver(weights, std::move(output), selection);
}

void check_curve(const Epilogue& epilogue) {
  const Curve& curve = *epilogue.curve;
  const bool in_range = std::abs(curve.offset) <= 32768.0F && curve.place_bits >= 11 &&
                        curve.place_bits <= 12 && curve.zero_point >= 0 && curve.zero_point <= 255;
  if (!in_range || epilogue.residual || !epilogue.negative.empty()) {
    throw Error(ErrorCode::kInvalidModel,
                to_text("convolution: a curve has the offset ", curve.offset, ", ",
                        curve.place_bits, " bits for the place and the zero point ",
                        curve.zero_point, epilogue.residual ? ", and there is a residual" : "",
                        epilogue.negative.empty() ? "" : ", and there are negative multipliers",
                        ", expected at most 32768, 11 or 12, 0 to 255, and neither of these"));
  }
  for (const CurveFactor& factor : epilogue.factors) {
    if (factor.shift < 0 || factor.shift > CurveFactor::kMostShift) {
      throw Error(ErrorCode::kInvalidModel,
                  to_text("convolution: a factor of a curve has the shift ", factor.shift,
                          ", expected 0 to ", CurveFactor::kMostShift));
    }
  }
}

ConvOutput output_of(Epilogue epilogue) {
  if (epilogue.low < 0 || epilogue.low > epilogue.high || epilogue.high > 255 ||
      epilogue.zero_point < 0 || epilogue.zero_point > 255) {
    throw Error(ErrorCode::kInvalidModel,
                to_text("convolution: output limits [", epilogue.low, ", ", epilogue.high,
                        "] and zero point ", epilogue.zero_point, " are not within 0 to 255"));
  }
  if (epilogue.residual) {
    const Residual& residual = *epilogue.residual;
    const bool in_range =
        residual.multiplier >= 0.0F && residual.multiplier <= kMaxResidualMultiplier;
    if (!in_range || residual.zero_point < 0 || residual.zero_point > 255) {
      throw Error(ErrorCode::kInvalidModel,
                  to_text("convolution: a residual has the multiplier ", residual.multiplier,
                          " and the zero point ", residual.zero_point, ", expected 0 to ",
                          kMaxResidualMultiplier, " and 0 to 255"));
    }
  }
  if (epilogue.curve) {
    check_curve(epilogue);
    if (epilogue.factors.empty()) epilogue.factors.resize(epilogue.multiplier.size());
  }
  ConvOutput output;
  output.residual = epilogue.residual;
  output.curve = epilogue.curve;
  output.factors = std::move(epilogue.factors);
  output.multiplier = std::move(epilogue.multiplier);
  output.negative = std::move(epilogue.negative);
  output.zero_point = epilogue.zero_point;
  output.low = epilogue.low;
  output.high = epilogue.high;
  return output;
}

ConvOutput output_of(std::vector<float> scale, std::vector<float> bias) {
  ConvOutput output;
  output.type = OutputType::kFloat32;
  if (bias.empty()) {
    bias.assign(scale.size(), -0.0F);  // the one number whose addition changes nothing
  }
  check_length(bias.size(), static_cast<std::int64_t>(scale.size()), "the float bias");
  check_finite(bias, "the float bias");
  output.multiplier = std::move(scale);
  output.addend = std::move(bias);
  return output;
}

}  // namespace

PackedConv::PackedConv(const ConvWeights& weights, Epilogue epilogue,
                       const KernelSelection& selection)
    : in_channels_(weights.in_channels),
      out_channels_(weights.out_channels),
      adds_(epilogue.residual.has_value()) {
  driver_ = make_driver(weights, output_of(std::move(epilogue)), selection);
}

PackedConv::PackedConv(const ConvWeights& weights, std::vector<float> dequantize_scale,
                       std::vector<float> float_bias, const KernelSelection& selection)
    : in_channels_(weights.in_channels),
      out_channels_(weights.out_channels),
      takes_base_(float_bias.empty()) {
  driver_ = make_driver(weights, output_of(std::move(dequantize_scale), std::move(float_bias)),
                        selection);
}

PackedConv::PackedConv(std::unique_ptr<const ConvDriver> driver, const ConvWeights& weights)
    : driver_(std::move(driver)),
      in_channels_(weights.in_channels),
      out_channels_(weights.out_channels) {}

PackedConv PackedConv::of_sums(const ConvWeights& weights, const KernelSelection& selection) {
  ConvOutput output;
  output.type = OutputType::kInt32;
  // The result is not used: this checks the extents before memory is allocated for them.
  const FoldedWeights checked = fold_weights(weights);
  output.multiplier.assign(checked.bias.size(), 0.0F);
  return {make_driver(weights, std::move(output), selection), weights};
}

PackedConv::PackedConv(PackedConv&&) noexcept = default;
PackedConv& PackedConv::operator=(PackedConv&&) noexcept = default;
PackedConv::~PackedConv() = default;

std::string_view PackedConv::kernel() const { return driver_->kernel(); }

ConvShape PackedConv::checked(ConvShape shape) const {
  if (shape.in_pixel_stride == 0) shape.in_pixel_stride = in_channels_;
  if (shape.out_pixel_stride == 0) shape.out_pixel_stride = out_channels_;
  const bool extents = shape.batch >= 0 && shape.in_h >= 0 && shape.in_w >= 0 && shape.out_h >= 0 &&
                       shape.out_w >= 0;
  const bool steps = shape.stride_h > 0 && shape.stride_w > 0 && shape.dilation_h > 0 &&
                     shape.dilation_w > 0 && shape.in_pixel_stride >= in_channels_ &&
                     shape.out_pixel_stride >= out_channels_;
  if (!extents || !steps) {
    throw Error(ErrorCode::kInvalidArgument,
                "convolution: an extent is negative, or a stride or dilation is too small");
  }
  return shape;
}

std::int64_t PackedConv::workspace_bytes(const ConvShape& shape, int threads) const {
  return driver_->workspace_bytes(checked(shape), threads);
}

void PackedConv::run(const ConvShape& shape, const std::uint8_t* input, void* output,
                     std::byte* workspace, int threads, const ConvAdded& added) const {
  const ConvShape own = checked(shape);
  const bool empty = own.batch == 0 || own.out_h == 0 || own.out_w == 0;
  if (added.base != nullptr && !takes_base_) {
    throw Error(ErrorCode::kInvalidArgument,
                "convolution: found a base, expected one only for float output without a bias");
  }
  if (!empty && adds_ != (added.residual != nullptr)) {
    throw Error(ErrorCode::kInvalidArgument,
                adds_ ? "convolution: the residual to add is missing"
                      : "convolution: found a residual, but its epilogue adds none");
  }
  driver_->run(own, input, output, workspace, threads, added);
}

}  // namespace qtool

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "kernels/conv/conv.h"
#include "kernels/isa.h"
#include "kernels/output_type.h"

namespace qtool {

/// Parameters of the epilogue for each output type, one element per output channel.
struct ConvOutput {
  OutputType type = OutputType::kUInt8;
  std::vector<float> multiplier;  ///< zeros for int32 output
  std::vector<float> negative;    ///< see Epilogue
  std::vector<float> addend;      ///< float output only; -0 where nothing is added
  std::int32_t zero_point = 0;
  std::int32_t low = 0;
  std::int32_t high = 255;
  std::optional<Residual> residual{};
  std::optional<Curve> curve{};        ///< uint8 output without a residual only
  std::vector<CurveFactor> factors{};  ///< one for each output channel if there is a curve
};

/// Weights as sums of s8 filters, and the bias with the input zero point folded in.
struct FoldedWeights {
  /// [term][out][in / groups][kernel_h][kernel_w]; refers to the caller's weights or to `storage`
  std::span<const std::int8_t> values;
  std::vector<std::int8_t> storage;
  std::int64_t terms = 1;
  std::vector<std::int32_t> bias;  ///< qb - (zx - offset) sum (qw - zw)
};

/// Checks the extents, the spans and the int32 bound, then folds the zero points into weights and
/// bias. `input_offset`: what the kernel subtracts from its inputs, 0 to 255. Throws the errors of
/// PackedConv.
FoldedWeights fold_weights(const ConvWeights& weights, std::int32_t input_offset = 0);

/// One way to run convolutions: packed weights and the loops around a micro-kernel.
class ConvDriver {
 public:
  ConvDriver() = default;
  ConvDriver(const ConvDriver&) = delete;
  ConvDriver& operator=(const ConvDriver&) = delete;
  virtual ~ConvDriver() = default;

  [[nodiscard]] virtual std::string_view kernel() const = 0;
  /// `shape` has been checked, and its pixel strides are not 0.
  [[nodiscard]] virtual std::int64_t workspace_bytes(const ConvShape& shape, int threads) const = 0;
  /// `added.residual` is null exactly if the output has no residual. `added.base` is set only for
  /// float output.
  virtual void run(const ConvShape& shape, const std::uint8_t* input, void* output,
                   std::byte* workspace, int threads, const ConvAdded& added) const = 0;
};

std::unique_ptr<const ConvDriver> make_dense_driver(const ConvWeights& weights, ConvOutput output,
                                                    const KernelSelection& selection);
/// Requires in_channels = out_channels = groups.
std::unique_ptr<const ConvDriver> make_depthwise_driver(const ConvWeights& weights,
                                                        ConvOutput output,
                                                        const KernelSelection& selection);

}  // namespace qtool

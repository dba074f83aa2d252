#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "kernels/curve.h"
#include "kernels/wide_curve/contract.h"
#include "qtool/quant/affine.h"
#include "qtool/tensor/tensor.h"

// Parameters that lowering gives to the operators that exist only inside a plan. An operator reads
// exactly the struct that belongs to it: OpContext::params() ends the program when lowering gave
// another struct.
namespace qtool {

/// A clamp fused behind an operation in FP32: Relu is [0, +inf].
struct Clamp {
  float min = 0.0F;
  float max = 0.0F;
};

/// Another function fused behind a convolution in FP32.
struct FusedFunction {
  enum class Kind : std::uint8_t { kHardSwish, kLeakyRelu, kSilu };
  Kind kind = Kind::kSilu;
  float slope = 0.0F;  ///< for LeakyRelu
};

/// The bytes an integer operator writes. `low` and `high` are the bounds of an absorbed Relu or
/// Clip, quantized.
struct QuantizedResult {
  Affine affine;
  std::int32_t low = 0;
  std::int32_t high = 255;

  [[nodiscard]] Limits limits() const noexcept { return {low, high}; }
};

/// LeakyRelu or PRelu, and a factor behind it: one number per output channel.
struct Slopes {
  std::vector<float> positive;  ///< for sums from 0 on
  std::vector<float> negative;  ///< for sums below 0
};

/// QConv, QConvTranspose, QGemm. Without `result` they write float32. A QConv with `residual` adds
/// input 3 before it rounds: bytes with the affine map `residual` that broadcast to the result. It
/// must have a result then. A QConv with `curve` rounds the result of a function of its sums, which
/// `factors` multiply; it has a result and no residual then. A QConv with `slopes` multiplies its
/// real sums before it adds the residual and rounds; it has a result then.
struct QProductParams {
  Affine input;
  // Tensors, because PackCache finds packed weights by the tensors that they are made of.
  std::shared_ptr<const Tensor> weight_scales;       ///< float32, one or one per output channel
  std::shared_ptr<const Tensor> weight_zero_points;  ///< int32, one per scale
  std::optional<QuantizedResult> result;
  std::optional<Affine> residual;
  std::optional<Curve> curve;
  std::vector<CurveFactor> factors;  ///< one for each output channel, or empty: all are 1
  std::optional<Slopes> slopes;
};

/// Scales and zero points of the s8 weights of gates, one for each row of each direction.
struct GateAffines {
  std::shared_ptr<const Tensor> scales;       ///< float32
  std::shared_ptr<const Tensor> zero_points;  ///< int32
};

/// QLSTM, QGRU, QRNN: the affine maps of the weights W and R.
struct QRecurrentParams {
  GateAffines w;
  GateAffines r;
};

/// QAdd, QSub, QMul, QDiv, QSquaredDifference, QMin, QMax.
struct QBinaryParams {
  Affine a;
  Affine b;
  QuantizedResult result;
};

struct QConcatParams {
  std::vector<Affine> inputs;
  QuantizedResult result;
  /// Set for the second byte of a tensor that keeps 16 bits, whose first byte is `result`: the map
  /// of the rounding error of the first.
  std::optional<Affine> rest{};
};

struct QLookupParams {
  using Table = std::array<std::uint8_t, 256>;  ///< result by input
  std::vector<Table> tables;                    ///< one, or one for each index of axis 1
};

/// QAveragePool, QGlobalAveragePool, QInstanceNormalization, QResize. Only QGlobalAveragePool and
/// QInstanceNormalization may have no result; they write float32 then.
struct QAverageParams {
  Affine input;
  std::optional<QuantizedResult> result;
};

/// Quantize, Dequantize: scale and zero point of the bytes.
struct EdgeParams {
  Affine affine;
};

/// QuantizeWide: the affine maps of the first byte and of the second byte. The second byte holds
/// the rounding error of the first.
struct WideEdgeParams {
  Affine high;
  Affine low;
};

/// The function that a step of an ElementwiseChain applies to its operands.
enum class ChainFunction : std::uint8_t {
  kAdd,
  kSub,
  kMul,
  kDiv,
  kErf,
  kExp,
  kHardSwish,
  kLeakyRelu,  ///< the second operand is the slope, a number
  kMax,        ///< a where the operands are equal or a is NaN
  kMin,        ///< likewise
  kSigmoid,
  kSilu,
  kSoftplus,
  kTanh
};

/// A tensor that the chain reads, the result of an earlier step, or a number.
struct ChainOperand {
  enum class Source : std::uint8_t { kInput, kStep, kNumber };
  Source source = Source::kNumber;
  std::size_t index = 0;  ///< index of the input or the step
  float number = 0.0F;
  friend bool operator==(const ChainOperand&, const ChainOperand&) = default;
};

struct ChainStep {
  ChainFunction function = ChainFunction::kAdd;
  ChainOperand a;
  ChainOperand b;  ///< for functions of two operands
};

/// The results of all steps of a tile must fit into the first-level cache.
inline constexpr std::size_t kMaxChainSteps = 16;

/// ElementwiseChain, QConvChain: the last step is the result.
struct ChainParams {
  std::vector<ChainStep> steps;
};

/// QConvChain: the convolution of a u8 tensor, or the sum of the convolutions of both bytes of a
/// tensor that keeps 16 bits; a chain; the rounding of its result. Inputs: x, weights and bias of
/// each convolution, one factor per channel (or none) for the result of the chain, and the inputs
/// of the chain behind its first one, which is the result of the convolutions.
struct ConvChainParams {
  std::vector<QProductParams> products;  ///< one or two, without `result`
  std::optional<ChainParams> chain;
  std::variant<EdgeParams, WideEdgeParams> rounding;
  /// In place of a chain, the multiplication by the factors and the rounding.
  std::optional<WideCurve> curve{};
};

/// FusedConv, FusedConvTranspose, FusedGemm, FusedAdd.
struct FusedParams {
  std::optional<Clamp> clamp;
  std::optional<FusedFunction> function{};  ///< only FusedConv without clamp and residual
};

struct ShapedSubgraph;  // in lower/shaped_subgraphs.h

/// If, Loop: the subgraphs that the data chooses from, in the order of the attributes.
struct SubgraphParams {
  std::vector<std::shared_ptr<const ShapedSubgraph>> subgraphs;
};

/// The first alternative is for operators without parameters: ONNX's operators except If and Loop,
/// and QMaxPool.
using LoweredParams =
    std::variant<std::monostate, QProductParams, QBinaryParams, QConcatParams, QLookupParams,
                 QAverageParams, QRecurrentParams, EdgeParams, WideEdgeParams, FusedParams,
                 ChainParams, ConvChainParams, SubgraphParams>;

/// Information about a node that lowering adds to the graph.
struct LoweredNode {
  std::string origin;    ///< the ONNX operator before lowering; empty: not lowered
  bool integer = false;  ///< computes on integers
  LoweredParams params;
};

}  // namespace qtool

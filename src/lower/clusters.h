#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lower/specialize.h"
#include "ops/lowered.h"
#include "qtool/quant/affine.h"
#include "qtool/quant/requantize.h"

namespace qtool {

/// The constant parameters of a QuantizeLinear or DequantizeLinear node.
struct LinearParams {
  std::vector<float> scales;              ///< one, or one per index of `axis`
  std::vector<std::int32_t> zero_points;  ///< as many
  std::int64_t axis = 0;
  DType dtype = DType::kUInt8;  ///< of the quantized side
  [[nodiscard]] bool per_tensor() const { return scales.size() == 1; }
  [[nodiscard]] Affine affine() const { return {scales[0], zero_points[0]}; }
};

/// Recognises the parts of Q/DQ clusters in a shaped graph: the quantized form of a node's inputs,
/// and the QuantizeLinear of its result. Graph outputs are never absorbed.
class Clusters {
 public:
  Clusters(ShapedGraph& shaped_graph, Requantization how)
      : shaped(shaped_graph), graph(shaped_graph.graph), requantization(how) {}

  /// An activation that exists as u8, one scale for the tensor: `quantized` stands for a real
  /// value.
  struct Source {
    ValueId quantized;
    Affine affine;
  };
  /// The quantized result of a node.
  struct Sink {
    ValueId quantized;
    QuantizedResult result;
    std::vector<NodeId> absorbed;  ///< activation and QuantizeLinear, in order
  };
  /// Constant weights behind a DequantizeLinear, as s8 (u8 ones relabelled by -128).
  struct Weights {
    std::shared_ptr<const Tensor> values;
    LinearParams params;
  };

  [[nodiscard]] std::optional<LinearParams> linear_params(NodeId id) const;
  [[nodiscard]] std::optional<Source> source(ValueId real) const;
  [[nodiscard]] std::optional<Sink> sink(NodeId producer) const;
  [[nodiscard]] std::optional<Weights> weights(ValueId real) const;
  /// The values of a constant: a float32 initializer, or a dequantized one; empty otherwise.
  [[nodiscard]] std::vector<double> constant_reals(ValueId real) const;

  /// Makes `id` the integer operator `op_type`: it keeps its name and attributes, reads `inputs`,
  /// and writes the sink's quantized tensor (or its own output when there is no sink). Absorbed
  /// nodes are disconnected.
  void replace(NodeId id, std::string_view op_type, const std::vector<ValueId>& inputs,
               const std::optional<Sink>& sink, LoweredParams params);

  ShapedGraph& shaped;
  Graph& graph;
  const Requantization requantization;
};

}  // namespace qtool

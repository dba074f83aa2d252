#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lower/specialize.h"
#include "ops/lowered.h"
#include "qtool/quant/affine.h"

namespace qtool {

/// The byte of a bound of a Relu or Clip; the first or last byte for an infinite one.
std::int32_t quantized_bound(float bound, const Affine& affine);

/// Whether all multipliers are finite. Scales of very different magnitude can have ratios or
/// products beyond the range of floats. No kernel may multiply by these, so such a node stays in
/// FP32.
bool are_finite(std::initializer_list<float> multipliers);

/// Recognises the parts of Q/DQ clusters in a shaped graph: the quantized form of a node's inputs,
/// and the QuantizeLinear of its result. Graph outputs are never absorbed.
class Clusters {
 public:
  Clusters(ShapedGraph& shaped_graph, Requantization how)
      : shaped(shaped_graph), graph(shaped_graph.graph), requantization(how) {}

  /// A real activation that also exists as the u8 tensor `quantized`, with one scale for the
  /// tensor.
  struct Source {
    ValueId quantized;
    Affine affine;
  };
  /// The inputs of a node that reads real activations only.
  struct Sources {
    std::vector<ValueId> quantized;
    std::vector<Affine> affines;
  };
  /// The quantized result of a node.
  struct Sink {
    ValueId quantized;
    QuantizedResult result;
    std::vector<NodeId> absorbed;  ///< activation and QuantizeLinear, in order
  };
  /// A tensor that an Add adds to the result of a convolution, and the quantized result of that
  /// Add.
  struct Residual {
    Source source;
    Sink sink;  ///< absorbs the Add too
  };
  /// Constant weights that a DequantizeLinear reads, as s8. For u8 weights, 128 is subtracted from
  /// values and zero points.
  struct Weights {
    std::shared_ptr<const Tensor> values;
    Affines affines;  ///< with zero points
  };

  /// Scales and zero points of a QuantizeLinear or DequantizeLinear, one zero point per scale.
  /// Nothing when they are not constants, or a scale is not a positive, finite number.
  [[nodiscard]] std::optional<Affines> affines(NodeId id) const;
  /// The type of the integers that a QuantizeLinear writes or a DequantizeLinear reads.
  [[nodiscard]] DType integer_type(NodeId id) const;
  /// The affine map of a QuantizeLinear or DequantizeLinear between a real tensor and a u8 tensor
  /// with one scale for the tensor. Nothing for any other node.
  [[nodiscard]] std::optional<Affine> u8_affine(NodeId id) const;
  [[nodiscard]] std::optional<Source> source(ValueId real) const;
  /// All inputs of a node. Nothing if one has no source, or if its scale cannot be changed to that
  /// of `result`.
  [[nodiscard]] std::optional<Sources> sources(NodeId id, const Affine& result) const;
  [[nodiscard]] std::optional<Sink> sink(NodeId producer) const;
  /// The residual that the kernel of `producer`, a convolution of images, can add. Conditions: only
  /// an Add reads the result of the convolution; the other operand of the Add is quantized and
  /// broadcasts to the shape of that result; the result of the Add is quantized; the scale of the
  /// residual is at most kMaxResidualMultiplier times the scale of that result.
  [[nodiscard]] std::optional<Residual> residual(NodeId producer) const;
  [[nodiscard]] std::optional<Weights> weights(ValueId real) const;
  /// The values of a constant: a float32 initializer, or a dequantized one; empty otherwise.
  [[nodiscard]] std::vector<double> constant_reals(ValueId real) const;

  /// Makes `id` the integer operator `op_type`: it keeps its name and attributes, reads `inputs`,
  /// and writes the sink's quantized tensor (or its own output when there is no sink). Absorbed
  /// nodes are disconnected.
  void replace(NodeId id, std::string_view op_type, const std::vector<ValueId>& inputs,
               const std::optional<Sink>& sink, LoweredParams params);

  /// A view of `value` with another shape, made before the node `before`.
  [[nodiscard]] ValueId reshaped(ValueId value, const Shape& shape, NodeId before);
  /// Makes `id` write its output 0 with the shape `shape`. A view with the old shape takes its
  /// place for all readers.
  void reshape_output(NodeId id, const Shape& shape);

  ShapedGraph& shaped;
  Graph& graph;
  const Requantization requantization;

 private:
  [[nodiscard]] ValueId add_dims(const Shape& shape);
};

}  // namespace qtool

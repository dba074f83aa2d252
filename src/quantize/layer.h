#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "qtool/graph/graph.h"
#include "qtool/quantize/target.h"
#include "qtool/tensor/tensor.h"
#include "quantize/rounding/input_moments.h"
#include "quantize/weights/weight_layout.h"
#include "quantize/weights/weights.h"

// Layers with constant weights become integers in stages, the same ones in every mode:
// begin_layer(), choose_scales(), round_weights() (rounding.h), where ranges are known
// correct_bias() (bias_correction.h), then the emission of the mode.
namespace qtool {

/// What is known about the input of a layer. Rounding and bias correction may use it.
struct LayerInput {
  std::optional<Affine> affine;           ///< nothing where the input stays FP32
  std::span<const float> channel_means;   ///< of the FP32 network, by input channel; empty: unknown
  const InputMoments* moments = nullptr;  ///< of what the weights multiply; null: unknown
  const InputSamples* samples = nullptr;  ///< some of what the weights multiply; null: unknown
  PassedInterval passed = {};             ///< of the results
  /// Whether something takes back what rounding adds to the mean of the outputs.
  bool mean_is_corrected = false;
};

/// A Conv, ConvTranspose, Gemm or MatMul on its way to integers. Each stage fills in the members of
/// its own.
struct Layer {
  // begin_layer()
  NodeId node = kNoNode;
  WeightPorts ports;
  LayerInput input;
  Tensor weights;           ///< real, as the layer multiplies them, in the node's layout
  std::vector<float> bias;  ///< real, one per output channel; zeros if the node has none
  Scheme scheme;            ///< of the weights
  WeightLayout layout;      ///< of `weights`

  // choose_scales()
  Affines affines;

  // round_weights()
  Tensor integers;  ///< int8, in the shape of `weights`
};

/// The real weights and bias of a node with `ports`.
Layer begin_layer(const Graph& graph, NodeId node, const WeightPorts& ports, const Scheme& scheme,
                  LayerInput input = {});

/// Chooses the affine maps of the weights: `given` if there are some, otherwise those of the weight
/// method `method`. Where the input has a scale, scales are raised until the bias fits int32.
/// Throws as choose_weight_affines(). Cost: the method's.
void choose_scales(Layer& layer, std::string_view method, Granularity granularity,
                   std::optional<Affines> given = std::nullopt, int threads = 0);

}  // namespace qtool

#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "qtool/graph/graph.h"
#include "qtool/quantize/target.h"
#include "qtool/tensor/tensor.h"
#include "quantize/rounding/input_moments.h"
#include "quantize/weights/integer_weights.h"
#include "quantize/weights/weight_layout.h"
#include "quantize/weights/weight_ports.h"

// Layers with constant weights become integers in stages. The stages are the same in every mode:
// begin_layer(), choose_scales(), round_weights() (rounding.h), correct_bias() (bias_correction.h)
// if the bias shifts are known, then the emission of the mode.
namespace qtool {

/// Data about the input and output of a layer, for rounding and bias correction.
struct LayerInput {
  std::optional<Affine> affine;           ///< nothing if the input stays FP32
  std::span<const float> channel_means;   ///< of the FP32 network, by input channel; empty: unknown
  const InputMoments* moments = nullptr;  ///< of vectors that the weights multiply; null: unknown
  const InputSamples* samples = nullptr;  ///< some of these vectors; null: unknown
  PassedInterval passed = {};             ///< of the layer's results
  /// Whether bias correction removes the change that rounding makes to the mean of the outputs.
  bool mean_is_corrected = false;
};

/// A Conv, ConvTranspose, Gemm, MatMul or recurrent layer on its way to integers. Each stage fills
/// in its own members.
struct Layer {
  // begin_layer()
  NodeId node = kNoNode;
  WeightPorts ports;
  LayerInput input;
  Tensor weights;               ///< real, as the layer multiplies them, in the node's layout
  std::vector<float> bias;      ///< real, one per output channel; zeros if the node has none
  Scheme scheme;                ///< of the weights
  WeightLayout layout;          ///< of `weights`
  std::int32_t pair_limit = 0;  ///< of the integers, see pair_limit_of(); 0: none

  // choose_scales()
  Affines affines;

  // round_weights()
  Tensor integers;  ///< int8, in the shape of `weights`
};

/// The layer of a node with `ports`: its real weights and bias, its scheme and its layout.
Layer begin_layer(const Graph& graph, NodeId node, const WeightPorts& ports, const Scheme& scheme,
                  LayerInput input = {});

/// Sets the affine maps of the weights: `given` if it has a value, otherwise the maps that the
/// weight method `method` chooses. If the input has a scale, weight scales are raised until the
/// bias fits int32. Scales that the method chooses are also raised as fit_scales_to_pairs() does.
/// Throws as choose_weight_affines(). Cost: the method's.
void choose_scales(Layer& layer, std::string_view method, Granularity granularity,
                   std::optional<Affines> given = std::nullopt, int threads = 0);

}  // namespace qtool

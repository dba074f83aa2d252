#include "quantize/rewrites/equalize_per_tensor_network.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "quantize/disjoint_sets.h"
#include "quantize/rewrites/equalize_per_tensor.h"
#include "quantize/rewrites/layer_sensitivity.h"
#include "quantize/weights/weight_layout.h"

namespace qtool {
namespace {

class Problem {
 public:
  explicit Problem(const SharedNetwork& network)
      : network_(network),
        gain_(network.groups.size(), 0.0),
        variable_(network.groups.size(), kNoVariable) {}

  IdMap<ChannelGroup, double> solve() {
    number_variables();
    const std::vector<KnownLayer> layers = known_layers();
    for (const KnownLayer& layer : layers) add_gain(layer);
    for (const KnownLayer& layer : layers) add(layer);
    for (const RoundedTensor& tensor : network_.tensors) add(tensor);
    std::vector<double> by_variable = shared_scale_factors(layers_, tensors_, variables_);
    keep_ranges(by_variable);
    IdMap<ChannelGroup, double> factors(network_.groups.size(), 1.0);
    for (std::size_t g = 0; g < factors.size(); ++g) {
      const auto group = static_cast<ChannelGroup>(g);
      const std::size_t v = variable_[network_.groups.root(group)];
      if (v != kNoVariable) factors[group] = factor_of_step(step_from(by_variable[v]));
    }
    return factors;
  }

 private:
  /// Numbers the variables: one for each free group.
  void number_variables() {
    for (std::size_t g = 0; g < variable_.size(); ++g) {
      const auto group = static_cast<ChannelGroup>(g);
      if (is_free(group) && network_.groups.root(group) == group) variable_[group] = variables_++;
    }
    for (const RoundedTensor& tensor : network_.tensors) {
      if (tensor.is_clipped) join_clipped(tensor);
    }
  }

  /// Channels that reach the bound of a Clip must share one factor. Otherwise saturation would cut
  /// some of them off at another bound.
  void join_clipped(const RoundedTensor& tensor) {
    constexpr double kNear = 0.999;
    const double bound = *std::ranges::max_element(tensor.up);
    const std::vector<ChannelGroup> channels = network_.groups.channels(tensor.id);
    std::size_t joined = kNoVariable;
    for (std::size_t c = 0; c < channels.size(); ++c) {
      if (!is_free(channels[c]) || tensor.up[c] < kNear * bound) continue;
      std::size_t& variable = variable_[channels[c]];
      if (joined == kNoVariable) joined = variable;
      variable = joined;
    }
  }

  [[nodiscard]] std::vector<std::size_t> variables_of(ValueId id) const {
    std::vector<std::size_t> variables;
    for (const ChannelGroup group : network_.groups.channels(id)) {
      variables.push_back(is_free(group) ? variable_[group] : kNoVariable);
    }
    return variables;
  }

  /// A layer with known models of its input channels.
  struct KnownLayer {
    const ScalableLayer* layer = nullptr;
    std::vector<ChannelModel> models;
    LayerSensitivity sensitivity;
  };

  [[nodiscard]] std::vector<KnownLayer> known_layers() const {
    std::vector<KnownLayer> known;
    for (const ScalableLayer& layer : network_.groups.layers()) {
      std::vector<ChannelModel> models = network_.models(network_.graph.node(layer.node).inputs[0]);
      if (models.empty()) continue;
      LayerSensitivity sensitivity = sensitivity_of(network_.graph, layer, models, network_.target);
      if (sensitivity.power <= 0.0) continue;
      known.push_back({&layer, std::move(models), std::move(sensitivity)});
    }
    return known;
  }

  /// Adds, for each group, the noise in the layer's results per unit of noise in the group, as a
  /// share of the power of the results.
  void add_gain(const KnownLayer& known) {
    const LayerSensitivity& sensitivity = known.sensitivity;
    const std::vector<ChannelGroup> channels =
        network_.groups.channels(network_.graph.node(known.layer->node).inputs[0]);
    for (std::size_t c = 0; c < channels.size() && c < sensitivity.gain.size(); ++c) {
      gain_[channels[c]] += sensitivity.gain[c] / sensitivity.power;
    }
  }

  void add(const KnownLayer& known) {
    const ScalableLayer& layer = *known.layer;
    const Node& node = network_.graph.node(layer.node);
    SharedLayer shared;
    shared.inputs = variables_of(node.inputs[0]);
    shared.outputs = variables_of(node.outputs[0]);
    if (known.models.size() != shared.inputs.size() ||
        std::ssize(shared.outputs) != layer.ports.channels) {
      return;
    }
    shared.steps = limits_of(weight_scheme(network_.graph, layer.node, network_.target)).max;
    const std::vector<ChannelGroup> outputs = network_.groups.channels(node.outputs[0]);
    for (const ChannelGroup group : outputs) {
      shared.gain.push_back(is_free(group) ? gain_[group] : 1.0 / known.sensitivity.power);
    }
    const Tensor& weights = *network_.graph.value(layer.ports.weight).constant;
    const WeightLayout layout = layout_of(network_.graph, layer.node, layer.ports, weights.shape());
    for (const ChannelModel& model : known.models) {
      shared.power.push_back(model.power() * static_cast<double>(layout.taps));
    }
    const auto w = weights.values<float>();
    for (std::int64_t o = 0; o < layer.ports.channels; ++o) {
      for (std::int64_t i = 0; i < layout.inputs; ++i) {
        SharedPair pair{static_cast<std::size_t>(o),
                        static_cast<std::size_t>(layout.input_channel(o, i)), 0.0};
        for (std::int64_t tap = 0; tap < layout.taps; ++tap) {
          const float value = w[static_cast<std::size_t>(layout.first(o, i) + tap)];
          pair.largest = std::max(pair.largest, std::abs(static_cast<double>(value)));
        }
        shared.pairs.push_back(pair);
      }
    }
    layers_.push_back(std::move(shared));
  }

  void add(const RoundedTensor& tensor) {
    SharedTensor shared;
    shared.channels = variables_of(tensor.id);
    shared.up = tensor.up;
    shared.down = tensor.down;
    const Limits limits = limits_of(network_.target.activations);
    shared.steps = limits.max - limits.min;
    for (const ChannelGroup group : network_.groups.channels(tensor.id)) {
      shared.gain.push_back(is_free(group) ? gain_[group] : 0.0);
    }
    tensors_.push_back(std::move(shared));
  }

  /// Multiplies all factors that depend on each other by one common factor, so that no range gets
  /// wider.
  void keep_ranges(std::vector<double>& by_variable) const {
    DisjointSets sets(variables_);
    for (const SharedTensor& tensor : tensors_) {
      std::size_t first = kNoVariable;
      for (const std::size_t v : tensor.channels) {
        if (v == kNoVariable) continue;
        if (first == kNoVariable) first = v;
        sets.join(first, v);
      }
    }
    std::vector<char> is_fixed(variables_, 0);  // 1: a channel of its tensor keeps the factor 1
    for (const SharedTensor& tensor : tensors_) {
      if (std::ranges::find(tensor.channels, kNoVariable) == tensor.channels.end()) continue;
      for (const std::size_t v : tensor.channels) {
        if (v != kNoVariable) is_fixed[sets.root(v)] = 1;
      }
    }
    std::vector<double> wider(variables_, 0.0);
    for (const SharedTensor& tensor : tensors_) {
      for (const std::vector<double>* reach : {&tensor.up, &tensor.down}) {
        const double before = reach->empty() ? 0.0 : *std::ranges::max_element(*reach);
        for (std::size_t c = 0; before > 0.0 && c < reach->size(); ++c) {
          const std::size_t v = tensor.channels[c];
          if (v == kNoVariable) continue;
          double& most = wider[sets.root(v)];
          most = std::max(most, (*reach)[c] / by_variable[v] / before);
        }
      }
    }
    for (std::size_t v = 0; v < variables_; ++v) {
      const std::size_t r = sets.root(v);
      if (wider[r] > 0.0 && is_fixed[r] == 0) by_variable[v] *= wider[r];
    }
  }

  const SharedNetwork& network_;
  IdMap<ChannelGroup, double> gain_;
  IdMap<ChannelGroup, std::size_t> variable_;
  std::size_t variables_ = 0;
  std::vector<SharedLayer> layers_;
  std::vector<SharedTensor> tensors_;
};

}  // namespace

RoundedTensor rounded_tensor(ValueId id, const Observed& observed, double samples,
                             const Range& kept) {
  RoundedTensor tensor;
  tensor.id = id;
  for (std::size_t c = 0; c < observed.channel_maxs.size(); ++c) {
    const Range reach = ChannelModel(observed, c, samples).reach();
    tensor.up.push_back(std::clamp(double{reach.max}, 0.0, std::max(0.0, double{kept.max})));
    tensor.down.push_back(std::clamp(-double{reach.min}, 0.0, std::max(0.0, -double{kept.min})));
  }
  return tensor;
}

IdMap<ChannelGroup, double> factors_for_shared_scales(const SharedNetwork& network) {
  return Problem(network).solve();
}

}  // namespace qtool

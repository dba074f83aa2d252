// Cross-layer equalization from the table alone.
#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <map>
#include <memory>
#include <unordered_map>

#include "base/text.h"
#include "graph/constant_float.h"
#include "graph/id_map.h"
#include "qtool/base/error.h"
#include "qtool/quantize/coverage.h"
#include "quantize/activation_affines.h"
#include "quantize/rewrites/channel_groups.h"
#include "quantize/rewrites/channel_noise.h"
#include "quantize/rewrites/equalize_per_tensor_network.h"
#include "quantize/rewrites/inserted_factors.h"
#include "quantize/rewrites/layer_sensitivity.h"
#include "quantize/rewrites/rewrite.h"
#include "quantize/rewrites/scaled_channels.h"
#include "quantize/table_view.h"
#include "quantize/weights/weight_layout.h"

namespace qtool {
namespace {

/// The share of the observed values of a channel that count as independent: neighbouring positions
/// of an image are alike. Measured: with 1, a network loses more on images other than those of the
/// calibration; with 0.01, half of the gain is lost.
constexpr double kIndependent = 0.1;

Range channel_range(const Observed& observed, std::size_t channel) {
  return {observed.channel_mins[channel], observed.channel_maxs[channel]};
}

/// The range that integers keep of a tensor.
struct KeptRange {
  Range range;
  double scale = 1.0;
  bool widened = false;  ///< beyond the range of the table
};

/// Chooses a factor for each group of channels, and applies the factors to graph and table.
class Equalizer {
 public:
  Equalizer(Rewritten& network, const RewriteContext& context)
      : graph_(network.graph),
        table_(network.table),
        scaled_(network.scaled),
        values_before_(network.graph.value_limit()),
        context_(context) {
    for (ActivationEntry& entry : table_.activations) {
      if (const auto id = graph_.find_value(entry.tensor)) entries_.emplace(*id, &entry);
    }
  }

  RewriteOutcome run() {
    if (std::none_of(table_.activations.begin(), table_.activations.end(),
                     [](const ActivationEntry& e) { return !e.observed.channel_maxs.empty(); })) {
      return {0, "the table has no statistics per channel"};
    }
    factors_ = add_channel_factors(graph_, context_.placement.functions);
    std::ranges::copy(add_channel_factors(graph_, context_.placement.inner_functions),
                      std::back_inserter(factors_));
    const RewriteOutcome outcome = scale();
    remove_idle_factors(graph_, factors_);
    return outcome;
  }

 private:
  RewriteOutcome scale() {
    try {
      groups_.emplace(graph_, typical_shapes(graph_, table_.preprocess.value_or(Preprocess())),
                      factors_);
    } catch (const Error& error) {
      if (error.code() == ErrorCode::kCancelled) throw;
      return {0, to_text("the shapes of its tensors are not known: ", error.what())};
    }
    collect_ranges();
    if (shares_scales()) {
      choose_shared_factors();
    } else {
      find_readers();
      add_up_noise();
      choose_factors();
    }
    const std::int64_t tensors = scale_table();
    if (tensors == 0) return {0, "no channels between layers can be scaled"};
    for (const ScalableLayer& layer : groups_->layers()) scale_layer(layer);
    for (const ChannelFactor& factor : factors_) scale_factor(factor);
    scaled_ = scaled_channels(values_before_);
    return {tensors, {}};
  }

  /// Collects the range that integers keep of each tensor whose channels may be scaled. Locks the
  /// other tensors.
  void collect_ranges() {
    const TableView view(graph_, table_, context_.target);
    const ActivationAffines affines =
        choose_activation_affines(graph_, context_.placement, context_.target, view);
    for (const ValueId id : context_.placement.quantized) {
      if (context_.placement.source[id] != id) continue;
      const ActivationEntry* entry = entry_of(id);
      const Affine affine = affines.by_value[id].value();
      const Range range = represented_range(affine, limits_of(context_.target.activations));
      if (entry == nullptr || entry->origin == Origin::kUser ||
          entry->degenerate != Degenerate::kNo || beyond_clip(id, range) ||
          entry->observed.channel_maxs.empty() || !observes_groups(id, entry->observed)) {
        groups_->lock(id);
      } else {
        ranges_.emplace(id, KeptRange{range, affine.scale});
      }
    }
    // The upper bound of a Clip is not scaled. Only saturation can replace it.
    for (const NodeId id : graph_.nodes()) {
      const Node& node = graph_.node(id);
      if (node.is("Clip") && node.has_input(2) && !ranges_.contains(node.outputs[0])) {
        groups_->lock(node.outputs[0]);
      }
    }
  }

  /// Whether the channels that calibration observed are those of the groups.
  [[nodiscard]] bool observes_groups(ValueId id, const Observed& observed) const {
    return observed.channel_means.size() == groups_->channels(id).size() &&
           groups_->is_observed_along_axis(id);
  }

  /// Whether integers would keep values that a Clip before them cuts off. If not, saturation does
  /// the same as the Clip, for each channel at its own bound.
  [[nodiscard]] bool beyond_clip(ValueId id, const Range& range) const {
    const NodeId producer = graph_.value(id).producer;
    if (producer == kNoNode) return false;
    const Node& node = graph_.node(producer);
    if (!node.is("Clip") || !node.has_input(2)) return false;
    const std::optional<float> bound = constant_float(graph_, node.inputs[2]);
    constexpr float kNudge = 1.0001F;
    return bound && range.max > *bound * kNudge;
  }

  [[nodiscard]] bool is_mean(ValueId id) const {
    const NodeId producer = graph_.value(id).producer;
    return producer != kNoNode && graph_.node(producer).is("GlobalAveragePool");
  }

  [[nodiscard]] bool is_behind_function(ValueId id) const {
    return std::ranges::any_of(factors_, [&](const ChannelFactor& factor) {
      return factor.behind && graph_.node(factor.node).outputs[0] == id;
    });
  }

  /// Finds the layers that read a tensor, directly or after nodes that pass its channels on
  /// unchanged.
  void find_readers() {
    readers_.resize(graph_.value_limit());
    for (std::size_t i = 0; i < groups_->layers().size(); ++i) {
      const ValueId input = graph_.node(groups_->layers()[i].node).inputs[0];
      const ValueId source = context_.placement.source[input];
      if (groups_->channels(input) != groups_->channels(source)) continue;
      readers_[source].push_back(i);
    }
  }

  /// Adds up the relative noise that each factor would give each group, over all tensors.
  void add_up_noise() {
    noise_.resize(groups_->size());
    least_.resize(groups_->size(), 0.0);
    for (auto& [id, kept] : ranges_) {
      // The means of a tensor over an image need a smaller range than the tensor itself.
      if (is_mean(id)) continue;
      const Observed& observed = entry_of(id)->observed;
      const std::vector<ChannelGroup> channels = groups_->channels(id);
      const std::vector<ChannelModel> models = models_of(observed);
      double power = 0.0;
      for (const ChannelModel& model : models) power += model.power();
      if (power <= 0.0) continue;
      std::vector<LayerSensitivity> layers;
      for (const std::size_t reader : readers_[id]) {
        const ScalableLayer& layer = groups_->layers()[reader];
        layers.push_back(sensitivity_of(graph_, layer, models, context_.target));
        if (layers.back().power <= 0.0) layers.pop_back();
      }
      std::vector<double> gains(channels.size(), layers.empty() ? 1.0 / power : 0.0);
      for (const LayerSensitivity& layer : layers) {
        for (std::size_t c = 0; c < gains.size(); ++c) gains[c] += layer.gain[c] / layer.power;
      }
      if (is_behind_function(id)) {
        std::vector<ChannelUse> uses;
        for (std::size_t c = 0; c < channels.size(); ++c) {
          uses.push_back({models[c], channel_range(observed, c), gains[c], is_free(channels[c])});
        }
        const Range range = widen_range(kept.range, kept.scale, uses);
        kept = {range, kept.scale * width(range) / width(kept.range), range != kept.range};
      }
      for (std::size_t c = 0; c < channels.size(); ++c) {
        double& least = least_[channels[c]];
        least = std::max(least, used_share(channel_range(observed, c), kept.range));
      }
      for (std::size_t c = 0; c < channels.size(); ++c) {
        if (!is_free(channels[c])) continue;
        for (std::size_t k = 0; k < kFactorSteps; ++k) {
          const double r = factor_at(k);
          const double activation =
              models[c].noise(kept.scale * r, kept.range.min * r, kept.range.max * r);
          double& noise = noise_[channels[c]][k];
          if (layers.empty()) noise += activation / power;
          for (const LayerSensitivity& layer : layers) {
            noise += (activation * layer.gain[c] + layer.weight[c] / (r * r)) / layer.power;
          }
        }
      }
    }
  }

  void choose_factors() {
    factor_.resize(groups_->size(), 1.0);
    for (std::size_t g = 0; g < factor_.size(); ++g) {
      const auto group = static_cast<ChannelGroup>(g);
      if (!is_free(group) || groups_->root(group) != group || least_[group] <= 0.0) continue;
      const std::array<double, kFactorSteps>& noise = noise_[group];
      std::size_t best = 0;
      for (std::size_t k = 1; k < kFactorSteps && factor_at(k) >= least_[group]; ++k) {
        if (noise[k] < noise[best]) best = k;
      }
      factor_[group] = factor_at(best);
    }
  }

  /// Whether all weights of a layer have one scale, which then depends on the factors.
  [[nodiscard]] bool shares_scales() const {
    return context_.target.weight_granularity == Granularity::kPerTensor;
  }

  void choose_shared_factors() {
    std::vector<RoundedTensor> tensors;
    for (const auto& [id, kept] : ranges_) {
      if (is_mean(id)) continue;
      tensors.push_back(rounded_tensor(id, kept.range));
      const NodeId producer = graph_.value(id).producer;
      tensors.back().is_clipped = producer != kNoNode && graph_.node(producer).is("Clip");
    }
    factor_ = factors_for_shared_scales({graph_, context_.target, *groups_, tensors,
                                         [&](ValueId input) { return models_of(input); }});
  }

  /// Models of the channels of a layer's input, or of the tensor from which that input is moved.
  [[nodiscard]] std::vector<ChannelModel> models_of(ValueId input) {
    const ValueId source = context_.placement.source[input];
    const ActivationEntry* entry = entry_of(source);
    const std::vector<ChannelGroup> channels = groups_->channels(input);
    if (entry == nullptr || !observes_groups(source, entry->observed) ||
        channels != groups_->channels(source)) {
      return {};
    }
    return models_of(entry->observed);
  }

  static std::vector<ChannelModel> models_of(const Observed& observed) {
    std::vector<ChannelModel> models;
    for (std::size_t c = 0; c < observed.channel_maxs.size(); ++c) {
      models.emplace_back(observed, c, independent(observed));
    }
    return models;
  }

  static double independent(const Observed& observed) {
    return kIndependent * static_cast<double>(observed.count) /
           static_cast<double>(observed.channel_maxs.size());
  }

  [[nodiscard]] RoundedTensor rounded_tensor(ValueId id, const Range& kept) {
    const Observed& observed = entry_of(id)->observed;
    return qtool::rounded_tensor(id, observed, independent(observed), kept);
  }

  [[nodiscard]] double factor(ChannelGroup group) const { return factor_[group]; }

  std::int64_t scale_table() {
    std::int64_t changed = 0;
    for (const auto& [id, entry] : entries_) {
      const std::vector<double> factors = factors_of(groups_->channels(id));
      Observed& observed = entry->observed;
      if (!any_scaled(factors) || observed.channel_means.empty()) continue;
      if (!observes_groups(id, observed)) {
        forget_channels(observed);
        continue;
      }
      ++changed;
      const auto range = ranges_.find(id);
      if (range != ranges_.end() && (is_mean(id) || shares_scales())) {
        set_range(*entry, rounded_tensor(id, range->second.range), factors);
      }
      if (range != ranges_.end() && range->second.widened) {
        entry->range = range->second.range;
        entry->affine = choose_affine(entry->range, context_.target.activations);
      }
      divide_channels(observed, factors);
    }
    return changed;
  }

  /// Sets the range that covers `kept` of each channel, divided by the factor of the channel.
  void set_range(ActivationEntry& entry, const RoundedTensor& kept,
                 const std::vector<double>& factors) const {
    double low = 0.0;
    double high = 0.0;
    for (std::size_t c = 0; c < factors.size(); ++c) {
      high = std::max(high, kept.up[c] / factors[c]);
      low = std::min(low, -kept.down[c] / factors[c]);
    }
    entry.range = {static_cast<float>(low), static_cast<float>(high)};
    entry.affine = choose_affine(entry.range, context_.target.activations);
  }

  [[nodiscard]] std::vector<double> factors_of(const std::vector<ChannelGroup>& groups) const {
    std::vector<double> factors;
    for (const ChannelGroup group : groups) factors.push_back(factor(group));
    return factors;
  }

  static bool any_scaled(const std::vector<double>& factors) {
    return std::ranges::any_of(factors, [](double by) { return by != 1.0; });
  }

  void scale_layer(const ScalableLayer& layer) {
    const Node& node = graph_.node(layer.node);
    const WeightPorts& ports = layer.ports;
    const std::vector<double> in = factors_of(groups_->channels(node.inputs[0]));
    const std::vector<double> out = factors_of(groups_->channels(node.outputs[0]));
    if (!any_scaled(in) && !any_scaled(out)) return;
    Tensor weights = graph_.value(ports.weight).constant->clone();
    scale_weights(graph_, layer.node, ports, in, out, weights);
    graph_.set_constant(ports.weight, std::make_shared<const Tensor>(std::move(weights)));
    if (!any_scaled(out) || ports.bias == kNoValue) return;
    Tensor bias = graph_.value(ports.bias).constant->clone();
    const auto b = bias.values<float>();
    for (std::size_t o = 0; o < b.size(); ++o) b[o] = static_cast<float>(b[o] / out[o]);
    graph_.set_constant(ports.bias, std::make_shared<const Tensor>(std::move(bias)));
  }

  /// The tensors of the network before this rewrite whose channels are divided by factors now.
  [[nodiscard]] ScaledChannels scaled_channels(std::size_t values_before) const {
    ScaledChannels scaled;
    for (std::size_t v = 0; v < values_before; ++v) {
      const auto id = static_cast<ValueId>(v);
      const Value& value = graph_.value(id);
      if (value.constant != nullptr) continue;
      std::vector<double> factors = factors_of(groups_->channels(id));
      if (any_scaled(factors)) {
        scaled.tensors.emplace(value.name, ChannelScaling{groups_->axis(id), std::move(factors)});
      } else if (any_scaled(factors_of(groups_->elements(id)))) {
        scaled.tensors.emplace(value.name, ChannelScaling());
      }
    }
    return scaled;
  }

  void scale_factor(const ChannelFactor& channel) {
    const Node& node = graph_.node(channel.node);
    const std::vector<ChannelGroup> inputs = groups_->channels(node.inputs[0]);
    const std::vector<ChannelGroup> outputs = groups_->channels(node.outputs[0]);
    Tensor factors = graph_.value(channel.factors).constant->clone();
    const auto values = factors.values<float>();
    for (std::size_t c = 0; c < values.size(); ++c) {
      const double in = c < inputs.size() ? factor(inputs[c]) : 1.0;
      const double out = c < outputs.size() ? factor(outputs[c]) : 1.0;
      values[c] = static_cast<float>(values[c] * in / out);
    }
    graph_.set_constant(channel.factors, std::make_shared<const Tensor>(std::move(factors)));
  }

  ActivationEntry* entry_of(ValueId id) {
    const auto found = entries_.find(id);
    return found == entries_.end() ? nullptr : found->second;
  }

  Graph& graph_;
  CalibrationTable& table_;
  ScaledChannels& scaled_;
  std::size_t values_before_;
  const RewriteContext& context_;
  std::unordered_map<ValueId, ActivationEntry*> entries_;
  std::vector<ChannelFactor> factors_;
  std::optional<ChannelGroups> groups_;
  std::map<ValueId, KeptRange> ranges_;               ///< of tensors whose channels may be scaled
  IdMap<ValueId, std::vector<std::size_t>> readers_;  ///< indices of layers
  IdMap<ChannelGroup, std::array<double, kFactorSteps>> noise_;  ///< for each factor
  IdMap<ChannelGroup, double> least_;  ///< factor that uses the whole range
  IdMap<ChannelGroup, double> factor_;
};

}  // namespace

RewriteOutcome rewrite_equalize(Rewritten& network, const RewriteContext& context) {
  return Equalizer(network, context).run();
}

}  // namespace qtool

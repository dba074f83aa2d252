#include "quantize/weights/weight_pairs.h"

#include <array>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include "base/parallel.h"
#include "quant/pair_limit.h"

namespace qtool {
namespace {

constexpr std::size_t kVisits = 32768;  // weights times scales that are compared exactly
constexpr std::size_t kPairLanes = 16;

/// Calls pair(first, second) with the places in memory of each pair of a channel, and last(place)
/// for the last weight of an odd number.
template <typename OnPair, typename OnLast>
void each_pair(const WeightLayout& layout, std::int64_t channel, OnPair pair, OnLast last) {
  std::size_t first = 0;
  bool is_second = false;
  for (std::int64_t tap = 0; tap < layout.taps; ++tap) {
    for (std::int64_t input = 0; input < layout.inputs; ++input) {
      const auto at = static_cast<std::size_t>(layout.first(channel, input) + tap);
      if (is_second) pair(first, at);
      first = at;
      is_second = !is_second;
    }
  }
  if (is_second) last(first);
}

constexpr auto kIgnore = [](std::size_t) {};

float squared(float value) { return value * value; }

/// Rounds half to even, without calling a function. For values below 2^22.
float nearest(float value) {
  constexpr float kRound = 12582912.0F;  // 1.5 * 2^23
  return (value + kRound) - kRound;
}

/// The magnitudes of two integers that sum to the limit, nearest to `first` and `second`, which are
/// positive.
std::pair<std::int32_t, std::int32_t> nearest_within(float first, float second, std::int32_t limit,
                                                     std::int32_t largest) {
  const float even = (first - second + static_cast<float>(limit)) / 2.0F;
  const auto least = static_cast<float>(limit - largest);
  const auto chosen =
      static_cast<std::int32_t>(std::clamp(nearest(even), least, static_cast<float>(largest)));
  return {chosen, limit - chosen};
}

/// The weights of one slice, and the search for its scale. Lengths are in steps of the scale before
/// it is raised.
class SliceScale {
 public:
  SliceScale(float scale, std::int32_t limit, std::int32_t largest)
      : scale_(scale), limit_(limit), largest_(static_cast<float>(largest)) {}

  void add(float weight) { weights_.push_back(weight / scale_); }
  void add_pair(float first, float second) {
    add(first);
    add(second);
    const Pair pair{first / scale_, second / scale_};
    // Rounding adds one half to each at most.
    if (exceeds_pair_limit(clipped(pair.first), clipped(pair.second),
                           static_cast<float>(limit_ - 1))) {
      large_.push_back(pair);
    }
  }

  /// The factor of least squared error. Where there are many weights, all factors are tried with
  /// the noise of rounding at its mean, 1/12 of a squared step, and only the best are compared
  /// exactly.
  [[nodiscard]] float factor() {
    if (large_.empty()) return 1.0F;
    weights_.resize((weights_.size() + kPairLanes - 1) / kPairLanes * kPairLanes);
    const std::size_t visits = kVisits / weights_.size();
    const std::size_t steps = std::clamp<std::size_t>(visits, 32, 2048);
    std::vector<std::pair<double, float>> tried(steps + 1);
    for (std::size_t step = 0; step <= steps; ++step) {
      tried[step].second = 1.0F + static_cast<float>(step) / static_cast<float>(steps);
    }
    if (visits < tried.size()) {
      const double noise = static_cast<double>(weights_.size()) / 12.0;
      for (auto& [error, factor] : tried) error = error_of(factor, noise);
      const std::size_t kept = std::max<std::size_t>(visits, 4);
      std::ranges::nth_element(tried, tried.begin() + static_cast<std::ptrdiff_t>(kept));
      tried.resize(kept);
    }
    for (auto& [error, factor] : tried) error = error_of(factor, rounding_noise(factor));
    return std::ranges::min(tried).second;
  }

 private:
  struct Pair {
    float first = 0.0F;
    float second = 0.0F;
  };

  [[nodiscard]] float clipped(float weight) const {
    return std::clamp(weight, -largest_, largest_);
  }
  [[nodiscard]] float rounded(float weight) const { return nearest(clipped(weight)); }
  /// Squared steps of the raised scale.
  [[nodiscard]] float rounding_error(float weight) const {
    return squared(weight - rounded(weight));
  }
  [[nodiscard]] double rounding_noise(float factor) const {
    const float inverse = 1.0F / factor;
    std::array<float, kPairLanes> sums{};
    for (std::size_t i = 0; i < weights_.size(); i += kPairLanes) {
      for (std::size_t lane = 0; lane < kPairLanes; ++lane) {
        sums[lane] += rounding_error(weights_[i + lane] * inverse);
      }
    }
    double sum = 0.0;
    for (const float lane : sums) sum += static_cast<double>(lane);
    return sum;
  }
  /// The squared error if the weights have `noise` when all of them are rounded, and pairs are then
  /// limited.
  [[nodiscard]] double error_of(float factor, double noise) const {
    double error = noise;
    const float inverse = 1.0F / factor;
    for (const Pair& pair : large_) {
      const float a = pair.first * inverse;
      const float b = pair.second * inverse;
      if (!exceeds_pair_limit(rounded(a), rounded(b), static_cast<float>(limit_))) continue;
      const auto [first, second] = nearest_within(std::abs(clipped(a)), std::abs(clipped(b)),
                                                  limit_, static_cast<std::int32_t>(largest_));
      const float limited = squared(std::abs(a) - static_cast<float>(first)) +
                            squared(std::abs(b) - static_cast<float>(second));
      error += static_cast<double>(limited - rounding_error(a) - rounding_error(b));
    }
    return error * static_cast<double>(squared(factor));
  }

  float scale_;
  std::int32_t limit_;
  float largest_;
  std::vector<float> weights_;
  std::vector<Pair> large_;
};

/// The int8 constant from which a DequantizeLinear makes a value; null for other values.
const Tensor* stored_integers(const Graph& graph, ValueId value) {
  const NodeId producer = graph.value(value).producer;
  if (producer == kNoNode || !graph.node(producer).is("DequantizeLinear")) return nullptr;
  const Tensor* stored = graph.value(graph.node(producer).inputs.front()).constant.get();
  return stored != nullptr && stored->dtype() == DType::kInt8 ? stored : nullptr;
}

std::int64_t count_large(const Tensor& stored, const WeightLayout& layout, std::int64_t channels,
                         std::int32_t limit) {
  if (limit == 0) return 0;
  const auto integers = stored.values<std::int8_t>();
  std::int64_t large = 0;
  for (std::int64_t c = 0; c < channels; ++c) {
    const auto count = [&](std::size_t first, std::size_t second) {
      large += exceeds_pair_limit<std::int32_t>(integers[first], integers[second], limit) ? 1 : 0;
    };
    each_pair(layout, c, count, kIgnore);
  }
  return large;
}

}  // namespace

std::int32_t pair_limit_of(const Target& target) {
  if (!target.adds_pairs_in_16_bits) return 0;
  const std::int32_t offset = target.activations.dtype == DType::kInt8 ? 128 : 0;
  return 32767 / (limits_of(target.activations).max + offset);
}

std::int32_t pair_limit_of(const Graph& graph, NodeId node, const WeightLayout& layout,
                           const Target& target) {
  if (!target.adds_pairs_in_16_bits || is_recurrent(graph, node)) return 0;
  if (layout.inputs == 1 && layout.channels_per_group == 1) return 0;  // depthwise
  const Scheme weights = weight_scheme(graph, node, target);
  if (weights.symmetry != Symmetry::kSymmetric) return 0;
  const std::int32_t limit = pair_limit_of(target);
  return 2 * limits_of(weights).max <= limit ? 0 : limit;
}

void fit_scales_to_pairs(Layer& layer, int threads) {
  const auto weights = layer.weights.values<float>();
  const std::int64_t slices = std::ssize(layer.affines.scales);
  const std::int64_t channels = slices == 1 ? layer.ports.channels : 1;
  const std::int32_t largest = limits_of(layer.scheme).max;
  parallel_items(slices, resolve_threads(threads), [&](std::int64_t slice, int) {
    float& scale = layer.affines.scales[static_cast<std::size_t>(slice)];
    SliceScale search(scale, layer.pair_limit, largest);
    for (std::int64_t c = slice * channels; c < (slice + 1) * channels; ++c) {
      each_pair(
          layer.layout, c,
          [&](std::size_t first, std::size_t second) {
            search.add_pair(weights[first], weights[second]);
          },
          [&](std::size_t last) { search.add(weights[last]); });
    }
    scale *= search.factor();
  });
}

void limit_pairs(const Layer& layer, std::span<std::int8_t> integers) {
  const auto weights = layer.weights.values<float>();
  const std::int32_t largest = limits_of(layer.scheme).max;
  for (std::int64_t c = 0; c < layer.ports.channels; ++c) {
    const float scale = layer.affines.at(static_cast<std::size_t>(c)).scale;
    const auto limit = [&](std::size_t first, std::size_t second) {
      std::int8_t& a = integers[first];
      std::int8_t& b = integers[second];
      if (!exceeds_pair_limit<std::int32_t>(a, b, layer.pair_limit)) return;
      const std::int32_t sign = a < 0 ? -1 : 1;
      const auto magnitude = [&](std::size_t at) {
        return std::min(std::abs(weights[at] / scale), static_cast<float>(largest));
      };
      const auto nearest =
          nearest_within(magnitude(first), magnitude(second), layer.pair_limit, largest);
      a = static_cast<std::int8_t>(sign * nearest.first);
      b = static_cast<std::int8_t>(sign * nearest.second);
    };
    each_pair(layer.layout, c, limit, kIgnore);
  }
}

std::optional<std::int64_t> partner_of(const WeightLayout& layout, std::int64_t element) {
  const std::int64_t at = element % layout.taps * layout.inputs + element / layout.taps;
  const std::int64_t other = at % 2 == 0 ? at + 1 : at - 1;
  if (other >= layout.inputs * layout.taps) return std::nullopt;
  return other % layout.inputs * layout.taps + other / layout.inputs;
}

std::int64_t count_large_pairs(const Tensor& integers, const Layer& layer, std::int32_t limit) {
  return count_large(integers, layer.layout, layer.ports.channels, limit);
}

std::int64_t saturating_pairs(const Graph& graph, const Target& target, const Layer& layer) {
  return count_large_pairs(layer.integers, layer,
                           pair_limit_of(graph, layer.node, layer.layout, target));
}

std::int64_t count_large_pairs(const Graph& int8, const Target& target, std::int32_t limit) {
  std::int64_t large = 0;
  for (const NodeId id : int8.nodes()) {
    const Node& node = int8.node(id);
    const Tensor* stored = node.has_input(1) ? stored_integers(int8, node.inputs[1]) : nullptr;
    if (stored == nullptr) continue;
    const std::optional<WeightPorts> ports = weight_ports(node, stored->shape());
    if (!ports) continue;
    const WeightLayout layout = layout_of(int8, id, *ports, stored->shape());
    const bool has_limit = pair_limit_of(int8, id, layout, target) != 0;
    large += count_large(*stored, layout, ports->channels, has_limit ? limit : 0);
  }
  return large;
}

}  // namespace qtool

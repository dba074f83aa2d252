#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <span>
#include <vector>

#include "quantize/layer.h"
#include "quantize/rounding/rounding.h"
#include "quantize/weights/weight_layout.h"
#include "quantize/weights/weight_pairs.h"

namespace qtool {
namespace {

// Added to the diagonal of the inputs' second moments, as a share of its mean, as GPTQ does.
constexpr double kAdaroundDamping = 0.01;
constexpr int kMaxPasses = 2;
constexpr std::size_t kLanes = 16;
constexpr double kMinGain = 1e-4;  // as a share of the error of the output

using Lanes = std::array<float, kLanes>;

double sum_of(const Lanes& lanes) {
  double sum = 0.0;
  for (const float lane : lanes) sum += static_cast<double>(lane);
  return sum;
}

/// The vectors of one group, stored by element: the values of one element are adjacent.
struct Columns {
  std::size_t rows = 0;     // a multiple of kLanes; the rows after the vectors are the mean
  double vectors = 0.0;     // number of vectors
  double ridge = 0.0;       // cost of a weight's squared error, beside its effect on the samples
  std::vector<float> at;    // [depth, rows]
  std::vector<float> mean;  // of each element; 0 if the outputs' mean is not corrected

  [[nodiscard]] std::span<const float> of(std::size_t element) const {
    return std::span(at).subspan(element * rows, rows);
  }
};

Columns columns_of(const Layer& layer, std::int64_t group) {
  const InputSamples& samples = *layer.input.samples;
  const InputMoments& moments = *layer.input.moments;
  const auto depth = static_cast<std::size_t>(moments.depth);
  const auto vectors = static_cast<std::size_t>(samples.rows);
  Columns columns;
  columns.vectors = static_cast<double>(samples.rows);
  columns.rows = (vectors + kLanes - 1) / kLanes * kLanes;
  columns.at.resize(depth * columns.rows);
  columns.mean.resize(depth);
  const float* from = samples.vectors.data() + group * samples.capacity * moments.depth;
  double power = 0.0;
  for (std::size_t k = 0; k < depth; ++k) {
    if (layer.input.mean_is_corrected) {
      const double sum = moments.first[static_cast<std::size_t>(group) * depth + k];
      columns.mean[k] = static_cast<float>(sum / static_cast<double>(moments.rows));
    }
    float* column = columns.at.data() + k * columns.rows;
    std::fill(column + vectors, column + columns.rows, columns.mean[k]);
    for (std::size_t r = 0; r < vectors; ++r) {
      const float value = column[r] = from[r * depth + k];
      const double centred = static_cast<double>(value) - static_cast<double>(columns.mean[k]);
      power += centred * centred;
    }
  }
  // With fewer vectors than elements, the products of pairs of elements are mostly chance.
  const auto count = static_cast<double>(depth);
  const double chance = count / (columns.vectors + count);
  const double step = layer.input.affine ? layer.input.affine->scale : 0.0;
  columns.ridge =
      (kAdaroundDamping + chance) * power / count + step * step / 12.0 * columns.vectors;
  return columns;
}

/// One output channel: its results on the samples, with the FP32 weights and with the integers.
class Channel {
 public:
  Channel(const Columns& columns, const PassedInterval& passed)
      : columns_(columns), passed_(passed), made_(columns.rows), wanted_(columns.rows) {}

  /// Sets the results with the FP32 weights and with the integers to the FP32 results.
  void begin(std::span<const float> weights, float bias) {
    std::fill(made_.begin(), made_.end(), bias);
    for (std::size_t k = 0; k < weights.size(); ++k) {
      const float* x = columns_.of(k).data();
      for (std::size_t r = 0; r < made_.size(); ++r) made_[r] += weights[k] * x[r];
    }
    for (std::size_t r = 0; r < made_.size(); ++r) wanted_[r] = activated(made_[r]);
    error_ = 0.0;
  }

  /// Changes a weight by `change`. The effect on the mean is subtracted.
  void change(std::size_t element, float change) {
    const float* x = columns_.of(element).data();
    const float mean = columns_.mean[element];
    for (std::size_t r = 0; r < made_.size(); ++r) made_[r] += change * (x[r] - mean);
  }

  /// Measures the squared error after the activation, summed over the samples.
  void measure() { error_ = error_with(0, 0.0F); }
  [[nodiscard]] double error() const { return error_; }

  /// The error if a weight were changed by `change`.
  [[nodiscard]] double error_with(std::size_t element, float change) const {
    const float* x = columns_.of(element).data();
    const float mean = columns_.mean[element];
    Lanes sums{};
    for (std::size_t r = 0; r < made_.size(); r += kLanes) {
      for (std::size_t i = 0; i < kLanes; ++i) {
        const float off = activated(made_[r + i] + change * (x[r + i] - mean)) - wanted_[r + i];
        sums[i] += off * off;
      }
    }
    return sum_of(sums);
  }

  /// Half the slope of the error with respect to this weight, with the error after the activation.
  [[nodiscard]] double slope(std::size_t element) const {
    const float* x = columns_.of(element).data();
    const float mean = columns_.mean[element];
    Lanes sums{};
    for (std::size_t r = 0; r < made_.size(); r += kLanes) {
      for (std::size_t i = 0; i < kLanes; ++i) {
        sums[i] += (activated(made_[r + i]) - wanted_[r + i]) * (x[r + i] - mean);
      }
    }
    return sum_of(sums);
  }

 private:
  [[nodiscard]] float activated(float value) const {
    return std::min(std::max(value, passed_.above), passed_.below);
  }

  const Columns& columns_;
  PassedInterval passed_;
  std::vector<float> made_;
  std::vector<float> wanted_;
  double error_ = 0.0;
};

/// Changes the integers of one channel, one integer at a time by one step, as long as that reduces
/// the error. `weights` and `integers`: by element.
void descend(Channel& channel, double ridge, const Layer& layer, std::span<const float> weights,
             const Affine& affine, std::span<std::int32_t> integers) {
  const Limits limits = limits_of(layer.scheme);
  const auto is_allowed = [&](std::size_t k, std::int32_t q) {
    if (q < limits.min || q > limits.max) return false;
    if (layer.pair_limit == 0) return true;
    const auto partner = partner_of(layer.layout, static_cast<std::int64_t>(k));
    return !partner ||
           beside(integers[static_cast<std::size_t>(*partner)], q, layer.pair_limit) == q;
  };
  for (int pass = 0; pass < kMaxPasses; ++pass) {
    bool moved = false;
    for (std::size_t k = 0; k < weights.size(); ++k) {
      const double slope = channel.slope(k);
      const double error = static_cast<double>(affine.scale) * (integers[k] - affine.zero_point) -
                           static_cast<double>(weights[k]);
      // Only the step downhill can reduce the error, because the error is nearly a parabola.
      const std::int32_t step = slope + ridge * error > 0.0 ? -1 : 1;
      const std::int32_t q = integers[k] + step;
      if (!is_allowed(k, q)) continue;
      const float change = affine.scale * static_cast<float>(step);
      const double then = error + static_cast<double>(change);
      const double left = channel.error_with(k, change);
      const double gain = channel.error() - left - ridge * (then * then - error * error);
      if (!(gain > kMinGain * channel.error())) continue;
      integers[k] = q;
      channel.change(k, change);
      channel.measure();
      moved = true;
    }
    if (!moved) return;
  }
}

}  // namespace

/// Adaptive rounding: searches the integers with the least error after the layer's activation, on
/// samples of its input. It begins with the integers of GPTQ. It changes one integer of a channel
/// at a time by one step, as long as this sum falls:
///   sum over samples of (f(w x + b) - f(q x + b'))^2 + ridge e^2
/// Here f is the activation, e = s (q - z) - w, and ridge is the value that GPTQ adds to the
/// diagonal. b' is the bias, minus the mean of the change if the mean is corrected. The first term
/// alone would fit these samples and no others. Without samples the integers of GPTQ stay.
/// Cost per pass: 4 outputs depth samples multiplications. Memory: a second copy of the samples.
/// Source: Nagel et al., Up or Down?, arXiv 2004.10568, the objective of section 3.4. Differs from
/// source in three ways. It descends over the integers instead of relaxing them: a rectified
/// sigmoid with an annealed regularizer took longer and found worse integers. It begins with the
/// integers of GPTQ instead of the nearest ones, so a result may lie more than one step from the
/// nearest integer. Both sides of the difference see the same input: compensating for errors of the
/// input shrinks every layer a little, and this adds up, see docs/research/accuracy.md.
Tensor rounding_adaround(const Layer& layer) {
  Tensor rounded = find_rounding("gptq").round(layer);
  const InputSamples* samples = layer.input.samples;
  const InputMoments* moments = layer.input.moments;
  if (samples == nullptr || moments == nullptr || samples->rows == 0 || moments->depth == 0) {
    return rounded;
  }
  const auto depth = static_cast<std::size_t>(moments->depth);
  const auto reals = layer.weights.values<float>();
  const auto stored = rounded.values<std::int8_t>();
  std::vector<float> weights(depth);
  std::vector<std::int32_t> integers(depth);
  std::vector<std::size_t> places(depth);
  for (std::int64_t g = 0; g < moments->groups; ++g) {
    const Columns columns = columns_of(layer, g);
    Channel channel(columns, layer.input.passed);
    for (std::int64_t o = 0; o < layer.layout.channels_per_group; ++o) {
      const std::int64_t c = g * layer.layout.channels_per_group + o;
      const Affine affine = layer.affines.at(static_cast<std::size_t>(c));
      for (std::size_t k = 0; k < depth; ++k) {
        const auto element = static_cast<std::int64_t>(k);
        places[k] = static_cast<std::size_t>(layer.layout.first(c, element / layer.layout.taps) +
                                             element % layer.layout.taps);
        weights[k] = reals[places[k]];
        integers[k] = stored[places[k]];
      }
      channel.begin(weights, layer.bias[static_cast<std::size_t>(c)]);
      for (std::size_t k = 0; k < depth; ++k) {
        const float real = affine.scale * static_cast<float>(integers[k] - affine.zero_point);
        channel.change(k, real - weights[k]);
      }
      channel.measure();
      descend(channel, columns.ridge, layer, weights, affine, integers);
      for (std::size_t k = 0; k < depth; ++k) {
        stored[places[k]] = static_cast<std::int8_t>(integers[k]);
      }
    }
  }
  return rounded;
}

}  // namespace qtool

#include "quantize/rewrites/equalize_per_tensor.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace qtool {
namespace {

constexpr double kOrder = 12.0;  // order of the norms that replace maxima
constexpr int kSteps = 500;
constexpr double kFirstRate = 0.2;  // step in the logarithms; falls linearly to a hundredth of it

/// The sum of shared_scale_factors(), and its gradient with respect to the logarithms of the
/// factors.
class Sum {
 public:
  Sum(std::span<const double> logarithms, std::vector<double>& gradient)
      : logarithms_(logarithms), gradient_(gradient) {
    std::ranges::fill(gradient_, 0.0);
  }

  [[nodiscard]] double value() const { return value_; }

  void add(const SharedLayer& layer) {
    // noise = scale^2 / 12 rest. Both scale and rest depend on the factors.
    const std::vector<double> in = factors(layer.inputs);
    const std::vector<double> out = factors(layer.outputs);
    std::vector<double> shrunk(out.size());
    std::vector<double> gain(out.size());
    std::vector<double> power(in.size());
    for (std::size_t o = 0; o < out.size(); ++o) {
      shrunk[o] = 1.0 / out[o];
      gain[o] = layer.gain[o] * out[o] * out[o];
    }
    for (std::size_t i = 0; i < in.size(); ++i) power[i] = layer.power[i] / (in[i] * in[i]);
    std::vector<double> norm_in(in.size(), 0.0);
    std::vector<double> norm_out(out.size(), 0.0);
    std::vector<double> rest_in(in.size(), 0.0);
    std::vector<double> rest_out(out.size(), 0.0);
    for (const SharedPair& pair : layer.pairs) {
      const double part = power_of(pair.largest * in[pair.input] * shrunk[pair.output]);
      norm_in[pair.input] += part;
      norm_out[pair.output] += part;
      const double noise = gain[pair.output] * power[pair.input];
      rest_in[pair.input] += noise;
      rest_out[pair.output] += noise;
    }
    const double norm = std::accumulate(norm_in.begin(), norm_in.end(), 0.0);
    const double rest = std::accumulate(rest_in.begin(), rest_in.end(), 0.0);
    const double scale = std::pow(norm, 1.0 / kOrder) / layer.steps;
    const double noise = scale * scale / 12.0 * rest;
    if (!(noise > 0.0) || !std::isfinite(noise)) return;
    value_ += noise;
    for (std::size_t i = 0; i < in.size(); ++i) {
      push(layer.inputs[i], noise * 2.0 * (norm_in[i] / norm - rest_in[i] / rest));
    }
    for (std::size_t o = 0; o < out.size(); ++o) {
      push(layer.outputs[o], noise * 2.0 * (rest_out[o] / rest - norm_out[o] / norm));
    }
  }

  void add(const SharedTensor& tensor) {
    const std::vector<double> by = factors(tensor.channels);
    std::vector<double> up_share;
    std::vector<double> down_share;
    const double up = end_of(tensor.up, by, up_share);
    const double down = end_of(tensor.down, by, down_share);
    const double width = up + down;
    double rest = 0.0;
    for (std::size_t c = 0; c < by.size(); ++c) rest += tensor.gain[c] * by[c] * by[c];
    const double scale = width / tensor.steps;
    const double noise = scale * scale / 12.0 * rest;
    value_ += noise;
    if (noise <= 0.0) return;
    for (std::size_t c = 0; c < by.size(); ++c) {
      const double narrower = (up * up_share[c] + down * down_share[c]) / width;
      push(tensor.channels[c], noise * 2.0 * (tensor.gain[c] * by[c] * by[c] / rest - narrower));
    }
  }

 private:
  static double power_of(double value) {  // value^12
    const double cube = value * value * value;
    return cube * cube * cube * cube;
  }

  /// The norm of `reach` / `by`: how far one end of the range must go. `shares` gets the share of
  /// each channel in it.
  static double end_of(const std::vector<double>& reach, const std::vector<double>& by,
                       std::vector<double>& shares) {
    shares.assign(by.size(), 0.0);
    double unit = 0.0;
    for (std::size_t c = 0; c < by.size(); ++c) unit = std::max(unit, reach[c] / by[c]);
    if (unit <= 0.0) return 0.0;
    double norm = 0.0;
    for (std::size_t c = 0; c < by.size(); ++c) {
      shares[c] = power_of(reach[c] / by[c] / unit);
      norm += shares[c];
    }
    for (double& share : shares) share /= norm;
    return unit * std::pow(norm, 1.0 / kOrder);
  }

  [[nodiscard]] std::vector<double> factors(const std::vector<std::size_t>& variables) const {
    std::vector<double> factors;
    factors.reserve(variables.size());
    for (const std::size_t v : variables) {
      factors.push_back(v == kNoVariable ? 1.0 : std::exp(logarithms_[v]));
    }
    return factors;
  }

  void push(std::size_t variable, double by) {
    if (variable != kNoVariable) gradient_[variable] += by;
  }

  std::span<const double> logarithms_;
  std::vector<double>& gradient_;
  double value_ = 0.0;
};

}  // namespace

std::vector<double> shared_scale_factors(std::span<const SharedLayer> layers,
                                         std::span<const SharedTensor> tensors,
                                         std::size_t variables) {
  constexpr double kMean = 0.9;  // decay rates of Adam
  constexpr double kSquare = 0.99;
  constexpr double kTiny = 1e-30;
  std::vector<double> logarithms(variables, 0.0);
  std::vector<double> best = logarithms;
  double least = std::numeric_limits<double>::infinity();
  std::vector<double> gradient(variables, 0.0);
  std::vector<double> mean(variables, 0.0);
  std::vector<double> square(variables, 0.0);
  for (int step = 1; step <= kSteps; ++step) {
    Sum sum(logarithms, gradient);
    for (const SharedLayer& layer : layers) sum.add(layer);
    for (const SharedTensor& tensor : tensors) sum.add(tensor);
    if (sum.value() < least) {
      least = sum.value();
      best = logarithms;
    }
    const double rate = kFirstRate * (1.0 - 0.99 * step / kSteps);
    for (std::size_t v = 0; v < variables; ++v) {
      mean[v] = kMean * mean[v] + (1.0 - kMean) * gradient[v];
      square[v] = kSquare * square[v] + (1.0 - kSquare) * gradient[v] * gradient[v];
      const double first = mean[v] / (1.0 - std::pow(kMean, step));
      const double second = square[v] / (1.0 - std::pow(kSquare, step));
      if (second > 0.0) logarithms[v] -= rate * first / (std::sqrt(second) + kTiny);
    }
  }
  for (double& value : best) value = std::exp(value);
  return best;
}

}  // namespace qtool

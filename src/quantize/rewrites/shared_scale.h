#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace qtool {

// Factors of channels where all weights of a layer share one scale. The channels of the tensor
// between two layers are divided by r in the first and multiplied by r in the second, so that r
// decides the scale of both weights and of the tensor. See docs/accuracy.md.

/// Channels with this variable keep the factor 1.
inline constexpr std::size_t kNoVariable = std::numeric_limits<std::size_t>::max();

/// The weights between one output channel and one input channel of a layer.
struct SharedPair {
  std::size_t output = 0;
  std::size_t input = 0;
  double largest = 0.0;  ///< magnitude
};

/// A layer whose weights share a scale.
struct SharedLayer {
  std::vector<SharedPair> pairs;
  std::vector<std::size_t> inputs;   ///< by input channel: its variable
  std::vector<std::size_t> outputs;  ///< by output channel: its variable
  std::vector<double> power;         ///< by input channel: mean square, times the weights of a pair
  std::vector<double> gain;          ///< by output channel: what a unit of its noise costs
  double steps = 127.0;              ///< from 0 to the largest weight
};

/// A tensor that is rounded.
struct SharedTensor {
  std::vector<std::size_t> channels;  ///< the variable of each
  std::vector<double> up;             ///< by channel: how far its range must go up
  std::vector<double> down;           ///< and down, as a number from 0 on
  std::vector<double> gain;           ///< by channel: what a unit of its noise costs
  double steps = 255.0;               ///< from the lower end of the range to the upper one
};

/// The factor of each variable. They make least the sum of, for each layer,
///   s^2 / 12  sum over pairs of gain[o] r_o^2 power[i] / r_i^2,   s = max(w_oi r_i / r_o) / steps
/// and, for each tensor,
///   s^2 / 12  sum over channels of gain[c] r_c^2,   s = (max(up_c / r_c) + max(down_c / r_c)) /
///   steps
/// with each maximum replaced by the norm of order 12, so that there are derivatives. As a function
/// of the logarithms of r the sum is convex: sums, products, powers above 1 and norms of monomials
/// with positive factors are (geometric programming). It is descended by Adam, and the least sum
/// that was met counts. Cost: 500 passes over the pairs.
/// Source: Nagel et al., arXiv 1906.04721, section 4.1 (equal ranges of the weights on both sides).
/// Differs from the source: the noise of weights and activations together decides.
std::vector<double> shared_scale_factors(std::span<const SharedLayer> layers,
                                         std::span<const SharedTensor> tensors,
                                         std::size_t variables);

}  // namespace qtool

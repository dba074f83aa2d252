#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace qtool {

// Factors of channels for targets where all weights of a layer share one scale. The channels of the
// tensor between two layers are divided by r in the first layer and multiplied by r in the second
// layer. So r changes the scales of the weights of both layers and the scale of the tensor. See
// docs/research/accuracy.md.

/// Channels with this variable keep the factor 1.
inline constexpr std::size_t kNoVariable = std::numeric_limits<std::size_t>::max();

/// The weights between one output channel and one input channel of a layer.
struct SharedPair {
  std::size_t output = 0;
  std::size_t input = 0;
  double largest = 0.0;  ///< largest magnitude
};

/// A layer whose weights share a scale.
struct SharedLayer {
  std::vector<SharedPair> pairs;
  std::vector<std::size_t> inputs;   ///< by input channel: its variable
  std::vector<std::size_t> outputs;  ///< by output channel: its variable
  std::vector<double> power;         ///< by input channel: mean square, times weights per pair
  std::vector<double> gain;          ///< by output channel: cost of a unit of its noise
  double steps = 127.0;              ///< integers from 0 to the largest weight
};

/// A tensor that is rounded.
struct SharedTensor {
  std::vector<std::size_t> channels;  ///< by channel: its variable
  std::vector<double> up;             ///< by channel: how far its range must go up
  std::vector<double> down;           ///< by channel: how far it must go down, 0 or above
  std::vector<double> gain;           ///< by channel: cost of a unit of its noise
  double steps = 255.0;               ///< integers from the lower to the upper end of the range
};

/// The factor of each variable. The factors minimise a sum of terms. The term of a layer is
///   s^2 / 12  sum over pairs of gain[o] r_o^2 power[i] / r_i^2,   s = max(w_oi r_i / r_o) / steps
/// and the term of a tensor is
///   s^2 / 12  sum over channels of gain[c] r_c^2,   s = (max(up_c / r_c) + max(down_c / r_c)) /
///   steps
/// Each maximum is replaced by the norm of order 12, so that the sum has derivatives. The sum is
/// convex in the logarithms of r, because sums, products, powers above 1 and norms of monomials
/// with positive factors are convex (geometric programming). Adam minimises the sum. The factors of
/// the least sum that it reached are returned. Cost: 500 passes over the pairs.
/// Source: Nagel et al., arXiv 1906.04721, section 4.1 (equal ranges of the weights on both sides).
/// Differs from the source: the noise of weights and activations together decides.
std::vector<double> shared_scale_factors(std::span<const SharedLayer> layers,
                                         std::span<const SharedTensor> tensors,
                                         std::size_t variables);

}  // namespace qtool

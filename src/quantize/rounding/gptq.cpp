#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <span>
#include <vector>

#include "base/parallel.h"
#include "quantize/layer.h"
#include "quantize/rounding/rounding.h"
#include "quantize/weights/weight_layout.h"
#include "quantize/weights/weight_pairs.h"

namespace qtool {
namespace {

using Matrix = Eigen::MatrixXd;  // column-major

// Added to the diagonal, as a share of its mean. A small number of vectors says nothing about some
// directions. Without damping, large errors in these directions would seem to cost nothing.
constexpr double kGptqDamping = 0.01;
constexpr Eigen::Index kBlock = 64;

/// The weights of one group as a matrix [outputs, depth]. at() is the index of an element in the
/// layer's tensors.
struct GroupView {
  WeightLayout layout;
  std::int64_t first_channel = 0;
  std::int64_t channels = 0;

  [[nodiscard]] std::size_t at(std::int64_t output, std::int64_t element) const {
    return static_cast<std::size_t>(layout.first(first_channel + output, element / layout.taps) +
                                    element % layout.taps);
  }
};

/// The matrix H of the squared error e H e^T of an output: E[x x^T], minus E[x] E[x]^T if the mean
/// is corrected, plus the noise of the quantized input and the damping. Elements are computed when
/// they are read, because a wide layer has no memory for one more matrix.
class ErrorMatrix {
 public:
  ErrorMatrix(const Layer& layer, std::int64_t group)
      : depth_(layer.input.moments->depth),
        rows_(static_cast<double>(layer.input.moments->rows)),
        second_(layer.input.moments->second.data() + group * depth_ * depth_) {
    if (layer.input.mean_is_corrected) {
      const double* first = layer.input.moments->first.data() + group * depth_;
      mean_ = Eigen::Map<const Eigen::VectorXd>(first, depth_) / rows_;
    }
    double sum = 0.0;
    for (Eigen::Index i = 0; i < depth_; ++i) sum += moment(i, i);
    const double step = layer.input.affine ? layer.input.affine->scale : 0.0;
    // With fewer vectors than elements, the moments of pairs of elements are mostly chance.
    const double chance = static_cast<double>(depth_) / (rows_ + static_cast<double>(depth_));
    added_ = step * step / 12.0 + (kGptqDamping + chance) * (sum / static_cast<double>(depth_));
  }

  [[nodiscard]] Eigen::Index depth() const { return depth_; }
  [[nodiscard]] double at(Eigen::Index i, Eigen::Index j) const {
    return i == j ? moment(i, i) + added_ : moment(i, j);
  }

 private:
  [[nodiscard]] double moment(Eigen::Index i, Eigen::Index j) const {
    const double value = static_cast<double>(second_[i + j * depth_]) / rows_;
    return mean_.size() == 0 ? value : value - mean_(i) * mean_(j);
  }

  Eigen::Index depth_;
  double rows_;
  const float* second_;
  Eigen::VectorXd mean_;  // empty if the mean is not corrected
  double added_ = 0.0;
};

/// The elements in ascending order of H's diagonal. Empty if there is nothing to gain, because the
/// input is always the same, or nothing to learn, because the sums overflowed.
std::vector<Eigen::Index> rounding_order(const ErrorMatrix& h) {
  std::vector<double> diagonal(static_cast<std::size_t>(h.depth()));
  for (std::size_t i = 0; i < diagonal.size(); ++i) {
    diagonal[i] = h.at(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(i));
    if (!std::isfinite(diagonal[i])) return {};
  }
  if (*std::ranges::max_element(diagonal) <= 0.0) return {};
  std::vector<Eigen::Index> order(diagonal.size());
  std::iota(order.begin(), order.end(), Eigen::Index{0});
  std::ranges::stable_sort(order, {},
                           [&](Eigen::Index i) { return diagonal[static_cast<std::size_t>(i)]; });
  return order;
}

/// The lower triangle of L, with H = L L^T in the given order. Nothing if H is singular or not
/// finite. The upper triangle is never written, so that most of its pages take no memory.
std::optional<Matrix> cholesky_factor(const ErrorMatrix& h, std::span<const Eigen::Index> order) {
  Matrix factor(h.depth(), h.depth());
  for (Eigen::Index j = 0; j < h.depth(); ++j) {
    for (Eigen::Index i = j; i < h.depth(); ++i) {
      factor(i, j) = h.at(order[static_cast<std::size_t>(i)], order[static_cast<std::size_t>(j)]);
    }
    if (!factor.col(j).tail(h.depth() - j).allFinite()) return std::nullopt;
  }
  const Eigen::LLT<Eigen::Ref<Matrix>> cholesky(factor);
  if (cholesky.info() != Eigen::Success || !factor.diagonal().allFinite()) return std::nullopt;
  return factor;
}

/// Rounds the weights of one group. Elements are rounded in descending order of H's diagonal.
/// Before an element is rounded, it is moved to compensate for the errors so far. With H = L L^T (L
/// lower triangular, elements in ascending order, rounded from the last to the first):
///   q_k = round(w_k + sum over j > k of (w_j - q_j) L_jk / L_kk).
void round_group(const Layer& layer, const GroupView& view, const ErrorMatrix& h,
                 std::span<std::int8_t> integers) {
  const Eigen::Index depth = h.depth();
  const std::vector<Eigen::Index> order = rounding_order(h);
  if (order.empty()) return;
  const std::optional<Matrix> lower = cholesky_factor(h, order);
  if (!lower) return;
  const Matrix& factor = *lower;

  const Limits limits = limits_of(layer.scheme);
  const auto weights = layer.weights.values<float>();
  Matrix errors = Matrix::Zero(view.channels, depth);
  for (Eigen::Index end = depth; end > 0; end -= std::min(end, kBlock)) {
    const Eigen::Index begin = std::max<Eigen::Index>(end - kBlock, 0);
    const Eigen::Index behind = depth - end;
    // The moves of this block that compensate for the errors of the elements after it.
    Matrix moves = errors.rightCols(behind) * factor.block(end, begin, behind, end - begin);
    for (Eigen::Index k = end; k-- > begin;) {
      const Eigen::Index element = order[static_cast<std::size_t>(k)];
      const double pivot = factor(k, k);
      const std::optional<std::int64_t> partner =
          layer.pair_limit == 0 ? std::nullopt : partner_of(view.layout, element);
      for (Eigen::Index o = 0; o < view.channels; ++o) {
        const std::size_t at = view.at(o, element);
        const Affine affine = layer.affines.at(static_cast<std::size_t>(view.first_channel + o));
        const double weight = static_cast<double>(weights[at]);
        const auto wanted = static_cast<float>(weight + moves(o, k - begin) / pivot);
        std::int32_t q = quantize_value(wanted, affine, limits);
        if (partner) q = beside(integers[view.at(o, *partner)], q, layer.pair_limit);
        integers[at] = static_cast<std::int8_t>(q);
        errors(o, k) = weight - static_cast<double>(affine.scale) * (q - affine.zero_point);
      }
      if (k == begin) break;
      moves.leftCols(k - begin) += errors.col(k) * factor.row(k).segment(begin, k - begin);
    }
  }
}

}  // namespace

/// Second-order rounding. With e = w - s (q - z), it minimises the sum of e H e^T over the rows of
/// the weights. It rounds one element after the other, and moves the remaining elements to
/// compensate for the errors so far. It rounds to nearest if nothing is known about the input, or
/// if H is singular. Cost per group: depth^3 / 3 multiplications for the factor L, and outputs
/// depth^2 / 2 for the moves.
/// Source: Frantar et al., GPTQ, arXiv 2210.17323; in the form that needs no inverse of H, Chee et
/// al., QuIP, arXiv 2307.13304, theorem 6. Differs from source: the mean is subtracted in H if bias
/// correction removes it from the outputs; the noise of the quantized input is added; an integer
/// stays within the limit of its pair, and later ones make up for that too.
Tensor rounding_gptq(const Layer& layer) {
  Tensor rounded = find_rounding("nearest").round(layer);
  const InputMoments* moments = layer.input.moments;
  if (moments == nullptr || moments->rows == 0 || moments->depth == 0) return rounded;
  const auto integers = rounded.values<std::int8_t>();
  for (std::int64_t g = 0; g < moments->groups; ++g) {
    const GroupView view{layer.layout, g * layer.layout.channels_per_group,
                         layer.layout.channels_per_group};
    round_group(layer, view, ErrorMatrix(layer, g), integers);
  }
  return rounded;
}

}  // namespace qtool

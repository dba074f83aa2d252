#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "qtool/graph/graph.h"
#include "qtool/tensor/tensor.h"
#include "quantize/weights/weights.h"

namespace qtool {

/// First and second moments of the vectors that the weights of a layer multiply: of a convolution
/// the elements under its window, 0 where that is padding, in the order of the weights. Each group
/// of a convolution has its own.
struct InputMoments {
  std::int64_t groups = 0;
  std::int64_t depth = 0;     ///< elements of a vector
  std::int64_t rows = 0;      ///< vectors so far
  std::vector<float> second;  ///< [groups, depth, depth]: sums of x_i x_j
  std::vector<double> first;  ///< [groups, depth]: sums of x_i
};

/// Some of the vectors themselves.
struct InputSamples {
  std::int64_t capacity = 0;  ///< rows that there is room for
  std::int64_t rows = 0;
  std::vector<float> vectors;  ///< [groups, capacity, depth]
};

/// The open interval of reals that what follows a layer passes on unchanged.
struct PassedInterval {
  float above = -std::numeric_limits<float>::infinity();
  float below = std::numeric_limits<float>::infinity();
};

/// Everything, unless a Relu or Clip is all that reads the result of the node.
PassedInterval passed_interval(const Graph& graph, NodeId node);

/// Reads the vectors out of the input of one layer.
class InputRows {
 public:
  /// Of a Conv, Gemm or MatMul with `ports`; nothing for other nodes and for a transposed first
  /// operand of Gemm.
  static std::optional<InputRows> of(const Graph& graph, NodeId node, const WeightPorts& ports);

  [[nodiscard]] std::int64_t groups() const noexcept { return groups_; }
  [[nodiscard]] std::int64_t depth() const noexcept { return depth_; }
  /// Bytes of the moments.
  [[nodiscard]] std::int64_t moment_bytes() const noexcept { return 4 * groups_ * depth_ * depth_; }

  /// Bytes of one vector of each group.
  [[nodiscard]] std::int64_t row_bytes() const noexcept { return 4 * groups_ * depth_; }

  /// At most `max_rows` vectors of an input, spread over its positions: [groups, rows, depth].
  /// Throws Error(kInvalidModel) when the input does not fit the weights.
  [[nodiscard]] std::vector<float> gather(const TensorView& input, std::int64_t max_rows) const;

 private:
  InputRows(const Graph& graph, NodeId node, const Shape& weights)
      : graph_(&graph), node_(node), weights_(weights) {}
  [[nodiscard]] std::vector<float> gather_windows(const TensorView& input,
                                                  std::int64_t max_rows) const;

  const Graph* graph_;
  NodeId node_;
  Shape weights_;
  bool is_convolution_ = false;
  std::int64_t groups_ = 1;
  std::int64_t depth_ = 0;
};

/// Adds vectors as gather() returns them. The same vectors in the same order give the same bits.
void add_rows(const std::vector<float>& rows, InputMoments& moments);

/// Adds at most `max_rows` of vectors as gather() returns them, spread over them, as far as there
/// is room. `groups` and `depth` are theirs.
void add_samples(const std::vector<float>& rows, std::int64_t groups, std::int64_t depth,
                 std::int64_t max_rows, InputSamples& samples);

}  // namespace qtool

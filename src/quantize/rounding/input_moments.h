#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "qtool/graph/graph.h"
#include "qtool/tensor/tensor.h"
#include "quantize/weights/weight_ports.h"

namespace qtool {

struct Window;

/// First and second moments of the vectors that the weights of a layer multiply. A vector of a
/// convolution holds the elements under its window, in the order of the weights; padding counts as
/// 0. Each group of a convolution has its own moments.
struct InputMoments {
  std::int64_t groups = 0;
  std::int64_t depth = 0;     ///< elements of a vector
  std::int64_t rows = 0;      ///< vectors added so far
  std::vector<float> second;  ///< [groups, depth, depth]: sums of x_i x_j
  std::vector<double> first;  ///< [groups, depth]: sums of x_i
};

/// Some of the vectors that the weights of a layer multiply.
struct InputSamples {
  std::int64_t capacity = 0;  ///< the most rows that fit
  std::int64_t rows = 0;
  std::vector<float> vectors;  ///< [groups, capacity, depth]
};

/// The open interval of reals that the activation after a layer passes on unchanged.
struct PassedInterval {
  float above = -std::numeric_limits<float>::infinity();
  float below = std::numeric_limits<float>::infinity();
};

/// The interval that the activation after a node passes on. All reals, unless a Relu or Clip is the
/// only reader of the node's result.
PassedInterval passed_interval(const Graph& graph, NodeId node);

/// Reads the vectors that the weights multiply from the input of one layer.
class InputRows {
 public:
  /// The reader for a Conv, Gemm or MatMul with `ports`. Nothing for other nodes, and for a Gemm
  /// with a transposed first operand.
  static std::optional<InputRows> of(const Graph& graph, NodeId node, const WeightPorts& ports);

  [[nodiscard]] std::int64_t groups() const noexcept { return groups_; }
  [[nodiscard]] std::int64_t depth() const noexcept { return depth_; }
  /// Bytes of the moments.
  [[nodiscard]] std::int64_t moment_bytes() const noexcept { return 4 * groups_ * depth_ * depth_; }

  /// Bytes of one vector of each group.
  [[nodiscard]] std::int64_t row_bytes() const noexcept { return 4 * groups_ * depth_; }

  /// The vectors of an input with this shape.
  [[nodiscard]] std::int64_t vectors_of(const Shape& input) const;

  /// Makes `rows` at most `max_rows` vectors of an input, spread over its positions: [groups, rows,
  /// depth]. A vector that is passed again keeps its memory. Throws Error(kInvalidModel) when the
  /// input does not fit the weights.
  void gather(const TensorView& input, std::int64_t max_rows, std::vector<float>& rows) const;

 private:
  InputRows(const Graph& graph, NodeId node, const Shape& weights)
      : graph_(&graph), node_(node), weights_(weights) {}
  void gather_windows(const TensorView& input, std::int64_t max_rows,
                      std::vector<float>& rows) const;
  [[nodiscard]] Window window_of(const Shape& input) const;

  const Graph* graph_;
  NodeId node_;
  Shape weights_;
  bool is_convolution_ = false;
  std::int64_t groups_ = 1;
  std::int64_t depth_ = 0;
};

/// Adds vectors in the layout that gather() returns. The same vectors in the same order give the
/// same bits.
void add_rows(const std::vector<float>& rows, InputMoments& moments);

/// Adds at most `max_rows` of the vectors in `rows`, evenly spread, as far as `samples` has room.
/// `rows` has the layout [groups, vectors, depth] that gather() returns.
void add_samples(const std::vector<float>& rows, std::int64_t groups, std::int64_t depth,
                 std::int64_t max_rows, InputSamples& samples);

}  // namespace qtool

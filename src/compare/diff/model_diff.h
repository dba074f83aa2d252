#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compare/diff/array_diff.h"
#include "qtool/base/progress.h"
#include "qtool/graph/graph.h"
#include "qtool/quant/affine.h"

namespace qtool {

/// How the scales of one tensor differ between two models.
struct ScaleDiff {
  std::string name;  ///< activation, or node and input of weights
  Affines a;
  Affines b;
  double scale = 0.0;  ///< largest |a - b| / max(|a|, |b|); 1 if number or axis differ
  bool zero_points_differ = false;
  [[nodiscard]] bool within(double tolerance) const noexcept {
    return scale <= tolerance && !zero_points_differ;
  }
};

/// How a constant that a node reads differs between two models. Quantized constants are compared by
/// their dequantized values.
struct WeightDiff {
  std::string node;        ///< name in A
  std::int64_t input = 0;  ///< index among the inputs of the node
  std::string name_a;
  std::string name_b;
  std::string other;  ///< both shapes and types if they differ; then no `diff`
  std::optional<ArrayDiff> diff;
  [[nodiscard]] bool equal() const noexcept;
};

struct ModelDiff {
  bool prepared = false;               ///< both were prepared first, see prepare()
  std::vector<std::string> interface;  ///< a phrase for each different input, output or opset
  std::vector<std::string> only_a;     ///< nodes other than QuantizeLinear and DequantizeLinear
  std::vector<std::string> only_b;
  std::vector<std::string> changed;  ///< nodes whose operator, attributes or inputs differ
  std::vector<std::pair<std::string, std::string>> renamed;  ///< names of a node in A and B
  std::int64_t nodes = 0;                                    ///< number of nodes in both models
  std::int64_t quantize_a = 0;  ///< number of QuantizeLinear and DequantizeLinear
  std::int64_t quantize_b = 0;
  std::vector<WeightDiff> weights;  ///< of nodes that are in both models
  std::vector<ScaleDiff> scales;    ///< of tensors that both models quantize
  std::vector<std::string> scales_only_a;
  std::vector<std::string> scales_only_b;

  [[nodiscard]] bool same_structure() const noexcept;
  [[nodiscard]] bool equal() const noexcept;
};

/// Compares two models as they are in their files. If only one of them is quantized, both are
/// prepared first, because quantized models are made from prepared ones. Scales are read from
/// QuantizeLinear and DequantizeLinear nodes. Nodes are matched by name; an unnamed node has the
/// name of its first output. The remaining nodes are matched in the order of the graphs if their
/// operators, attributes and constants are equal. Constants are matched by the nodes that read
/// them, so renamed initializers do not matter. Scales are matched by the tensors that are
/// quantized. Cost: linear. Memory: one constant of each model as reals at a time.
ModelDiff diff_of(const Graph& a, const Graph& b, const StopCheck& stop = {});

/// The limits that the differences of weights and of scales must keep.
struct ModelLimits {
  ArrayLimits weights;
  std::optional<double> tolerance;  ///< limit of ScaleDiff::scale
  [[nodiscard]] bool accept(const ModelDiff& diff) const noexcept;
};

}  // namespace qtool

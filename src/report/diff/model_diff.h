#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "qtool/base/progress.h"
#include "qtool/graph/graph.h"
#include "qtool/quant/affine.h"
#include "report/diff/array_diff.h"
#include "report/text_table.h"

namespace qtool {

/// How the scales of one tensor differ between two models.
struct ScaleDiff {
  std::string name;  ///< of the activation, or of the node whose weights they are and the input
  Affines a;
  Affines b;
  double scale = 0.0;  ///< largest |a - b| / max(|a|, |b|); 1 where there are more or fewer scales
  bool zero_points_differ = false;
  [[nodiscard]] bool within(double tolerance) const noexcept {
    return scale <= tolerance && !zero_points_differ;
  }
};

/// How the constant that a node reads differs between two models; quantized ones by the reals that
/// they stand for.
struct WeightDiff {
  std::string node;        ///< in A
  std::int64_t input = 0;  ///< of the node
  std::string name_a;
  std::string name_b;
  std::string other;  ///< shape or type that changed; then there is no `diff`
  std::optional<ArrayDiff> diff;
  [[nodiscard]] bool equal() const noexcept;
};

struct ModelDiff {
  bool prepared = false;               ///< both were prepared first, see prepare()
  std::vector<std::string> interface;  ///< inputs, outputs and opsets that differ, a phrase each
  std::vector<std::string> only_a;     ///< nodes, but QuantizeLinear and DequantizeLinear
  std::vector<std::string> only_b;
  std::vector<std::string> changed;  ///< nodes with other operators, attributes or sources
  std::vector<std::pair<std::string, std::string>> renamed;  ///< nodes of A and B
  std::int64_t nodes = 0;                                    ///< in both
  std::int64_t quantize_a = 0;  ///< QuantizeLinear and DequantizeLinear
  std::int64_t quantize_b = 0;
  std::vector<WeightDiff> weights;  ///< of nodes that are in both
  std::vector<ScaleDiff> scales;    ///< of tensors that both quantize
  std::vector<std::string> scales_only_a;
  std::vector<std::string> scales_only_b;

  [[nodiscard]] bool same_structure() const noexcept;
  [[nodiscard]] bool equal() const noexcept;
};

/// Compares two models as they are in their files; where only one is quantized, both as prepare()
/// leaves them, since quantized models are made of prepared ones. Scales are those of Q/DQ. Nodes
/// belong together by name (an unnamed one has that of its first output); those left over in the
/// order of the graphs, where operator, attributes and constants are equal. Constants are compared
/// under the nodes that read them, so that renamed initializers do not matter; scales under the
/// tensors that are quantized. Cost: linear, one constant of each model as reals at a time.
ModelDiff diff_of(const Graph& a, const Graph& b, const StopCheck& stop = {});

/// Which limits hold: those of weights, and of scales.
struct ModelLimits {
  ArrayLimits weights;
  std::optional<double> tolerance;  ///< of ScaleDiff::scale
  [[nodiscard]] bool accept(const ModelDiff& diff) const noexcept;
};

std::string text_of(const ModelDiff& diff, const ModelLimits& limits,
                    std::size_t width = kAnyWidth);
std::string json_of(const ModelDiff& diff, const ModelLimits& limits);

}  // namespace qtool

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "program/command.h"
#include "qtool/graph/graph.h"
#include "qtool/tensor/tensor.h"

namespace qtool::tool {

/// --shape and --dim, which may come several times: shapes of inputs, and extents, that the model
/// leaves open.
struct ShapeOptions {
  std::vector<std::string> shapes;
  std::vector<std::string> dims;

  void add_to(Command& command);
  [[nodiscard]] bool given() const { return !shapes.empty() || !dims.empty(); }
  /// Concrete shapes of all inputs: what --shape says (`1x3x224x224` of the only input, `ids=1x128`
  /// of any), otherwise as declared, with the extents that --dim gives by the names that the model
  /// has for them (`width=320`), and `batch` as the first extent; without `batch`, the model's, or
  /// 1. Throws Error(kUsage) for a name that is no input or no open extent, where an extent is not
  /// known, and for an option without effect.
  [[nodiscard]] InputShapes concrete(const Graph& graph,
                                     std::optional<std::int64_t> batch = {}) const;
};

/// Noise in [-2, 2) for each input, the same on every machine; zeros where it is not float32. The
/// speed of a network does not depend on its activations, except for denormals and zeros.
std::vector<Tensor> noise_of(const Graph& graph, const InputShapes& shapes);

}  // namespace qtool::tool

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/command.h"
#include "qtool/graph/graph.h"
#include "qtool/tensor/tensor.h"

namespace qtool::tool {

/// --shape and --dim: shapes and extents of inputs that the model leaves open. Each may be given
/// several times.
struct ShapeOptions {
  std::vector<std::string> shapes;
  std::vector<std::string> dims;

  void add_to(Command& command);
  [[nodiscard]] bool given() const { return !shapes.empty() || !dims.empty(); }
  /// Concrete shapes of all inputs. --shape gives the whole shape of an input: `1x3x224x224` if
  /// there is only one input, `ids=1x128` for any input. Other inputs have their declared shape,
  /// with open extents from --dim by the names in the model (`width=320`). Their first extent is
  /// `batch`; without `batch` it is the model's extent, or 1 if that is open. Throws Error(kUsage)
  /// for a name that is not an input or an open extent, for an extent that is not known, and for an
  /// option without effect.
  [[nodiscard]] InputShapes concrete(const Graph& graph,
                                     std::optional<std::int64_t> batch = {}) const;
};

/// Noise in [-2, 2) for each float32 input, the same on every machine; zeros for other inputs. The
/// speed of a network does not depend on its activations, except for denormals and zeros.
std::vector<Tensor> noise_of(const Graph& graph, const InputShapes& shapes);

}  // namespace qtool::tool

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "qtool/graph/graph.h"
#include "qtool/tensor/tensor.h"

namespace qtool {

/// What a network declares of one of its inputs.
struct InputSpec {
  std::string name;
  DType dtype = DType::kFloat32;  ///< where the network does not say
  /// None: of any rank. An extent that is left open is none.
  std::optional<std::vector<std::optional<std::int64_t>>> extents;
};

/// The inputs of a network in their order.
std::vector<InputSpec> input_specs(const Graph& graph);

/// The declared extents for messages: `[1, ?, 64]`, or `any shape`.
std::string shape_text(const InputSpec& spec);

/// Whether a tensor of these extents can be fed to the input.
bool accepts(const InputSpec& spec, const std::vector<std::int64_t>& dims);

}  // namespace qtool

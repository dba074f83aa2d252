#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "qtool/graph/graph.h"
#include "qtool/quantize/placement.h"
#include "qtool/quantize/target.h"

namespace qtool {

/// A node of the FP32 graph and what became of it.
struct NodeReport {
  std::string node;  ///< its name, or that of its first output
  std::string op_type;
  NodeRole role = NodeRole::kFloat;
  std::string reason;  ///< why it stayed in FP32; empty otherwise
};

/// A Concat whose operands kept their own scales because a common one would have cost one of them
/// too much resolution.
struct UnequalConcat {
  std::string node;
  std::vector<std::string> operands;
  std::vector<float> scales;    ///< of the operands
  double smallest_share = 0.0;  ///< of the common range that the narrowest operand uses
};

struct QuantizeReport {
  std::string target;
  std::vector<NodeReport> nodes;  ///< in the order of the FP32 graph
  std::vector<UnequalConcat> unequal_concats;
  std::int64_t quantized_tensors = 0;  ///< activations with a pair
  std::int64_t added_nodes = 0;
  std::int64_t weight_bytes = 0;     ///< of int8 weights
  std::int64_t output_channels = 0;  ///< of layers with int8 weights

  [[nodiscard]] const NodeReport* find(std::string_view node) const noexcept;
};

}  // namespace qtool

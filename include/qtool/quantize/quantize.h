#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "qtool/calib/table.h"
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
  std::int64_t corrected_biases = 0;

  [[nodiscard]] const NodeReport* find(std::string_view node) const noexcept;
};

/// Whether biases take back what quantizing the weights adds to the mean of a layer's output.
enum class BiasCorrection : std::uint8_t {
  kOff,
  kTable,  ///< from the channel means of the table
};

struct QuantizeOptions {
  std::string target{kDefaultTarget};
  std::vector<std::string> exclude;  ///< see PlacementOptions::exclude
  /// Fingerprint of the model that the table must belong to; without it, that of the graph handed
  /// over.
  std::optional<std::uint64_t> model_fingerprint;
  BiasCorrection bias_correction = BiasCorrection::kTable;
  std::string version;  ///< of the program, for the metadata; left out when empty
};

/// The integer form of a prepared graph, as standard ONNX with QuantizeLinear/DequantizeLinear.
/// place() decides where; each tensor that integer nodes read gets one pair however many read it,
/// and every reader, FP32 ones too, sees the dequantized value. Weights become int8 initializers
/// and biases int32 ones of scale s_x s_w[c], each behind a DequantizeLinear; the operands of a
/// Concat share one map where that costs none of them more than one bit. All names of nodes,
/// inputs, outputs and FP32 tensors stay, except that a graph output which integer nodes read too
/// becomes the dequantized tensor and its real form gets `_fp32` behind its name.
/// Weight scales that the table holds are used, raised where the bias would not fit; the others
/// follow absmax_scales(). Metadata of the graph stay; `qtool.preprocess`, `qtool.method`,
/// `qtool.table_hash`, `qtool.target` and `qtool.version` are added.
/// Throws Error(kMismatch) when the table belongs to another model, Error(kUsage) for an unknown
/// target or an exclusion that matches nothing, Error(kUnsupported) when the graph is below opset
/// 13 or quantized already, Error(kInvalidTable) for weight scales that do not fit their weight.
/// Cost: linear in the weights.
/// Source: ONNX operators QuantizeLinear and DequantizeLinear, opset 13; Jacob et al.,
/// arXiv 1712.05877, section 2.
Graph quantize(const Graph& prepared, const CalibrationTable& table, const QuantizeOptions& options,
               QuantizeReport& report);

/// Fills `table.weights` with the scales that quantize() would use, so that they can be seen,
/// changed and converted. Entries that the table has already are kept, raised where a bias would not
/// fit.
void fill_weight_entries(const Graph& prepared, const QuantizeOptions& options,
                         CalibrationTable& table);

}  // namespace qtool

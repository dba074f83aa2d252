#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "qtool/exec/executor.h"
#include "qtool/image/preprocess.h"
#include "qtool/quantize/quantize.h"
#include "qtool/quantize/target.h"

namespace qtool {

/// How much of a compiled network runs on integers.
struct Coverage {
  /// A step that multiplies in FP32.
  struct FloatStep {
    std::string node;
    std::string op_type;
    std::int64_t macs = 0;
  };
  std::int64_t macs = 0;
  std::int64_t integer_macs = 0;
  std::int64_t convolutions = 0;
  std::int64_t integer_convolutions = 0;
  std::int64_t products = 0;  ///< Gemm and MatMul
  std::int64_t integer_products = 0;
  std::vector<FloatStep> float_steps;  ///< in the order of execution

  /// Share of the multiplications done on integers; 0 for a network without any.
  [[nodiscard]] double integer_share() const noexcept;
};

/// Counts the multiplications of the steps of a plan, on integers and in FP32. A QuantizeReport, in
/// contrast, says what the target is expected to run.
Coverage coverage_of(const Plan& plan);
Coverage coverage_of(const std::vector<StepInfo>& steps);

/// Compiles the model that quantize() emitted, counts what it runs on integers, and corrects the
/// roles in the report of a static quantization: where the plan runs a node in another way than the
/// target was expected to, the report then says how. `shapes`: the shapes of inputs with open axes.
/// Throws as Executor and Executor::compile(). Cost: preparing and compiling the model once.
Coverage measure_coverage(const Graph& emitted, const InputShapes& shapes, QuantizeReport& report,
                          const StopCheck& stop = {});

/// A prediction: the part of a network that would run on integers if it were quantized for a
/// target. It needs no calibration.
struct Outlook {
  Coverage coverage;
  QuantizeReport report;  ///< target and nodes only
};

/// The outlook of a prepared FP32 network. `plan`: the compiled network. Assumes that calibration
/// will find a range for every tensor. Returns nothing for a network that is quantized already.
/// Cost: linear in the graph.
std::optional<Outlook> outlook_of(const Graph& prepared, const Plan& plan, const Target& target);

/// How many functions of one element a target runs as tables or inside a product in a prepared FP32
/// network, see Target::fuses_functions and Target::function_producers. Single nodes that every
/// target lists, such as a LeakyRelu, do not count. Cost: linear in the graph.
std::int64_t count_functions(const Graph& prepared, const Target& target);

/// The input shapes with which multiplications are counted. Declared axes stay as they are. Open
/// axes get the size of one image, which has 224 x 224 pixels unless the preprocessing fixes a
/// size.
InputShapes typical_shapes(const Graph& graph, const Preprocess& preprocess);

/// Whether a model gains nothing by being quantized: no product runs on integers. In weight-only
/// mode, and for a model without multiplications: no weight is stored as integers and no node runs
/// on integers.
bool gains_nothing(QuantizeMode mode, const Coverage& coverage, const QuantizeReport& report);

/// One line for people and scripts: `int8 96.4 % of MACs, 52 of 53 convolutions; FP32: 'head/conv'
/// (excluded by --exclude)`. Matrix products are counted too when some stayed in FP32 or there is
/// no convolution. Reasons come from `report`. If a step should run on integers according to the
/// report but does not, the reason given is a missing integer kernel. At most five FP32 steps are
/// named, the largest first.
std::string coverage_line(const Coverage& coverage, const QuantizeReport& report);

}  // namespace qtool

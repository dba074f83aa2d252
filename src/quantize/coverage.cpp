#include "qtool/quantize/coverage.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <memory>
#include <string_view>

#include "base/saturate.h"
#include "base/text.h"
#include "exec/step_of.h"
#include "graph/node_name.h"
#include "graph/op_traits.h"
#include "qtool/exec/executor.h"
#include "quantize/follow_plan.h"
#include "quantize/placement/function_tables.h"
#include "quantize/placement/operands.h"
#include "quantize/placement/placement.h"

namespace qtool {
namespace {

constexpr std::size_t kMaxNamed = 5;

/// `part` of `whole` in percent with one decimal; 100.0 only when nothing is missing.
std::string percent(std::int64_t part, std::int64_t whole) {
  if (whole == 0) return "0.0";
  const double exact = 1000.0 * static_cast<double>(part) / static_cast<double>(whole);
  const double rounded = part == whole ? 1000.0 : std::min(std::round(exact), 999.0);
  return to_fixed(rounded / 10.0, 1);
}

std::string reason_for(const Coverage::FloatStep& step, const QuantizeReport& report) {
  const NodeReport* node = report.find(step.node);
  if (node == nullptr) return "not part of the quantized model's report, as what lies in subgraphs";
  if (node->role == NodeRole::kFloat) return node->reason;
  return no_kernel(step.op_type);
}

// A layer that reads both bytes of a tensor counts once, although its multiplications are twice as
// many: a plan may run its halves as one step or as two.
Coverage coverage_of_layers(const std::vector<StepInfo>& steps, const QuantizeReport& report) {
  Coverage coverage = coverage_of(steps);
  std::vector<StepInfo> halves;
  std::ranges::copy_if(steps, std::back_inserter(halves), [&](const StepInfo& step) {
    return std::ranges::find(report.second_halves, step.node) != report.second_halves.end();
  });
  const Coverage second = coverage_of(halves);
  coverage.convolutions -= second.convolutions;
  coverage.integer_convolutions -= second.integer_convolutions;
  coverage.products -= second.products;
  coverage.integer_products -= second.integer_products;
  return coverage;
}

}  // namespace

double Coverage::integer_share() const noexcept {
  return macs == 0 ? 0.0 : static_cast<double>(integer_macs) / static_cast<double>(macs);
}

Coverage coverage_of(const std::vector<StepInfo>& steps) {
  Coverage coverage;
  for (const StepInfo& step : steps) {
    if (step.macs == 0) continue;
    const std::int64_t integer = step.integer ? 1 : 0;
    coverage.macs = saturating_sum(coverage.macs, step.macs);
    coverage.integer_macs = saturating_sum(coverage.integer_macs, integer * step.macs);
    const OpKind kind = traits_of(step.op_type).kind;
    if (kind == OpKind::kConvolution) {
      ++coverage.convolutions;
      coverage.integer_convolutions += integer;
    } else if (kind == OpKind::kMatrixProduct) {
      ++coverage.products;
      coverage.integer_products += integer;
    }
    if (!step.integer) coverage.float_steps.push_back({label_of(step), step.op_type, step.macs});
  }
  return coverage;
}

Coverage coverage_of(const Plan& plan) { return coverage_of(plan.steps()); }

Coverage measure_coverage(const Graph& emitted, const InputShapes& shapes, QuantizeReport& report,
                          const StopCheck& stop) {
  const Executor executor(prepare(emitted, stop), stop);
  const std::shared_ptr<const Plan> plan = executor.compile(shapes);
  // In the other modes the report says which nodes have integer weights. A plan cannot change that.
  if (!emitted.info.metadata.contains(std::string(kModeKey))) follow_plan(plan->steps(), report);
  return coverage_of_layers(plan->steps(), report);
}

std::optional<Outlook> outlook_of(const Graph& prepared, const Plan& plan, const Target& target) {
  if (quantized_node(prepared)) return std::nullopt;
  Outlook outlook;
  outlook.report.target = target.name;
  const Placement placement = place(prepared, target);
  outlook.report.nodes = report_nodes(prepared, placement);
  std::vector<StepInfo> steps = plan.steps();
  const StepsOfNodes made(plan.steps(), prepared);
  for (const NodePlacement& placed : placement.nodes) {
    if (!multiplies(prepared.node(placed.id))) continue;
    const std::optional<std::size_t> step = made.step_of(placed.id);
    if (!step) continue;
    steps[*step].node = name_of(prepared, placed.id);
    steps[*step].integer = placed.role == NodeRole::kInteger;
  }
  outlook.coverage = coverage_of(steps);
  return outlook;
}

std::int64_t count_functions(const Graph& prepared, const Target& target) {
  Placement placement = place(prepared, target);
  leave_out_single_nodes(target, prepared, placement.inner_functions);
  return std::ssize(placement.functions) + std::ssize(placement.inner_functions);
}

InputShapes typical_shapes(const Graph& graph, const Preprocess& preprocess) {
  const std::int64_t side =
      std::max({std::int64_t{224}, preprocess.crop_width, preprocess.crop_height});
  const Shape image = output_shape(preprocess, side, side);
  InputShapes shapes;
  for (const ValueId id : graph.inputs()) {
    const Value& input = graph.value(id);
    if (!input.shape) {
      shapes.emplace(input.name, image);
      continue;
    }
    std::vector<std::int64_t> dims;
    for (const Dim& dim : *input.shape) {
      const auto axis = static_cast<std::int64_t>(dims.size());
      dims.push_back(dim.size ? *dim.size : axis > 0 && axis < image.rank() ? image[axis] : 1);
    }
    shapes.emplace(input.name, Shape(std::move(dims)));
  }
  return shapes;
}

bool gains_nothing(QuantizeMode mode, const Coverage& coverage, const QuantizeReport& report) {
  const bool counted = coverage.macs > 0 && mode != QuantizeMode::kWeightOnly;
  if (counted) return coverage.integer_macs == 0;
  return report.weight_bytes == 0 &&
         std::none_of(report.nodes.begin(), report.nodes.end(),
                      [](const NodeReport& node) { return node.role == NodeRole::kInteger; });
}

std::string coverage_line(const Coverage& coverage, const QuantizeReport& report) {
  std::string line = to_text("int8 ", percent(coverage.integer_macs, coverage.macs), " % of MACs");
  if (coverage.convolutions > 0) {
    line += to_text(", ", coverage.integer_convolutions, " of ", coverage.convolutions,
                    " convolutions");
  }
  if (coverage.integer_products < coverage.products ||
      (coverage.convolutions == 0 && coverage.products > 0)) {
    line += to_text(", ", coverage.integer_products, " of ", coverage.products, " matrix products");
  }
  std::vector<Coverage::FloatStep> steps = coverage.float_steps;
  std::stable_sort(steps.begin(), steps.end(),
                   [](const auto& a, const auto& b) { return a.macs > b.macs; });
  for (std::size_t i = 0; i < std::min(steps.size(), kMaxNamed); ++i) {
    line += to_text(i == 0 ? "; FP32: '" : ", '", steps[i].node, "' (",
                    reason_for(steps[i], report), ")");
  }
  if (steps.size() > kMaxNamed) line += to_text(" and ", steps.size() - kMaxNamed, " more");
  return line;
}

}  // namespace qtool

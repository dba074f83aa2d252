#include "search/measured_gains.h"

#include <cstddef>
#include <map>
#include <set>
#include <string>

#include "compare/crossings.h"
#include "exec/step_of.h"
#include "graph/node_name.h"

namespace qtool {

std::vector<double> measured_gains(std::span<const NodeSet> blocks, const TimedSteps& fp32,
                                   const TimedSteps& int8) {
  const std::vector<StepInfo> integer_steps = named_steps(int8.steps, int8.graph);
  std::map<std::string, double, std::less<>> integer_cost;  // by node
  for (std::size_t i = 0; i < integer_steps.size(); ++i) {
    integer_cost[integer_steps[i].node] += int8.seconds[i];
  }
  for (const Crossing& crossing : crossings_of(integer_steps, int8.graph)) {
    const bool leaves = integer_steps[crossing.step].op_type == "DequantizeLinear";
    const double cost = int8.seconds[crossing.step];
    if (leaves) {
      integer_cost[crossing.from] += cost;
      continue;
    }
    for (const std::string& reader : crossing.to) {
      integer_cost[reader] += cost / static_cast<double>(crossing.to.size());
    }
  }
  const StepsOfNodes float_steps_of(fp32.steps, fp32.graph);
  std::vector<double> gains;
  for (const NodeSet& block : blocks) {
    std::set<std::size_t> float_steps;
    double gain = 0.0;
    for (const NodeId id : block) {
      const auto cost = integer_cost.find(name_of(fp32.graph, id));
      if (cost != integer_cost.end()) gain += cost->second;
      if (const auto step = float_steps_of.step_of(id)) float_steps.insert(*step);
    }
    for (const std::size_t step : float_steps) gain -= fp32.seconds[step];
    gains.push_back(gain);
  }
  return gains;
}

}  // namespace qtool

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "qtool/exec/executor.h"
#include "qtool/quantize/quantize.h"

namespace qtool {

/// Corrects the roles in the `report` of a static quantization. If the plan of the emitted model
/// runs a node in another way than the target was expected to, the report then says how the plan
/// runs it.
void follow_plan(const std::vector<StepInfo>& steps, QuantizeReport& report);

/// The reason why a node is in FP32 although its target runs it on integers.
std::string no_kernel(std::string_view op_type);

/// The name of the node of a step, as name_of() gives it.
const std::string& label_of(const StepInfo& step);

}  // namespace qtool

#pragma once

#include <string>

namespace qtool {

/// What ONNX's own checker says against a model file; empty when it accepts it. It knows opsets up
/// to 17 and is only ever given files that qtool wrote.
std::string complaint_of_checker(const std::string& bytes);

}  // namespace qtool

#pragma once

#include <string>

namespace qtool {

/// The complaint of ONNX's own checker about a model file; empty when it accepts the file. It knows
/// opsets up to 17 and is only ever given files that qtool wrote.
std::string complaint_of_checker(const std::string& bytes);

}  // namespace qtool

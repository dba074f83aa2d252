#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "graph/onnx/proto.h"

namespace qtool {

/// The functions that a model defines, by domain and name. They hold no state: a node that calls
/// one is read as the nodes of the function.
class OnnxFunctions {
 public:
  /// `model` must live as long. `opsets`: what the model imports. Throws Error(kInvalidModel) when
  /// two functions have one name, and Error(kUnsupported) when a function imports another version
  /// of an operator set, unless the operators that it uses are the same in both.
  OnnxFunctions(const onnx::ModelProto& model, const std::map<std::string, std::int64_t>& opsets);

  /// The function that a node calls, or null.
  [[nodiscard]] const onnx::FunctionProto* find(const onnx::NodeProto& node) const;

 private:
  std::map<std::string, const onnx::FunctionProto*> functions_;
};

/// The attributes of a function that have a default. Since IR version 9, which is newer than the
/// library's: it keeps them as fields that it does not know.
std::vector<onnx::AttributeProto> default_attributes(const onnx::FunctionProto& function);

}  // namespace qtool

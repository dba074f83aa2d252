#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "graph/onnx/proto.h"

namespace qtool {

/// The functions that a model defines, by domain and name. Functions have no state, so a node that
/// calls a function is read as the nodes of the function.
class OnnxFunctions {
 public:
  /// `model` must outlive this object. `opsets` are the operator sets that the model imports.
  /// Throws Error(kInvalidModel) when two functions have the same name, and Error(kUnsupported)
  /// when a function imports another version of an operator set, unless the operators that it uses
  /// are the same in both.
  OnnxFunctions(const onnx::ModelProto& model, const std::map<std::string, std::int64_t>& opsets);

  /// The function that a node calls, or null.
  [[nodiscard]] const onnx::FunctionProto* find(const onnx::NodeProto& node) const;

 private:
  std::map<std::string, const onnx::FunctionProto*> functions_;
};

/// The attributes of a function that have a default. They exist since IR version 9. The ONNX
/// library is older and keeps them as unknown fields.
std::vector<onnx::AttributeProto> default_attributes(const onnx::FunctionProto& function);

}  // namespace qtool

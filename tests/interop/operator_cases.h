#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "graph/onnx/proto.h"

namespace qtool {

using Ints = std::vector<std::int64_t>;

/// A node with float32 inputs of random values, then constants.
struct Case {
  std::string op;
  std::int64_t opset = 17;
  std::vector<Ints> shapes;                   ///< of the inputs that are computed
  std::function<void(onnx::NodeProto&)> set;  ///< attributes
  std::vector<onnx::TensorProto> constants;   ///< the next inputs; one without a type is absent
  double tolerance = 1e-5;
  float low = -1.0F;  ///< limits of the random values
  float high = 1.0F;
  bool integers = false;  ///< the operator works on int32: casts before and after it
};

onnx::AttributeProto& add(onnx::NodeProto& node, const std::string& name,
                          onnx::AttributeProto::AttributeType type);

/// The cases that are compared with ONNX Runtime.
std::vector<Case> operator_cases();

}  // namespace qtool

// Random pieces of ONNX models that follow the schemas. The mutator puts them into a model.
#pragma once

#include <string>
#include <vector>

#include "graph/onnx/proto.h"
#include "random.h"

namespace qtool::fuzz {

/// The operands and attributes that the schema of an operator allows.
struct OperatorUse {
  std::string op_type;
  int least_inputs = 0;
  int most_inputs = 0;  ///< at most 5, also where the schema sets no limit
  int least_outputs = 0;
  int most_outputs = 0;  ///< at most 3
  struct Attribute {
    std::string name;
    onnx::AttributeProto::AttributeType type;
  };
  std::vector<Attribute> attributes;
};

/// Every operator of ONNX's own domain that the executor runs or an upgrade rewrites.
const std::vector<OperatorUse>& known_operators();
/// The row of an operator in known_operators(), or null.
const OperatorUse* find_use(const std::string& op_type);

/// The name of a random tensor of the graph; sometimes an empty name.
std::string any_name(Random& random, const onnx::GraphProto& graph);
std::string new_name(Random& random);

/// A random number that is usually small, and sometimes at the limits of an integer type.
std::int64_t random_int(Random& random);
float random_float(Random& random);
/// A random extent that is usually small, and sometimes of any magnitude up to 2^62.
std::int64_t random_extent(Random& random);
std::int32_t random_type(Random& random);

/// Gives the tensor random values that fit its type and shape. Sets extents that are too large to
/// 1.
void fill(Random& random, onnx::TensorProto& tensor);
/// Makes a random tensor of at most a few hundred elements.
void random_tensor(Random& random, onnx::TensorProto& tensor);
/// Sets `attribute` to a random value of its type, and sometimes of another type.
void random_value(Random& random, onnx::AttributeProto& attribute);
/// Makes a random attribute, which is usually one that the operator has.
void random_attribute(Random& random, const std::string& op_type, onnx::AttributeProto& attribute);

}  // namespace qtool::fuzz

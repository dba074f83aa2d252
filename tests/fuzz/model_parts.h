// Random pieces of ONNX models, in the words of the schemas: what the mutator puts into a model.
#pragma once

#include <string>
#include <vector>

#include "graph/onnx/proto.h"
#include "random.h"

namespace qtool::fuzz {

/// What the schema of an operator says about its use.
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
/// Its row, or null.
const OperatorUse* find_use(const std::string& op_type);

/// A tensor of the graph; now and then none, as an empty name.
std::string any_name(Random& random, const onnx::GraphProto& graph);
std::string new_name(Random& random);

/// Small as a rule, sometimes at the ends of a type.
std::int64_t random_int(Random& random);
float random_float(Random& random);
/// Small as a rule, sometimes of any magnitude up to 2^62.
std::int64_t random_extent(Random& random);
std::int32_t random_type(Random& random);

/// Gives the tensor as many values as its shape and type want.
void fill(Random& random, onnx::TensorProto& tensor);
/// A tensor of at most a few hundred elements.
void random_tensor(Random& random, onnx::TensorProto& tensor);
/// Sets `attribute` to a value of its type; also of another type, now and then.
void random_value(Random& random, onnx::AttributeProto& attribute);
/// An attribute that the operator has, or any other.
void random_attribute(Random& random, const std::string& op_type, onnx::AttributeProto& attribute);

}  // namespace qtool::fuzz

#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ops/operator.h"
#include "qtool/graph/graph.h"
#include "qtool/tensor/tensor.h"

namespace qtool::tests {

using Attributes = std::map<std::string, Attribute, std::less<>>;

/// One input of an operator under test: computed by another node, constant, or left out.
struct OpInput {
  std::optional<Tensor> tensor;
  bool constant = false;

  OpInput() = default;
  OpInput(Tensor value) : tensor(std::move(value)) {}  // NOLINT(google-explicit-constructor)
};

/// An input that is a constant of the model.
OpInput constant(Tensor tensor);
template <typename T>
OpInput constant(std::initializer_list<T> values) {
  return constant(Tensor::of<T>({static_cast<std::int64_t>(values.size())}, values));
}

/// The inputs of a case. A braced list cannot hold tensors, because they can only be moved.
template <typename... Items>
std::vector<OpInput> inputs(Items... items) {
  std::vector<OpInput> list;
  (list.emplace_back(std::move(items)), ...);
  return list;
}

/// An operator with its inputs, outside of any model.
struct OpCase {
  std::string op_type;
  std::vector<OpInput> inputs;
  Attributes attributes;
  std::size_t outputs = 1;
};

/// The types and shapes that the operator infers.
std::vector<ValueInfo> infer_op(const OpCase& test);

/// Runs the operator with computed rank-4 inputs and all rank-4 outputs in `layout`; the results
/// are in ONNX's element order.
std::vector<Tensor> run_op(const OpCase& test, Layout layout = Layout::kPlain, int threads = 1);

/// The message of the Error that inferring throws; empty when it throws none.
std::string infer_error(const OpCase& test);

/// float32 values of a fixed pseudo-random sequence in [low, high).
Tensor random_tensor(Shape shape, float low = -2.0F, float high = 2.0F, std::uint64_t seed = 1);

}  // namespace qtool::tests

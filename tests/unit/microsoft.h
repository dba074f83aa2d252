#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "base/text.h"
#include "qtool/base/error.h"
#include "qtool/exec/executor.h"
#include "qtool/graph/onnx.h"
#include "unit/run_op.h"

// Models of one operator of com.microsoft, for its tests.
namespace qtool::microsoft {

using tests::Attributes;
using tests::constant;
using tests::OpInput;
using tests::random_tensor;
using Ints = std::vector<std::int64_t>;
using Inputs = std::vector<OpInput>;

/// Copies the inputs, because tensors are move-only.
template <typename... T>
Inputs inputs_of(const T&... list) {
  Inputs inputs;
  const auto add = [&](const OpInput& input) {
    inputs.push_back({});
    if (input.tensor) inputs.back().tensor = input.tensor->clone();
    inputs.back().constant = input.constant;
  };
  (add(list), ...);
  return inputs;
}

inline Graph model_of(const std::string& op, const Inputs& inputs, const Attributes& attributes,
                      std::size_t outputs = 1) {
  Graph graph;
  graph.info.opsets = {{"", 13}, {"com.microsoft", 1}};
  Node node;
  node.name = "node";
  node.op_type = op;
  node.domain = "com.microsoft";
  node.attributes = attributes;
  for (const OpInput& input : inputs) {
    const std::string name = to_text("in_", node.inputs.size());
    if (!input.tensor) {
      node.inputs.push_back(kNoValue);
    } else if (input.constant) {
      node.inputs.push_back(graph.add_constant(name, input.tensor->clone()));
    } else {
      const ValueId id = graph.add_value(name);
      std::vector<Dim> dims;
      for (const std::int64_t dim : input.tensor->shape().dims()) dims.push_back({dim, {}});
      graph.declare(id, input.tensor->dtype(), dims);
      graph.add_input(id);
      node.inputs.push_back(id);
    }
  }
  for (std::size_t i = 0; i < outputs; ++i) {
    node.outputs.push_back(graph.add_value(to_text("out_", i)));
  }
  const std::vector<ValueId> results = node.outputs;
  graph.add_node(std::move(node));
  for (const ValueId id : results) graph.add_output(id);
  return graph;
}

/// Saves, loads, prepares and runs a model of one operator, and returns its outputs. Checks that
/// the prepared model is plain ONNX.
inline std::vector<Tensor> run(const std::string& op, const Inputs& inputs,
                               const Attributes& attributes = {}, std::size_t outputs = 1,
                               bool* integer = nullptr) {
  const Graph graph = model_of(op, inputs, attributes, outputs);
  const Executor executor(prepare(load_onnx_bytes(save_onnx_bytes(graph), "", "model")));
  EXPECT_EQ(executor.graph().info.opsets.size(), 1U);
  for (const NodeId id : executor.graph().nodes()) {
    EXPECT_EQ(executor.graph().node(id).domain, "");
  }
  const auto plan = executor.compile({});
  std::vector<TensorView> views;
  for (const PortInfo& port : plan->inputs()) {
    views.emplace_back(*inputs[std::stoul(port.name.substr(3))].tensor);
  }
  if (integer != nullptr) {
    for (const StepInfo& step : plan->steps()) *integer = *integer || step.integer;
  }
  Workspace workspace;
  std::vector<Tensor> results;
  for (const TensorView& view : plan->run(views, workspace)) results.push_back(to_tensor(view));
  return results;
}

/// The message of the Error that loading, preparing or compiling throws, or "accepted".
inline std::string refusal(const std::string& op, const Inputs& inputs,
                           const Attributes& attributes = {}) {
  try {
    const Graph graph = model_of(op, inputs, attributes);
    const Executor executor(prepare(load_onnx_bytes(save_onnx_bytes(graph), "", "model")));
    executor.compile({});
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("node"));
    return error.what();
  }
  return "accepted";
}

template <typename T>
Tensor random_integers(Shape shape, unsigned seed) {
  Tensor tensor(dtype_of<T>(), std::move(shape));
  std::mt19937 random(seed);
  for (T& value : tensor.values<T>()) value = static_cast<T>(random() & 255U);
  return tensor;
}

/// A tensor of integers, with their scale and zero point.
struct Operand {
  Tensor integers;
  float scale;
  int zero_point;

  [[nodiscard]] std::vector<double> reals() const {
    std::vector<double> all;
    for (const std::int64_t q : to_int64s(integers)) {
      all.push_back(static_cast<double>(scale) * static_cast<double>(q - zero_point));
    }
    return all;
  }
  [[nodiscard]] OpInput values() const { return integers.clone(); }
  [[nodiscard]] OpInput scales() const { return constant({scale}); }
  [[nodiscard]] OpInput zero() const {
    if (integers.dtype() == DType::kInt8) return constant({static_cast<std::int8_t>(zero_point)});
    return constant({static_cast<std::uint8_t>(zero_point)});
  }
};

template <typename T = std::uint8_t>
Operand operand(Shape shape, unsigned seed, float scale, int zero_point) {
  return {random_integers<T>(std::move(shape), seed), scale, zero_point};
}

/// The scale and zero point of a result.
inline const Operand kResult{Tensor(DType::kUInt8, {}), 0.0371F, 101};

/// Checks that the reals are rounded to the nearest integers of `result`'s type. A real within 1e-4
/// of a tie may go either way, because the program computes in single precision.
inline void expect_quantized(const Tensor& found, const std::vector<double>& reals,
                             const Operand& result = kResult) {
  const bool is_signed = result.integers.dtype() == DType::kInt8;
  ASSERT_EQ(found.dtype(), result.integers.dtype());
  ASSERT_EQ(static_cast<std::size_t>(found.elements()), reals.size());
  const std::vector<std::int64_t> integers = to_int64s(found);
  for (std::size_t i = 0; i < reals.size(); ++i) {
    const double exact =
        std::clamp(reals[i] / static_cast<double>(result.scale) + result.zero_point,
                   is_signed ? -128.0 : 0.0, is_signed ? 127.0 : 255.0);
    EXPECT_NEAR(static_cast<double>(integers[i]), exact, 0.5 + 1e-4) << "element " << i;
  }
}

inline void expect_reals(const Tensor& found, const std::vector<double>& expected,
                         double tolerance = 1e-5) {
  ASSERT_EQ(found.dtype(), DType::kFloat32);
  ASSERT_EQ(static_cast<std::size_t>(found.elements()), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(static_cast<double>(found.values<float>()[i]), expected[i],
                tolerance * std::max(1.0, std::abs(expected[i])))
        << "element " << i;
  }
}

inline std::vector<double> doubles(const Tensor& tensor) {
  const auto values = tensor.values<float>();
  return {values.begin(), values.end()};
}

template <typename F>
std::vector<double> map(const std::vector<double>& values, F f) {
  std::vector<double> all;
  for (const double value : values) all.push_back(f(value));
  return all;
}

}  // namespace qtool::microsoft

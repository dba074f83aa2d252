#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "qtool/base/error.h"
#include "qtool/exec/executor.h"
#include "support/parse_onnx.h"
#include "unit/onnx_check.h"
#include "unit/ops_of.h"

// Runs models in ONNX's text form, for tests of their functions and subgraphs.
namespace qtool {

inline std::vector<float> run(const Graph& graph, const std::vector<Tensor>& inputs,
                              const InputShapes& shapes = {}) {
  std::vector<float> first;
  for (const Lowering lowering : {Lowering::kInteger, Lowering::kReference}) {
    CompileOptions options;
    options.lowering = lowering;
    const auto plan = Executor(graph).compile(shapes, options);
    Workspace workspace;
    const std::vector<TensorView> views(inputs.begin(), inputs.end());
    const TensorView output = plan->run(views, workspace)[0];
    const auto* data = reinterpret_cast<const float*>(output.data);
    std::vector<float> values(data, data + output.shape.elements());
    if (lowering == Lowering::kReference) {
      EXPECT_EQ(values, first);
    }
    first = std::move(values);
  }
  return first;
}

// Runs the prepared model, and again after it is written to a file and read back. Both must compute
// the same values, which are returned.
inline std::vector<float> run_all_ways(const std::string& text, const std::vector<Tensor>& inputs) {
  const Graph prepared = prepare(load_text(text));
  const std::vector<float> values = run(prepared, inputs);
  const std::string bytes = save_onnx_bytes(prepared);
  EXPECT_EQ(complaint_of_checker(bytes), "");
  const Graph again = load_onnx_bytes(bytes, "", "again");
  EXPECT_EQ(fingerprint(again), fingerprint(prepared));
  EXPECT_EQ(run(prepare(again), inputs), values);
  return values;
}

inline Tensor floats(const std::vector<float>& values) {
  return Tensor::of<float>({std::ssize(values)}, std::span(values));
}

// A list of tensors. A braced list cannot hold them, because they cannot be copied.
template <typename... Tensors>
std::vector<Tensor> list(Tensors... tensors) {
  std::vector<Tensor> all;
  (all.push_back(std::move(tensors)), ...);
  return all;
}

inline std::string refusal_of(const std::string& text) {
  try {
    const Graph prepared = prepare(load_text(text));
    std::vector<Tensor> inputs;
    const auto plan = Executor(prepared).compile({});
    for (const PortInfo& port : plan->inputs()) inputs.emplace_back(port.dtype, port.shape);
    Workspace workspace;
    plan->run(std::vector<TensorView>(inputs.begin(), inputs.end()), workspace);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

inline constexpr const char* kHead = "<ir_version: 8, opset_import: [\"\": 17, \"local\": 1]>\n";

inline std::string with_function(const std::string& graph, const std::string& functions) {
  return to_text(kHead, graph, "\n", functions);
}

}  // namespace qtool

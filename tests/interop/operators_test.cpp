// Compares operators for which ONNX's backend suite has no case, or too few, with ONNX Runtime.
// There is one model per opset, with a node for each case, and both run it.
#include <gmock/gmock.h>

#include <cmath>
#include <filesystem>
#include <map>
#include <random>
#include <set>

#include "base/file.h"
#include "base/text.h"
#include "graph/onnx/proto.h"
#include "operator_cases.h"
#include "other_runtime.h"
#include "qtool/exec/executor.h"
#include "qtool/graph/onnx.h"
#include "support/judged_operators.h"

namespace qtool {
namespace {

/// Values in [low, high) that do not depend on the standard library.
Tensor random_values(const Ints& dims, float low, float high, std::mt19937& random) {
  Tensor tensor(DType::kFloat32, Shape(dims));
  for (float& value : tensor.values<float>()) {
    value = low + (high - low) * static_cast<float>(random() >> 8U) / 16777216.0F;
  }
  return tensor;
}

onnx::ValueInfoProto float_info(const std::string& name, const Ints* dims) {
  onnx::ValueInfoProto info;
  info.set_name(name);
  auto& type = *info.mutable_type()->mutable_tensor_type();
  type.set_elem_type(onnx::TensorProto::FLOAT);
  if (dims == nullptr) return info;
  for (const std::int64_t dim : *dims) type.mutable_shape()->add_dim()->set_dim_value(dim);
  return info;
}

onnx::NodeProto cast(const std::string& from, const std::string& to, std::int64_t type) {
  onnx::NodeProto node;
  node.set_op_type(std::string("Cast"));
  node.add_input(from);
  node.add_output(to);
  add(node, "to", onnx::AttributeProto::INT).set_i(type);
  return node;
}

/// Casts the inputs of the last node to int32 and its output back.
void work_on_integers(onnx::GraphProto& graph) {
  onnx::NodeProto node = graph.node(graph.node_size() - 1);
  graph.mutable_node()->RemoveLast();
  for (std::string& input : *node.mutable_input()) {
    *graph.add_node() = cast(input, to_text(input, "_int"), onnx::TensorProto::INT32);
    input += "_int";
  }
  const std::string result = node.output(0);
  node.set_output(0, to_text(result, "_int"));
  *graph.add_node() = node;
  *graph.add_node() = cast(node.output(0), result, onnx::TensorProto::FLOAT);
}

/// A model with one node per case; the inputs are called i<case>_<number>, the outputs o<case>.
struct OperatorModel {
  onnx::ModelProto proto;
  std::map<std::string, Tensor> inputs;

  OperatorModel(const std::vector<Case>& tests, std::int64_t opset) {
    std::mt19937 random(7);
    proto.set_ir_version(8);
    proto.add_opset_import()->set_version(opset);
    onnx::GraphProto& graph = *proto.mutable_graph();
    graph.set_name(std::string("cases"));
    for (std::size_t i = 0; i < tests.size(); ++i) {
      const Case& test = tests[i];
      onnx::NodeProto& node = *graph.add_node();
      node.set_op_type(test.op);
      node.set_name(to_text("n", i));
      for (std::size_t k = 0; k < test.shapes.size(); ++k) {
        const std::string name = to_text("i", i, "_", k);
        node.add_input(name);
        *graph.add_input() = float_info(name, &test.shapes[k]);
        inputs.emplace(name, random_values(test.shapes[k], test.low, test.high, random));
      }
      for (std::size_t k = 0; k < test.constants.size(); ++k) {
        const bool absent = test.constants[k].data_type() == 0;
        node.add_input(absent ? std::string() : to_text("c", i, "_", k));
        if (absent) continue;
        *graph.add_initializer() = test.constants[k];
        graph.mutable_initializer(graph.initializer_size() - 1)->set_name(to_text("c", i, "_", k));
      }
      if (test.set) test.set(node);
      node.add_output(to_text("o", i));
      if (test.integers) work_on_integers(graph);
      *graph.add_output() = float_info(to_text("o", i), nullptr);
    }
  }
};

void expect_close(const std::vector<Case>& tests, const std::vector<Tensor>& ours,
                  const OtherRun& other) {
  ASSERT_EQ(other.outputs.size(), tests.size());
  for (std::size_t i = 0; i < tests.size(); ++i) {
    SCOPED_TRACE(to_text("case ", i, ": ", tests[i].op));
    ASSERT_EQ(static_cast<std::size_t>(ours[i].elements()), other.outputs[i].size());
    double worst = 0;
    for (std::size_t k = 0; k < other.outputs[i].size(); ++k) {
      const double expected = static_cast<double>(other.outputs[i][k]);
      const double found = static_cast<double>(ours[i].values<float>()[k]);
      worst = std::max(worst, std::abs(found - expected) / std::max(1.0, std::abs(expected)));
    }
    EXPECT_LE(worst, tests[i].tolerance);
  }
}

OtherRun run_saved(const std::string& bytes, const OperatorModel& model) {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder.path / "cases.onnx";
  write_file(file, bytes);
  std::vector<NamedTensor> named;
  for (const auto& [name, tensor] : model.inputs) named.push_back({name, tensor});
  return run_other(file, named, folder.path);
}

/// Compares our executor with ONNX Runtime, which runs the model and also the prepared model that
/// we save.
void compare_operators(const std::vector<Case>& tests, std::int64_t opset) {
  const OperatorModel model(tests, opset);
  const std::string bytes = model.proto.SerializeAsString();
  const Executor executor(prepare(load_onnx_bytes(bytes, "", "cases")));
  InputShapes shapes;
  for (const auto& [name, tensor] : model.inputs) shapes.emplace(name, tensor.shape());
  const auto plan = executor.compile(shapes, {});
  std::vector<TensorView> views;
  for (const PortInfo& port : plan->inputs()) views.emplace_back(model.inputs.at(port.name));
  Workspace workspace;
  std::vector<Tensor> ours;
  for (const TensorView& output : plan->run(views, workspace)) ours.push_back(to_tensor(output));
  {
    SCOPED_TRACE("the model");
    expect_close(tests, ours, run_saved(bytes, model));
  }
  SCOPED_TRACE("the prepared model");
  expect_close(tests, ours, run_saved(save_onnx_bytes(executor.graph()), model));
}

TEST(Operators, GiveTheNumbersOfOnnxRuntime) {
  if (!other_is_installed()) GTEST_SKIP() << kNoOtherRuntime;
  std::map<std::int64_t, std::vector<Case>> by_opset;
  for (const Case& test : operator_cases()) by_opset[test.opset].push_back(test);
  for (const auto& [opset, tests] : by_opset) {
    SCOPED_TRACE(to_text("opset ", opset));
    compare_operators(tests, opset);
  }
}

TEST(Operators, OfNoBackendCaseHaveOneHere) {
  std::set<std::string> compared;
  for (const Case& test : operator_cases()) compared.insert(test.op);
  for (const std::string_view op : kJudgedByOnnxRuntime) {
    EXPECT_TRUE(compared.contains(std::string(op))) << op;
  }
}

}  // namespace
}  // namespace qtool

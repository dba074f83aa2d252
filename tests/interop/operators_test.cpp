// Operators that ONNX's backend suite has no case of, or too few, against ONNX Runtime: one model
// per operator set with a node for each case, computed by both.
#include <gmock/gmock.h>

#include <cmath>
#include <filesystem>
#include <functional>
#include <map>
#include <random>
#include <set>

#include "base/file.h"
#include "base/text.h"
#include "graph/onnx_proto.h"
#include "other_runtime.h"
#include "qtool/exec/executor.h"
#include "qtool/exec/prepare.h"
#include "qtool/graph/onnx.h"
#include "support/judged_operators.h"

namespace qtool {
namespace {

using Ints = std::vector<std::int64_t>;

/// A node with float32 inputs of random values, then constants.
struct Case {
  std::string op;
  std::int64_t opset = 17;
  std::vector<Ints> shapes;                   ///< of the inputs that are computed
  std::function<void(onnx::NodeProto&)> set;  ///< attributes
  std::vector<onnx::TensorProto> constants;  ///< of the inputs behind; one without a type is absent
  double tolerance = 1e-5;
  float low = -1.0F;  ///< of the random values
  float high = 1.0F;
};

onnx::AttributeProto& add(onnx::NodeProto& node, const std::string& name,
                          onnx::AttributeProto::AttributeType type) {
  onnx::AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(type);
  return attribute;
}

using Value = std::variant<std::int64_t, float, std::string, Ints>;

/// A function that sets these attributes.
std::function<void(onnx::NodeProto&)> with(std::vector<std::pair<std::string, Value>> values) {
  return [values = std::move(values)](onnx::NodeProto& node) {
    for (const auto& [name, value] : values) {
      if (const auto* number = std::get_if<std::int64_t>(&value)) {
        add(node, name, onnx::AttributeProto::INT).set_i(*number);
      } else if (const auto* real = std::get_if<float>(&value)) {
        add(node, name, onnx::AttributeProto::FLOAT).set_f(*real);
      } else if (const auto* text = std::get_if<std::string>(&value)) {
        add(node, name, onnx::AttributeProto::STRING).set_s(*text);
      } else {
        onnx::AttributeProto& list = add(node, name, onnx::AttributeProto::INTS);
        for (const std::int64_t item : std::get<Ints>(value)) list.add_ints(item);
      }
    }
  };
}

onnx::TensorProto ints(const Ints& values, const Ints& dims) {
  onnx::TensorProto tensor;
  tensor.set_data_type(onnx::TensorProto::INT64);
  for (const std::int64_t dim : dims) tensor.add_dims(dim);
  for (const std::int64_t value : values) tensor.add_int64_data(value);
  return tensor;
}

onnx::TensorProto floats(const std::vector<float>& values, const Ints& dims) {
  onnx::TensorProto tensor;
  tensor.set_data_type(onnx::TensorProto::FLOAT);
  for (const std::int64_t dim : dims) tensor.add_dims(dim);
  for (const float value : values) tensor.add_float_data(value);
  return tensor;
}

std::vector<Case> cases() {
  std::vector<Case> list;
  const auto text = [](const char* value) { return std::string(value); };
  for (const std::int64_t p : {1, 2, 3}) {
    list.push_back({"GlobalLpPool", 17, {{2, 3, 5, 4}}, with({{"p", p}}), {}});
    list.push_back({"LpPool",
                    17,
                    {{2, 3, 9, 8}},
                    with({{"p", p},
                          {"kernel_shape", Ints{3, 2}},
                          {"strides", Ints{2, 1}},
                          {"pads", Ints{1, 0, 1, 1}}}),
                    {}});
    list.push_back({"LpPool",
                    17,
                    {{1, 3, 9, 8}},
                    with({{"p", p},
                          {"kernel_shape", Ints{3, 3}},
                          {"strides", Ints{2, 2}},
                          {"auto_pad", text("SAME_UPPER")}}),
                    {}});
    list.push_back({"LpPool", 17, {{2, 3, 11}}, with({{"p", p}, {"kernel_shape", Ints{4}}}), {}});
  }
  for (const std::int64_t axis : {0, 1, -1}) {
    for (const std::int64_t p : {1, 2}) {
      list.push_back({"LpNormalization", 17, {{3, 4, 5}}, with({{"axis", axis}, {"p", p}}), {}});
    }
  }
  // A matrix product whatever the order of its axes, and what is none.
  for (const char* equation : {"bij,bjk->bik", "bhid,bhjd->bhij", "nchw,kc->nkhw", "ij,jk->ki",
                               "bij,bik->kj", "bij,bjk", "...ij,...jk->...ik"}) {
    const std::string terms = equation;
    const std::map<std::string, std::vector<Ints>> shapes = {
        {"bij,bjk->bik", {{2, 3, 4}, {2, 4, 5}}},
        {"bhid,bhjd->bhij", {{2, 3, 4, 8}, {2, 3, 5, 8}}},
        {"nchw,kc->nkhw", {{2, 3, 4, 5}, {6, 3}}},
        {"ij,jk->ki", {{3, 4}, {4, 5}}},
        {"bij,bik->kj", {{2, 3, 4}, {2, 3, 5}}},
        {"bij,bjk", {{2, 3, 4}, {2, 4, 5}}},
        {"...ij,...jk->...ik", {{2, 3, 4}, {2, 4, 6}}}};
    list.push_back({"Einsum", 17, shapes.at(terms), with({{"equation", terms}}), {}});
  }
  list.push_back(
      {"Einsum", 17, {{3, 4}, {4, 5}, {5, 2}}, with({{"equation", text("ab,bc,cd->ad")}}), {}});
  list.push_back({"Einsum", 17, {{3, 4}, {4}}, with({{"equation", text("ij,j->j")}}), {}});
  list.push_back({"Einsum", 17, {{4, 4, 3}}, with({{"equation", text("iij->j")}}), {}});
  for (const char* mode : {"nearest", "bilinear", "bicubic"}) {
    for (const char* padding : {"zeros", "border", "reflection"}) {
      for (const std::int64_t corners : {0, 1}) {
        Case test{"GridSample",
                  17,
                  {{2, 5, 6, 7}, {2, 4, 3, 2}},
                  with({{"mode", text(mode)},
                        {"padding_mode", text(padding)},
                        {"align_corners", corners}}),
                  {}};
        test.low = -1.3F;
        test.high = 1.3F;
        list.push_back(test);
      }
    }
  }
  for (const char* coordinates : {"half_pixel", "output_half_pixel"}) {
    for (const std::int64_t samples : {0, 2}) {
      list.push_back(
          {"RoiAlign",
           17,
           {{2, 3, 10, 12}},
           with({{"coordinate_transformation_mode", text(coordinates)},
                 {"output_height", std::int64_t{3}},
                 {"output_width", std::int64_t{2}},
                 {"sampling_ratio", samples},
                 {"spatial_scale", 0.5F}}),
           {floats({1, 2, 15, 17, 0, 0, 30, 30, 4, 4, 4.5F, 5}, {3, 4}), ints({0, 1, 1}, {3})}});
    }
  }
  for (const char* reduction : {"none", "add", "mul"}) {
    list.push_back(
        {"ScatterND",
         17,
         {{4, 5, 3}},
         with({{"reduction", text(reduction)}}),
         {ints({1, 4, 3, -5, 0, 2}, {3, 2}), floats({1, 2, 3, 4, 5, 6, 7, 8, 9}, {3, 3})}});
    list.push_back({"ScatterElements",
                    17,
                    {{4, 3}},
                    with({{"axis", std::int64_t{1}}, {"reduction", text(reduction)}}),
                    {ints({0, 2, 1, -1}, {2, 2}), floats({1, 2, 3, 4}, {2, 2})}});
  }
  return list;
}

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

/// A model with one node per case; the inputs are called i<case>_<number>, the outputs o<case>.
struct Model {
  onnx::ModelProto proto;
  std::map<std::string, Tensor> inputs;

  Model(const std::vector<Case>& tests, std::int64_t opset) {
    std::mt19937 random(7);
    proto.set_ir_version(8);
    proto.add_opset_import()->set_version(opset);
    onnx::GraphProto& graph = *proto.mutable_graph();
    graph.set_name(std::string("cases"));
    for (std::size_t i = 0; i < tests.size(); ++i) {
      const Case& test = tests[i];
      onnx::NodeProto& node = *graph.add_node();
      node.set_op_type(test.op);
      node.set_name(concat("n", i));
      for (std::size_t k = 0; k < test.shapes.size(); ++k) {
        const std::string name = concat("i", i, "_", k);
        node.add_input(name);
        *graph.add_input() = float_info(name, &test.shapes[k]);
        inputs.emplace(name, random_values(test.shapes[k], test.low, test.high, random));
      }
      for (std::size_t k = 0; k < test.constants.size(); ++k) {
        const bool absent = test.constants[k].data_type() == 0;
        node.add_input(absent ? std::string() : concat("c", i, "_", k));
        if (absent) continue;
        *graph.add_initializer() = test.constants[k];
        graph.mutable_initializer(graph.initializer_size() - 1)->set_name(concat("c", i, "_", k));
      }
      if (test.set) test.set(node);
      node.add_output(concat("o", i));
      *graph.add_output() = float_info(concat("o", i), nullptr);
    }
  }
};

void compare(const std::vector<Case>& tests, std::int64_t opset) {
  const Model model(tests, opset);
  const TemporaryFolder folder;
  const std::filesystem::path file = folder.path / "cases.onnx";
  const std::string bytes = model.proto.SerializeAsString();
  write_file(file, bytes);
  std::vector<NamedTensor> named;
  InputShapes shapes;
  for (const auto& [name, tensor] : model.inputs) {
    named.push_back({name, tensor});
    shapes.emplace(name, tensor.shape());
  }
  const OtherRun other = run_other(file, named, folder.path);
  ASSERT_EQ(other.outputs.size(), tests.size());

  const Executor executor(prepare(load_onnx_bytes(bytes, "", "cases")));
  const auto plan = executor.compile(shapes, {});
  std::vector<TensorView> views;
  for (const PortInfo& port : plan->inputs()) views.emplace_back(model.inputs.at(port.name));
  Workspace workspace;
  const auto outputs = plan->run(views, workspace);
  for (std::size_t i = 0; i < tests.size(); ++i) {
    SCOPED_TRACE(concat("case ", i, ": ", tests[i].op));
    const Tensor ours = to_tensor(outputs[i]);
    ASSERT_EQ(static_cast<std::size_t>(ours.elements()), other.outputs[i].size());
    double worst = 0;
    for (std::size_t k = 0; k < other.outputs[i].size(); ++k) {
      const double expected = static_cast<double>(other.outputs[i][k]);
      const double found = static_cast<double>(ours.values<float>()[k]);
      worst = std::max(worst, std::abs(found - expected) / std::max(1.0, std::abs(expected)));
    }
    EXPECT_LE(worst, tests[i].tolerance);
  }
}

TEST(Operators, GiveTheNumbersOfOnnxRuntime) {
  std::map<std::int64_t, std::vector<Case>> by_opset;
  for (const Case& test : cases()) by_opset[test.opset].push_back(test);
  for (const auto& [opset, tests] : by_opset) {
    SCOPED_TRACE(concat("opset ", opset));
    compare(tests, opset);
  }
}

TEST(Operators, OfNoBackendCaseHaveOneHere) {
  std::set<std::string> compared;
  for (const Case& test : cases()) compared.insert(test.op);
  for (const std::string_view op : kJudgedByOnnxRuntime) {
    EXPECT_TRUE(compared.contains(std::string(op))) << op;
  }
}

}  // namespace
}  // namespace qtool

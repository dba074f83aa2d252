#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "qtool/base/error.h"
#include "qtool/graph/onnx.h"
#include "unit/onnx_models.h"
#include "unit/ops_of.h"

namespace qtool {
namespace {

using onnx::AttributeProto;
using onnx::ModelProto;
using onnx::TensorProto;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> value_names(const Graph& graph, const std::vector<ValueId>& ids) {
  std::vector<std::string> names;
  for (const ValueId id : ids) names.push_back(graph.value(id).name);
  return names;
}

// Loads a changed small model and returns the message of the Error. Fails if there is none.
std::string load_refusal(ErrorCode code, const std::function<void(ModelProto&)>& change) {
  ModelProto model = small_model();
  change(model);
  try {
    load(model);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "the model was accepted";
  return {};
}

const Tensor& constant_named(const Graph& graph, std::string_view name) {
  const auto id = graph.find_value(name);
  if (!id || !graph.is_constant(*id)) throw std::runtime_error("no such constant");
  return *graph.value(*id).constant;
}

TEST(LoadOnnx, ReadsNodesTensorsAndModelInfo) {
  ModelProto model = small_model();
  model.set_producer_version("1.2");
  model.set_doc_string("doc");
  model.set_model_version(5);
  model.set_domain("org.example");
  auto* entry = model.add_metadata_props();
  entry->set_key("task");
  entry->set_value("none");
  *model.mutable_graph()->add_value_info() = tensor_info("sum", {2, 2});
  const Graph graph = load(model);
  EXPECT_THAT(value_names(graph, graph.inputs()), ElementsAre("x"));
  EXPECT_THAT(value_names(graph, graph.outputs()), ElementsAre("y"));
  EXPECT_THAT(ops_of(graph), ElementsAre("Add", "Relu"));
  EXPECT_THAT(constant_named(graph, "w").values<float>(), ElementsAre(1, 2, 3, 4));
  EXPECT_EQ(graph.value(*graph.find_value("sum")).dtype, DType::kFloat32);
  EXPECT_EQ(graph.info.producer_name, "test");
  EXPECT_EQ(graph.info.producer_version, "1.2");
  EXPECT_EQ(graph.info.doc_string, "doc");
  EXPECT_EQ(graph.info.model_version, 5);
  EXPECT_EQ(graph.info.domain, "org.example");
  EXPECT_EQ(graph.info.graph_name, "small");
  EXPECT_EQ(graph.info.metadata.at("task"), "none");
  EXPECT_EQ(graph.info.opsets.at(""), 13);
}

// Reports, steps of a plan and --exclude tell nodes apart by their names.
TEST(LoadOnnx, CallsTheSecondNodeOfANameByItsOutput) {
  ModelProto model = small_model();
  ASSERT_GE(model.graph().node_size(), 2);
  for (auto& node : *model.mutable_graph()->mutable_node()) node.set_name("same");
  const Graph graph = load(model);
  EXPECT_EQ(graph.node(graph.nodes()[0]).name, "same");
  for (std::size_t i = 1; i < graph.nodes().size(); ++i) {
    EXPECT_EQ(graph.node(graph.nodes()[i]).name, "");
  }
}

TEST(LoadOnnx, KeepsSymbolsAndTreatsNegativeExtentsAsUnknown) {
  ModelProto model = small_model();
  auto* shape = model.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type();
  shape->mutable_shape()->mutable_dim(0)->set_dim_param("N");
  shape->mutable_shape()->mutable_dim(1)->set_dim_value(-1);
  const Graph graph = load(model);
  const Value& x = graph.value(graph.inputs()[0]);
  EXPECT_THAT(*x.shape, ElementsAre(Dim{std::nullopt, "N"}, Dim{}));
}

TEST(LoadOnnx, SortsNodesThatAreListedOutOfOrder) {
  ModelProto model = small_model();
  model.mutable_graph()->mutable_node()->SwapElements(0, 1);
  EXPECT_THAT(ops_of(load(model)), ElementsAre("Add", "Relu"));
}

TEST(LoadOnnx, TakesInitializersListedAsInputsForConstants) {
  ModelProto model = small_model();
  model.set_ir_version(3);
  *model.mutable_graph()->add_input() = tensor_info("w", {2, 2});
  const Graph graph = load(model);
  EXPECT_THAT(value_names(graph, graph.inputs()), ElementsAre("x"));
  EXPECT_EQ(constant_named(graph, "w").elements(), 4);
}

TEST(LoadOnnx, AcceptsOpsetsAndIrVersionsFromTheFuture) {
  ModelProto model = small_model(99);
  model.set_ir_version(77);
  EXPECT_EQ(load(model).info.opsets.at(""), 99);
}

TEST(LoadOnnx, TreatsBothSpellingsOfTheOnnxDomainAsOne) {
  ModelProto model = small_model();
  model.mutable_opset_import(0)->set_domain("ai.onnx");
  model.mutable_graph()->mutable_node(0)->set_domain("ai.onnx");
  const Graph graph = load(model);
  EXPECT_EQ(graph.info.opsets.at(""), 13);
  EXPECT_EQ(graph.node(graph.nodes()[0]).domain, "");
}

TEST(LoadOnnx, ReadsEveryKindOfAttribute) {
  ModelProto model = small_model();
  auto* node = model.mutable_graph()->mutable_node(1);
  const auto add = [&](const std::string& name, AttributeProto::AttributeType type) {
    auto* attribute = node->add_attribute();
    attribute->set_name(name);
    attribute->set_type(type);
    return attribute;
  };
  add("i", AttributeProto::INT)->set_i(-3);
  add("f", AttributeProto::FLOAT)->set_f(0.5F);
  add("s", AttributeProto::STRING)->set_s("text");
  add("ints", AttributeProto::INTS)->add_ints(7);
  add("none", AttributeProto::INTS);
  add("floats", AttributeProto::FLOATS)->add_floats(1.5F);
  add("strings", AttributeProto::STRINGS)->add_strings("a");
  *add("t", AttributeProto::TENSOR)->mutable_t() = float_proto("", {}, {9});
  add("untyped", AttributeProto::UNDEFINED)->set_i(4);
  const Graph graph = load(model);
  const Node& relu = graph.node(graph.nodes()[1]);
  EXPECT_EQ(relu.get_int("i", 0), -3);
  EXPECT_EQ(relu.get_float("f", 0), 0.5F);
  EXPECT_EQ(relu.get_string("s", ""), "text");
  EXPECT_THAT(relu.get_ints("ints", {}), ElementsAre(7));
  EXPECT_TRUE(relu.get_ints("none", {1}).empty());
  EXPECT_THAT(std::get<std::vector<float>>(relu.attributes.at("floats")), ElementsAre(1.5F));
  EXPECT_THAT(std::get<std::vector<std::string>>(relu.attributes.at("strings")), ElementsAre("a"));
  EXPECT_THAT(relu.get_tensor("t")->values<float>(), ElementsAre(9));
  EXPECT_EQ(relu.get_int("untyped", 0), 4);
}

// One initializer of each element type, once in its typed field and once as raw bytes.
TEST(LoadOnnx, ReadsEveryElementTypeFromBothKindsOfStorage) {
  struct Case {
    int type;
    DType dtype;
    std::function<void(TensorProto&)> fill;
    std::string raw;
    float value;
  };
  const auto ints = [](TensorProto& t) { t.add_int32_data(5); };
  const std::vector<Case> cases = {
      {TensorProto::FLOAT, DType::kFloat32, [](TensorProto& t) { t.add_float_data(1.0F); },
       std::string("\0\0\x80\x3f", 4), 1},
      {TensorProto::DOUBLE, DType::kFloat64, [](TensorProto& t) { t.add_double_data(1.0); },
       std::string("\0\0\0\0\0\0\xf0\x3f", 8), 1},
      {TensorProto::FLOAT16, DType::kFloat16, [](TensorProto& t) { t.add_int32_data(0x3c00); },
       std::string("\0\x3c", 2), 1},
      {TensorProto::BFLOAT16, DType::kBFloat16, [](TensorProto& t) { t.add_int32_data(0x3f80); },
       std::string("\x80\x3f", 2), 1},
      {TensorProto::INT8, DType::kInt8, ints, "\5", 5},
      {TensorProto::UINT8, DType::kUInt8, ints, "\5", 5},
      {TensorProto::INT16, DType::kInt16, ints, std::string("\5\0", 2), 5},
      {TensorProto::UINT16, DType::kUInt16, ints, std::string("\5\0", 2), 5},
      {TensorProto::INT32, DType::kInt32, ints, std::string("\5\0\0\0", 4), 5},
      {TensorProto::BOOL, DType::kBool, ints, "\5", 1},
      {TensorProto::UINT32, DType::kUInt32, [](TensorProto& t) { t.add_uint64_data(5); },
       std::string("\5\0\0\0", 4), 5},
      {TensorProto::INT64, DType::kInt64, [](TensorProto& t) { t.add_int64_data(5); },
       std::string("\5\0\0\0\0\0\0\0", 8), 5},
      {TensorProto::UINT64, DType::kUInt64, [](TensorProto& t) { t.add_uint64_data(5); },
       std::string("\5\0\0\0\0\0\0\0", 8), 5},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(name_of(c.dtype));
    ModelProto model = small_model();
    for (const char* name : {"typed", "raw"}) {
      TensorProto& t = *model.mutable_graph()->add_initializer();
      t.set_name(name);
      t.set_data_type(c.type);
      t.add_dims(1);
      if (t.name() == "typed") {
        c.fill(t);
      } else {
        t.set_raw_data(c.raw);
      }
    }
    const Graph graph = load(model);
    EXPECT_EQ(constant_named(graph, "raw").dtype(), c.dtype);
    EXPECT_TRUE(identical(constant_named(graph, "raw"), constant_named(graph, "typed")));
    const Tensor real = to_float32(constant_named(graph, "raw"));
    EXPECT_EQ(real.values<float>()[0], c.value);
  }
}

TEST(LoadOnnx, RefusesDataThatDoNotFillTheShape) {
  const auto weight = [](ModelProto& m) { return m.mutable_graph()->mutable_initializer(0); };
  EXPECT_THAT(
      load_refusal(ErrorCode::kInvalidModel, [&](ModelProto& m) { weight(m)->set_dims(0, 3); }),
      HasSubstr("initializer 'w': found 4 values, expected 6 for shape [3, 2] of float32"));
  EXPECT_THAT(
      load_refusal(ErrorCode::kInvalidModel, [&](ModelProto& m) { weight(m)->set_dims(0, -2); }),
      HasSubstr("negative"));
  EXPECT_THAT(load_refusal(ErrorCode::kInvalidModel,
                           [&](ModelProto& m) { weight(m)->set_raw_data("12345"); }),
              HasSubstr("found 5 bytes, expected 16"));
  for (const std::int64_t extent :
       {std::int64_t{1} << 39, std::int64_t{1} << 60, std::int64_t{0x7fffffffffffffff}}) {
    EXPECT_THAT(load_refusal(ErrorCode::kInvalidModel,
                             [&](ModelProto& m) { weight(m)->set_dims(1, extent); }),
                HasSubstr("initializer 'w'"));
  }
}

TEST(LoadOnnx, RefusesValuesOutsideTheElementType) {
  EXPECT_THAT(load_refusal(ErrorCode::kInvalidModel,
                           [](ModelProto& m) {
                             TensorProto& t = *m.mutable_graph()->add_initializer();
                             t.set_name("k");
                             t.set_data_type(TensorProto::UINT8);
                             t.add_dims(1);
                             t.add_int32_data(256);
                           }),
              HasSubstr("initializer 'k': found the value 256 in a tensor of uint8"));
}

TEST(LoadOnnx, RefusesBrokenGraphs) {
  const auto invalid = [](const std::function<void(ModelProto&)>& change) {
    return load_refusal(ErrorCode::kInvalidModel, change);
  };
  EXPECT_THAT(invalid([](ModelProto& m) { m.mutable_graph()->mutable_node(0)->set_input(0, "z"); }),
              HasSubstr("node 'Add_sum' (Add): reads 'z', which no node, input or initializer"));
  EXPECT_THAT(invalid([](ModelProto& m) { m.mutable_graph()->mutable_node(0)->set_input(0, "y"); }),
              HasSubstr("is part of a cycle"));
  EXPECT_THAT(
      invalid([](ModelProto& m) { m.mutable_graph()->mutable_node(1)->set_output(0, "sum"); }),
      HasSubstr("value 'sum' is defined twice"));
  EXPECT_THAT(
      invalid([](ModelProto& m) { m.mutable_graph()->mutable_node(0)->set_output(0, "w"); }),
      HasSubstr("value 'w' is defined twice"));
  EXPECT_THAT(
      invalid([](ModelProto& m) { m.mutable_graph()->mutable_node(0)->set_output(0, "x"); }),
      HasSubstr("value 'x' is defined twice"));
  EXPECT_THAT(invalid([](ModelProto& m) { m.mutable_graph()->mutable_node(1)->add_output("y"); }),
              HasSubstr("value 'y' is defined twice"));
  EXPECT_THAT(invalid([](ModelProto& m) {
                *m.mutable_graph()->add_initializer() = float_proto("w", {1}, {1});
              }),
              HasSubstr("value 'w' is defined twice"));
  EXPECT_THAT(
      invalid([](ModelProto& m) { *m.mutable_graph()->add_input() = tensor_info("x", {1}); }),
      HasSubstr("value 'x' is defined twice"));
  EXPECT_THAT(invalid([](ModelProto& m) { m.mutable_graph()->mutable_output(0)->set_name("q"); }),
              HasSubstr("graph output 'q': nothing defines it"));
  EXPECT_THAT(
      invalid([](ModelProto& m) { *m.mutable_graph()->add_output() = tensor_info("y", {1}); }),
      HasSubstr("graph output 'y': is listed twice"));
  EXPECT_THAT(invalid([](ModelProto& m) { m.mutable_graph()->clear_output(); }),
              HasSubstr("the graph has no outputs"));
  EXPECT_THAT(invalid([](ModelProto& m) { m.clear_graph(); }), HasSubstr("has no graph"));
  EXPECT_THAT(invalid([](ModelProto& m) { m.clear_opset_import(); }),
              HasSubstr("does not import ONNX's own operator set"));
  EXPECT_THAT(invalid([](ModelProto& m) { m.mutable_graph()->mutable_node(0)->clear_op_type(); }),
              HasSubstr("names no operator"));
}

TEST(LoadOnnx, NamesTheNodeOfWhatItDoesNotSupport) {
  const auto unsupported = [](const std::function<void(ModelProto&)>& change) {
    return load_refusal(ErrorCode::kUnsupported, change);
  };
  const auto attribute = [](ModelProto& m, AttributeProto::AttributeType type) {
    auto* a = m.mutable_graph()->mutable_node(1)->add_attribute();
    a->set_name("a");
    a->set_type(type);
    return a;
  };
  EXPECT_THAT(unsupported([&](ModelProto& m) { attribute(m, AttributeProto::GRAPH); }),
              HasSubstr("opset 13: Relu (1 node 'Relu_y': a subgraph)"));
  EXPECT_THAT(unsupported([&](ModelProto& m) { attribute(m, AttributeProto::TYPE_PROTO); }),
              HasSubstr("attribute 'a' is of type 13 of ONNX"));
  EXPECT_THAT(unsupported([&](ModelProto& m) { attribute(m, AttributeProto::SPARSE_TENSOR); }),
              HasSubstr("opset 13: Relu (1 node 'Relu_y': a sparse tensor)"));
  EXPECT_THAT(unsupported([&](ModelProto& m) {
                attribute(m, AttributeProto::TENSOR)->mutable_t()->set_data_type(8);
              }),
              HasSubstr("attribute 'a': holds strings"));
  EXPECT_THAT(unsupported([](ModelProto& m) {
                m.mutable_graph()->add_sparse_initializer()->mutable_values()->set_name("s");
              }),
              HasSubstr("initializer 's': is sparse"));
  EXPECT_THAT(unsupported([](ModelProto& m) {
                auto* input = m.mutable_graph()->add_input();
                input->set_name("list");
                input->mutable_type()->mutable_sequence_type();
              }),
              HasSubstr("graph input 'list': is not a tensor"));
  EXPECT_THAT(unsupported([](ModelProto& m) {
                m.mutable_graph()->mutable_initializer(0)->set_data_type(23);
              }),
              HasSubstr("initializer 'w': has element type 23 of ONNX"));
}

TEST(LoadOnnx, NamesEveryOperatorThatIsNotSupportedWithItsCount) {
  const std::string message = load_refusal(ErrorCode::kUnsupported, [](ModelProto& m) {
    onnx::GraphProto& graph = *m.mutable_graph();
    const auto node = [&](const std::string& op, const std::string& domain) {
      *graph.add_node() = node_proto(op, {"y"}, {to_text(op, graph.node_size())});
      graph.mutable_node(graph.node_size() - 1)->set_domain(domain);
    };
    node("SequenceMap", "");
    auto* body = graph.mutable_node(2)->add_attribute();
    body->set_name(std::string("body"));
    body->set_type(AttributeProto::GRAPH);
    node("Sigmoid", "");
    for (int i = 0; i < 3; ++i) node("Attention", "com.acme");
    node("MelWeightMatrix", "");
    node("MelWeightMatrix", "");
  });
  EXPECT_THAT(message,
              HasSubstr("com.acme.Attention (3 nodes, the first is 'Attention_Attention4'), "
                        "MelWeightMatrix (2 nodes, the first is 'MelWeightMatrix_MelWeightMatrix7')"
                        ", SequenceMap (1 node 'SequenceMap_SequenceMap2': a subgraph)"));
}

TEST(LoadOnnx, NamesTheFile) {
  try {
    load_onnx_bytes("this is text", "", "notes.txt");
    FAIL() << "text was accepted";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("model 'notes.txt'"));
  }
  EXPECT_THROW(load_onnx("/nowhere/model.onnx"), Error);
}

}  // namespace
}  // namespace qtool

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "qtool/graph/onnx.h"
#include "unit/onnx_models.h"

namespace qtool {
namespace {

std::uint64_t print_of(const std::function<void(onnx::ModelProto&)>& change = {}) {
  onnx::ModelProto model = small_model();
  if (change) change(model);
  return fingerprint(load_onnx_bytes(model.SerializeAsString(), "", "model"));
}

TEST(Fingerprint, SurvivesSavingAndLoading) {
  const Graph graph = load_onnx_bytes(small_model().SerializeAsString(), "", "model");
  EXPECT_EQ(fingerprint(load_onnx_bytes(save_onnx_bytes(graph), "", "again")), fingerprint(graph));
}

TEST(Fingerprint, SurvivesSavingInANewerOpset) {
  onnx::ModelProto model = small_model();
  model.mutable_opset_import(0)->set_version(17);
  *model.mutable_graph()->add_node() = node_proto("Gelu", {"x"}, {"g"});  // came with opset 20
  *model.mutable_graph()->add_output() = tensor_info("g", {2, 2});
  const Graph graph = load_onnx_bytes(model.SerializeAsString(), "", "model");
  const Graph again = load_onnx_bytes(save_onnx_bytes(graph), "", "again");
  EXPECT_EQ(again.info.opsets.at(""), 20);
  EXPECT_EQ(fingerprint(again), fingerprint(graph));
}

TEST(Fingerprint, IgnoresMetadataAndTheOrderOfNodesAndConstants) {
  const auto two = [](onnx::ModelProto& m) {
    *m.mutable_graph()->add_node() = node_proto("Abs", {"x"}, {"a"});
    *m.mutable_graph()->add_output() = tensor_info("a", {2, 2});
    *m.mutable_graph()->add_initializer() = float_proto("v", {1}, {5});
    m.mutable_graph()->mutable_node(0)->set_op_type(std::string("Sum"));  // takes any number
    m.mutable_graph()->mutable_node(0)->add_input(std::string("v"));
  };
  const auto swapped = [&](onnx::ModelProto& m) {
    two(m);
    m.mutable_graph()->mutable_node()->SwapElements(0, 2);
    m.mutable_graph()->mutable_initializer()->SwapElements(0, 1);
    m.set_producer_name(std::string("somebody else"));
    m.set_doc_string(std::string("text"));
    m.mutable_graph()->set_name(std::string("other"));
  };
  EXPECT_EQ(print_of(two), print_of(swapped));
  EXPECT_NE(print_of(two), print_of());
}

TEST(Fingerprint, NoticesEveryPartOfTheGraph) {
  using onnx::ModelProto;
  const std::function<void(ModelProto&)> changes[] = {
      [](ModelProto& m) { m.mutable_opset_import(0)->set_version(14); },
      [](ModelProto& m) { m.mutable_graph()->mutable_node(0)->set_name(std::string("other")); },
      [](ModelProto& m) { m.mutable_graph()->mutable_node(0)->set_op_type(std::string("Sub")); },
      [](ModelProto& m) {
        m.mutable_graph()->mutable_node(0)->mutable_input()->SwapElements(0, 1);
      },
      [](ModelProto& m) { m.mutable_graph()->mutable_initializer(0)->set_float_data(0, 9); },
      [](ModelProto& m) {
        m.mutable_graph()->mutable_initializer(0)->set_dims(0, 4);
        m.mutable_graph()->mutable_initializer(0)->set_dims(1, 1);
      },
      [](ModelProto& m) {
        m.mutable_graph()->mutable_node(0)->set_output(0, std::string("t"));
        m.mutable_graph()->mutable_node(1)->set_input(0, std::string("t"));
      },
      [](ModelProto& m) {
        *m.mutable_graph()->mutable_input(0) = tensor_info("x", {1, 2});
      },
      [](ModelProto& m) {
        auto* a = m.mutable_graph()->mutable_node(0)->add_attribute();
        a->set_name(std::string("axis"));
        a->set_type(onnx::AttributeProto::INT);
        a->set_i(1);
      },
  };
  std::vector<std::uint64_t> prints = {print_of()};
  for (const auto& change : changes) prints.push_back(print_of(change));
  std::sort(prints.begin(), prints.end());
  EXPECT_EQ(std::adjacent_find(prints.begin(), prints.end()), prints.end());
}

}  // namespace
}  // namespace qtool

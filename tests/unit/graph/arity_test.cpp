#include "graph/arity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "base/text.h"
#include "graph/passes/passes.h"
#include "qtool/base/error.h"
#include "qtool/graph/onnx.h"
#include "qtool/quantize/target.h"
#include "unit/onnx_models.h"
#include "unit/onnx_schemas.h"

namespace qtool {
namespace {

using ::testing::HasSubstr;

// The message of the Error that loading `outputs = op(inputs)` throws, or "accepted".
std::string arity_refusal(const std::string& op, const std::vector<std::string>& inputs,
                          const std::vector<std::string>& outputs, std::int64_t opset = 17) {
  onnx::ModelProto model = small_model(opset);
  model.mutable_graph()->clear_node();
  onnx::NodeProto node = node_proto(op, inputs, {"y"});
  node.set_name(std::string("n"));
  node.clear_output();
  for (const std::string& output : outputs) node.add_output(output);
  *model.mutable_graph()->add_node() = node;
  try {
    load_onnx_bytes(model.SerializeAsString(), "", "m");
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidModel);
    return error.what();
  }
  return "accepted";
}

TEST(Arity, IsThatOfTheSchemasOfOnnx) {
  const std::vector<DeclaredOperator> declared = declared_operators();
  EXPECT_GT(declared.size(), 350U);
  for (const DeclaredOperator& op : declared) {
    const Arity* arity = find_arity(op.op_type, op.since);
    const std::string wanted = to_text(op.op_type, ": .arity = {{", op.since, ", \"", op.inputs,
                                       "\", \"", op.outputs, "\"}}");
    ASSERT_NE(arity, nullptr) << wanted;
    EXPECT_EQ(arity->inputs, op.inputs) << wanted;
    EXPECT_EQ(arity->outputs, op.outputs) << wanted;
  }
}

TEST(Arity, HasNoRowThatSaysNothingNew) {
  for (const OpTraits& traits : all_op_traits()) {
    const Arity* before = nullptr;
    for (const Arity& row : traits.arity) {
      EXPECT_FALSE(before != nullptr && before->inputs == row.inputs &&
                   before->outputs == row.outputs)
          << traits.op_type << " " << row.since;
      before = &row;
    }
  }
}

TEST(Arity, IsKnownOfEveryOperatorThatPassesLookInto) {
  const auto expect_row = [](std::string_view op) {
    EXPECT_NE(find_arity(op, kCanonicalOpset), nullptr) << op;
  };
#define QTOOL_OP(name, ...) expect_row(#name);
#include "graph/operators.inc"
#define QTOOL_UPGRADE(op, rule) expect_row(#op);
#include "graph/upgrade/upgrades.inc"
  for (const Target& target : targets()) {
    for (const std::string_view op : target.ops) expect_row(op);
  }
}

TEST(Arity, FollowsTheOpsetOfTheModel) {
  EXPECT_EQ(arity_refusal("Squeeze", {"x"}, {"y"}, 13), "accepted");
  EXPECT_EQ(arity_refusal("Squeeze", {"x", "w"}, {"y"}, 13), "accepted");
  EXPECT_THAT(arity_refusal("Squeeze", {"x", "w"}, {"y"}, 12),
              HasSubstr("found 2 inputs, expected 1"));
  EXPECT_EQ(arity_refusal("ReduceMean", {"x", "w"}, {"y"}, 18), "accepted");
  EXPECT_THAT(arity_refusal("ReduceMean", {"x", "w"}, {"y"}, 17),
              HasSubstr("expected 1 (opset 17)"));
}

TEST(Arity, IsSaidWithNodeFoundAndExpected) {
  EXPECT_EQ(arity_refusal("Add", {"x"}, {"y"}),
            "model 'm': node 'n' (Add): found 1 input, expected 2 (opset 17)");
  EXPECT_THAT(arity_refusal("Conv", {"x", "w", "w", "w"}, {"y"}),
              HasSubstr("found 4 inputs, expected 2 to 3"));
  EXPECT_THAT(arity_refusal("Concat", {}, {"y"}), HasSubstr("found 0 inputs, expected at least 1"));
  EXPECT_THAT(arity_refusal("Relu", {"x"}, {"y", "z"}), HasSubstr("found 2 outputs, expected 1"));
  EXPECT_THAT(arity_refusal("Relu", {"x"}, {}), HasSubstr("found 0 outputs, expected 1"));
  EXPECT_THAT(arity_refusal("Add", {"x", ""}, {"y"}),
              HasSubstr("input 1 has no name, expected one"));
  EXPECT_THAT(arity_refusal("Concat", {"x", "", "x"}, {"y"}), HasSubstr("input 1 has no name"));
  EXPECT_THAT(arity_refusal("TopK", {"x", "w"}, {"", "y"}), HasSubstr("output 0 has no name"));
}

TEST(Arity, LeavesOptionalOperandsAndForeignOperatorsFree) {
  EXPECT_EQ(arity_refusal("Clip", {"x", "", "w"}, {"y"}), "accepted");
  EXPECT_EQ(arity_refusal("LSTM", {"x", "w", "w", "", ""}, {"", "y"}), "accepted");
  EXPECT_EQ(arity_refusal("OfTheFuture", {"", "x", ""}, {"", "y"}), "accepted");
}

}  // namespace
}  // namespace qtool

#include "graph/op_traits.h"

#include <gtest/gtest.h>

#include <string>

#include "ops/operator.h"

namespace qtool {
namespace {

Node node_of(std::string op_type) {
  Node node;
  node.op_type = std::move(op_type);
  return node;
}

TEST(OpTraits, AreThoseOfTheNamedOperator) {
  EXPECT_EQ(traits_of("Conv").kind, OpKind::kConvolution);
  EXPECT_EQ(traits_of("MatMul").kind, OpKind::kMatrixProduct);
  EXPECT_EQ(traits_of("Transpose").kind, OpKind::kMoving);
  EXPECT_EQ(traits_of("Sigmoid").kind, OpKind::kElementwise);
  EXPECT_EQ(traits_of("ArgMax").type, TypeRule::kInt64);
  EXPECT_EQ(traits_of("Gemm").rank, RankRule::kTwo);
}

TEST(OpTraits, SayNothingOfUnknownOperatorsAndOtherDomains) {
  for (const OpTraits& unknown : {traits_of("Convolution"), traits_of(""), traits_of("zzz"),
                                  traits_of("Conv", "com.microsoft")}) {
    EXPECT_EQ(unknown.kind, OpKind::kOther);
    EXPECT_EQ(unknown.rank, RankRule::kUnknown);
    EXPECT_EQ(unknown.weights, WeightAxis::kNone);
  }
}

TEST(OpTraits, AreThereForEveryOperatorThatRuns) {
#define QTOOL_OP(name, ...)                   \
  EXPECT_EQ(traits_of(#name).op_type, #name); \
  EXPECT_NE(find_op(#name, ""), nullptr) << #name;
#include "graph/operators.inc"
}

TEST(OpTraits, ProductsAddUp) {
  EXPECT_TRUE(is_product(OpKind::kConvolution));
  EXPECT_TRUE(is_product(OpKind::kMatrixProduct));
  EXPECT_TRUE(is_product(OpKind::kRecurrent));
  EXPECT_FALSE(is_product(OpKind::kAveraging));
  EXPECT_FALSE(is_product(OpKind::kMoving));
}

TEST(WeightAxis, IsWhereTheOutputChannelsLie) {
  EXPECT_EQ(weight_axis(node_of("Conv")), 0);
  EXPECT_EQ(weight_axis(node_of("ConvTranspose")), 1);
  EXPECT_EQ(weight_axis(node_of("MatMul")), 1);
  Node gemm = node_of("Gemm");
  EXPECT_EQ(weight_axis(gemm), 1);
  gemm.attributes["transB"] = std::int64_t{1};
  EXPECT_EQ(weight_axis(gemm), 0);
  EXPECT_EQ(weight_axis(node_of("Relu")), std::nullopt);
  gemm.domain = "com.microsoft";
  EXPECT_EQ(weight_axis(gemm), std::nullopt);
}

}  // namespace
}  // namespace qtool

// Models that define functions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "unit/text_models.h"

namespace qtool {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Functions, BecomeTheNodesOfEachCallNamedAfterIt) {
  const std::string text = with_function(
      R"(main (float[3] x) => (float[3] y) {
           a = local.Twice (x)
           y = local.Twice (a)
         })",
      R"(<domain: "local", opset_import: ["" : 17]>
         Twice (v) => (w) { half = Identity (v)  w = Add (half, v) })");
  const Graph graph = load_text(text);
  EXPECT_THAT(ops_of(graph), ElementsAre("Identity", "Add", "Identity", "Add"));
  EXPECT_TRUE(graph.find_value("Twice/half"));
  EXPECT_TRUE(graph.find_value("Twice/half_1"));
  EXPECT_THAT(run_all_ways(text, list(floats({1, 2, -3}))), ElementsAre(4, 8, -12));
}

TEST(Functions, TakeAttributesCallEachOtherAndLeaveOperandsOut) {
  const std::string text = with_function(
      R"(main (float[4] x) => (float[4] y) { y = local.Outer <slope: float = 0.5> (x) })",
      R"(<domain: "local", opset_import: ["" : 17, "local" : 1]>
         Outer <slope> (v) => (w) { w, unused = local.Inner <alpha: float = @slope> (v) }
         <domain: "local", opset_import: ["" : 17]>
         Inner <alpha> (v, high) => (w, same) {
           r = LeakyRelu <alpha: float = @alpha> (v)
           w = Clip (r, , high)
           same = Identity (v)
         })");
  EXPECT_THAT(run_all_ways(text, list(floats({-4, -1, 0, 3}))), ElementsAre(-2, -0.5F, 0, 3));
}

TEST(Functions, MayHandOutAnInput) {
  onnx::ModelProto model = parse_onnx(with_function(
      "main (float[2] x) => (float[2] y) { a = local.Same (x)  y = Neg (a) }",
      R"(<domain: "local", opset_import: ["" : 17]> Same (v) => (v) { unused = Abs (v) })"));
  EXPECT_THAT(
      run(prepare(load_onnx_bytes(model.SerializeAsString(), "", "m")), list(floats({1, -2}))),
      ElementsAre(-1, 2));
}

TEST(Functions, HaveDefaultAttributesSinceVersion9) {
  onnx::ModelProto model =
      parse_onnx(with_function("main (float[2] x) => (float[2] y) { y = local.Leak (x) }",
                               R"(<domain: "local", opset_import: ["" : 17]>
         Leak <alpha> (v) => (w) { w = LeakyRelu <alpha: float = @alpha> (v) })"));
  onnx::AttributeProto value;
  value.set_name("alpha");
  value.set_type(onnx::AttributeProto::FLOAT);
  value.set_f(0.25F);
  onnx::FunctionProto& function = *model.mutable_functions(0);
  function.clear_attribute();
  function.mutable_unknown_fields()->AddLengthDelimited(11, value.SerializeAsString());
  EXPECT_THAT(
      run(prepare(load_onnx_bytes(model.SerializeAsString(), "", "m")), list(floats({-4, 2}))),
      ElementsAre(-1, 2));
}

TEST(Functions, AreRefusedWhenTheyCallThemselvesOrGrowWithoutEnd) {
  EXPECT_THAT(refusal_of(with_function("main (float[2] x) => (float[2] y) { y = local.F (x) }",
                                       R"(<domain: "local", opset_import: ["local" : 1]>
                     F (v) => (w) { w = local.F (v) })")),
              HasSubstr("function 'F' calls itself"));
  std::string chain;
  for (int i = 0; i < 12; ++i) {
    chain += to_text("<domain: \"local\", opset_import: [\"local\" : 1]> F", i, " (v) => (w) {");
    for (int k = 0; k < 4; ++k) {
      chain += to_text(k == 3 ? "w" : to_text("t", k), " = local.F", i + 1, " (",
                       k == 0 ? "v" : to_text("t", k - 1), ")\n");
    }
    chain += "}\n";
  }
  chain += "<domain: \"local\", opset_import: [\"\" : 17]> F12 (v) => (w) { w = Abs (v) }";
  EXPECT_THAT(
      refusal_of(with_function("main (float[2] x) => (float[2] y) { y = local.F0 (x) }", chain)),
      HasSubstr("the calls of functions"));
}

TEST(Functions, AreRefusedWhenTheirOpsetHasAnotherMeaning) {
  const auto with_opset = [](int opset, const std::string& op) {
    return with_function("main (float[2, 2] x) => (float[2, 2] y) { y = local.F (x) }",
                         to_text("<domain: \"local\", opset_import: [\"\" : ", opset,
                                 "]> F (v) => (w) { w = ", op, " (v) }"));
  };
  EXPECT_EQ(refusal_of(with_opset(15, "Softmax")), "");
  EXPECT_THAT(refusal_of(with_opset(11, "Softmax")),
              HasSubstr("function 'F': its Softmax is of version 11"));
}

}  // namespace
}  // namespace qtool

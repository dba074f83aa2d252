#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <string_view>

#include "qtool/base/error.h"
#include "unit/run_op.h"
#include "unit/values_of.h"

namespace qtool {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using tests::constant;
using tests::infer_error;
using tests::infer_op;
using tests::inputs;
using tests::OpCase;
using tests::OpInput;
using tests::random_tensor;
using tests::run_op;
using Ints = std::vector<std::int64_t>;

Tensor float_tensor(Shape shape, std::initializer_list<float> values) {
  return Tensor::of<float>(std::move(shape), values);
}

Tensor counting(Shape shape) {
  Tensor tensor(DType::kFloat32, std::move(shape));
  const std::span<float> values = tensor.values<float>();
  std::iota(values.begin(), values.end(), 0.0F);
  return tensor;
}

OpCase op_case(std::string op_type, std::vector<OpInput> items, tests::Attributes attributes = {},
               std::size_t outputs = 1) {
  return {std::move(op_type), std::move(items), std::move(attributes), outputs};
}

TEST(Binary, BroadcastsBothOperands) {
  const auto result = run_op(op_case("Add", inputs(counting({3, 1}), counting({4}))));
  EXPECT_EQ(result[0].shape(), (Shape{3, 4}));
  EXPECT_THAT(values_of(result[0]), ElementsAre(0, 1, 2, 3, 1, 2, 3, 4, 2, 3, 4, 5));
}

TEST(Binary, BroadcastsAScalarToAnEmptyTensor) {
  const auto result = run_op(op_case("Mul", inputs(counting({0, 4}), float_tensor({}, {2}))));
  EXPECT_EQ(result[0].shape(), (Shape{0, 4}));
}

TEST(Binary, AddsARankThreeOperandToAChannelsLastOne) {
  const Tensor a = random_tensor({2, 3, 4, 5});
  const Tensor b = random_tensor({3, 1, 1}, -1, 1, 2);
  const Tensor c = random_tensor({4, 1}, -1, 1, 3);
  for (const Tensor* other : {&b, &c}) {
    OpCase test{"Sub", {}, {}, 1};
    test.inputs.emplace_back(a.clone());
    test.inputs.emplace_back(other->clone());
    const auto plain = run_op(test);
    const auto last = run_op(test, Layout::kChannelsLast);
    EXPECT_TRUE(identical(plain[0], last[0]));
  }
}

TEST(Binary, RefusesShapesThatDoNotFit) {
  EXPECT_EQ(infer_error(op_case("Add", inputs(counting({3}), counting({4})))),
            "node 'test' (Add): shapes [3] and [4] cannot be broadcast to each other");
}

TEST(Binary, RefusesDifferentTypes) {
  EXPECT_THAT(
      infer_error(op_case("Add", inputs(counting({3}), Tensor::of<std::int64_t>({3}, {1, 2, 3})))),
      HasSubstr("input 1 has type int64, expected float32 as input 0"));
}

TEST(Binary, ReportsAnIntegerDivisionByZero) {
  const auto zero = op_case(
      "Div", inputs(Tensor::of<std::int64_t>({2}, {1, 2}), Tensor::of<std::int64_t>({2}, {1, 0})));
  EXPECT_THROW(run_op(zero), Error);
  constexpr auto kLowest = std::numeric_limits<std::int32_t>::min();
  const auto overflow = op_case(
      "Div", inputs(Tensor::of<std::int32_t>({1}, {kLowest}), Tensor::of<std::int32_t>({1}, {-1})));
  EXPECT_EQ(run_op(overflow)[0].values<std::int32_t>()[0], kLowest);
}

TEST(Cast, SaturatesFloatsOutsideTheIntegerType) {
  const float inf = std::numeric_limits<float>::infinity();
  const auto result =
      run_op(op_case("Cast", inputs(float_tensor({6}, {-1.7F, 2.9F, 3e9F, -inf, inf, NAN})),
                     {{"to", std::int64_t{6}}}));
  EXPECT_THAT(result[0].values<std::int32_t>(),
              ElementsAre(-1, 2, 2147483647, -2147483647 - 1, 2147483647, 0));
}

TEST(Reshape, CopiesZerosAndInfersOneExtent) {
  OpCase test{"Reshape", {}, {}, 1};
  test.inputs.emplace_back(counting({2, 3, 4}));
  test.inputs.push_back(constant<std::int64_t>({0, -1}));
  EXPECT_EQ(infer_op(test)[0].shape, (Shape{2, 12}));
  test.inputs[1] = constant<std::int64_t>({5, -1});
  EXPECT_THAT(infer_error(test), HasSubstr("does not fit"));
  test.inputs[1] = constant<std::int64_t>({-1, -1});
  EXPECT_THAT(infer_error(test), HasSubstr("more than one -1"));
  test.inputs[1] = constant<std::int64_t>({std::int64_t{1} << 40, std::int64_t{1} << 40});
  EXPECT_THAT(infer_error(test), HasSubstr("more than"));
}

TEST(Slice, FollowsPythonForNegativeStepsAndFarBounds) {
  constexpr auto kLowest = std::numeric_limits<std::int64_t>::min();
  OpCase test{"Slice", {}, {}, 1};
  test.inputs.emplace_back(counting({2, 5}));
  test.inputs.push_back(constant<std::int64_t>({-1, 1}));
  test.inputs.push_back(constant<std::int64_t>({kLowest, 1000}));
  test.inputs.push_back(constant<std::int64_t>({1, 0}));
  test.inputs.push_back(constant<std::int64_t>({-2, 1}));
  const auto result = run_op(test);
  EXPECT_EQ(result[0].shape(), (Shape{1, 3}));
  EXPECT_THAT(values_of(result[0]), ElementsAre(9, 7, 5));
  test.inputs[4] = constant<std::int64_t>({kLowest, 1});
  EXPECT_THAT(values_of(run_op(test)[0]), ElementsAre(9));
  test.inputs[4] = constant<std::int64_t>({0, 1});
  EXPECT_THAT(infer_error(test), HasSubstr("a step is 0"));
}

TEST(Pad, RepeatsReflectsAndCrops) {
  OpCase test{"Pad", {}, {{"mode", std::string("reflect")}}, 1};
  test.inputs.emplace_back(counting({1, 4}));
  test.inputs.push_back(constant<std::int64_t>({0, 2, 0, 3}));
  EXPECT_THAT(values_of(run_op(test)[0]), ElementsAre(2, 1, 0, 1, 2, 3, 2, 1, 0));
  test.attributes["mode"] = std::string("edge");
  test.inputs[1] = constant<std::int64_t>({1, 1, 0, -2});
  EXPECT_THAT(values_of(run_op(test)[0]), ElementsAre(0, 0, 1, 0, 0, 1));
  test.attributes["mode"] = std::string("constant");
  EXPECT_THAT(values_of(run_op(test)[0]), ElementsAre(0, 0, 0, 0, 0, 1));
  test.attributes["mode"] = std::string("reflect");
  test.inputs[1] = constant<std::int64_t>({0, 4, 0, 0});
  EXPECT_THAT(infer_error(test), HasSubstr("a pad of 4 does not fit axis 1 of extent 4"));
}

TEST(Gather, RefusesIndicesOutsideTheAxis) {
  OpCase test{"Gather", {}, {}, 1};
  test.inputs.emplace_back(counting({3, 2}));
  test.inputs.emplace_back(Tensor::of<std::int64_t>({2}, {-1, 0}));
  EXPECT_THAT(values_of(run_op(test)[0]), ElementsAre(4, 5, 0, 1));
  test.inputs[1] = Tensor::of<std::int64_t>({1}, {3});
  EXPECT_THROW(run_op(test), Error);
}

TEST(Split, ListsAllPartsAndChecksTheirSum) {
  OpCase test{"Split", {}, {{"axis", std::int64_t{1}}}, 3};
  test.inputs.emplace_back(counting({2, 4}));
  test.inputs.push_back(constant<std::int64_t>({1, 0, 3}));
  const auto parts = run_op(test);
  EXPECT_THAT(values_of(parts[0]), ElementsAre(0, 4));
  EXPECT_EQ(parts[1].elements(), 0);
  EXPECT_THAT(values_of(parts[2]), ElementsAre(1, 2, 3, 5, 6, 7));
  test.inputs[1] = constant<std::int64_t>({1, 1, 3});
  EXPECT_THAT(infer_error(test), HasSubstr("add up to 5"));
}

TEST(QuantizeLinear, RoundsTiesToEvenAndSaturates) {
  OpCase test{"QuantizeLinear", {}, {}, 1};
  const float inf = std::numeric_limits<float>::infinity();
  test.inputs.emplace_back(
      float_tensor({9}, {0.5F, 1.5F, 2.5F, -0.5F, -129.5F, 300.0F, inf, -inf, NAN}));
  test.inputs.push_back(constant(Tensor::scalar(1.0F)));
  test.inputs.push_back(constant(Tensor::scalar<std::uint8_t>(128)));
  EXPECT_THAT(run_op(test)[0].values<std::uint8_t>(),
              ElementsAre(128, 130, 130, 128, 0, 255, 255, 0, 128));
}

TEST(QuantizeLinear, RefusesAScaleOfTheWrongLength) {
  OpCase test{"QuantizeLinear", {}, {{"axis", std::int64_t{0}}}, 1};
  test.inputs.emplace_back(counting({2, 3}));
  test.inputs.push_back(constant<float>({1, 2, 3}));
  EXPECT_THAT(infer_error(test), HasSubstr("the scale has 3 elements, axis 0 has extent 2"));
}

TEST(Reduce, DoesNotDependOnTheNumberOfThreads) {
  for (const Ints& axes : {Ints{0, 2}, Ints{1}, Ints{3}, Ints{2, 3}, Ints{}}) {
    const auto test =
        op_case("ReduceMean", inputs(random_tensor({3, 17, 40, 41})), {{"axes", axes}});
    for (const Layout layout : {Layout::kPlain, Layout::kChannelsLast}) {
      EXPECT_TRUE(identical(run_op(test, layout, 1)[0], run_op(test, layout, 3)[0]));
    }
  }
}

TEST(Elementwise, DoesNotDependOnTheNumberOfThreads) {
  const auto test =
      op_case("Add", inputs(random_tensor({1, 33, 40, 41}), random_tensor({33, 1, 1})));
  for (const Layout layout : {Layout::kPlain, Layout::kChannelsLast}) {
    EXPECT_TRUE(identical(run_op(test, layout, 1)[0], run_op(test, layout, 3)[0]));
  }
}

// Short rows are normalized many at once, longer ones one by one.
TEST(Softmax, EqualsItsDefinitionInRowsOfEveryLength) {
  for (const char* op_type : {"Softmax", "LogSoftmax"}) {
    for (const std::int64_t rows : {1, 63, 64, 65, 20000}) {
      for (const std::int64_t width : {1, 2, 7, 31, 32}) {
        const Tensor x = random_tensor({rows, width}, -20, 20);
        for (const int threads : {1, 3}) {
          const auto result =
              run_op(op_case(op_type, inputs(x.clone()), {{"axis", std::int64_t{-1}}}),
                     Layout::kPlain, threads);
          const auto y = result[0].values<float>();
          double worst = 0.0;
          for (std::int64_t row = 0; row < rows; ++row) {
            const auto in = x.values<float>().subspan(static_cast<std::size_t>(row * width),
                                                      static_cast<std::size_t>(width));
            double sum = 0.0;
            for (const float value : in) sum += std::exp(double{value});
            for (std::size_t i = 0; i < in.size(); ++i) {
              const double log = double{in[i]} - std::log(sum);
              const double found = double{y[static_cast<std::size_t>(row * width) + i]};
              const bool plain = std::string_view(op_type) == "Softmax";
              worst = std::max(worst, std::abs(plain ? found - std::exp(log) : found - log));
            }
          }
          EXPECT_LE(worst, 1e-5) << op_type << " of " << rows << " rows of " << width;
        }
      }
    }
  }
}

TEST(Softmax, SumsToOneAlongAnyAxis) {
  for (const std::int64_t axis : {0, 1, -1}) {
    const auto result =
        run_op(op_case("Softmax", inputs(random_tensor({3, 70, 70}, -100, 100)), {{"axis", axis}}));
    const auto total = run_op(op_case("ReduceSum", inputs(result[0].clone())));
    EXPECT_NEAR(total[0].values<float>()[0],
                static_cast<float>(result[0].elements()) / (axis == 0 ? 3.0F : 70.0F), 1e-2F);
  }
}

}  // namespace
}  // namespace qtool

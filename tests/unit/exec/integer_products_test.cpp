// ConvInteger and MatMulInteger: compares the kernels for constant weights with a naive sum, and
// with the plain loops for computed weights.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "qtool/base/error.h"
#include "qtool/exec/executor.h"
#include "unit/quantize_net.h"

namespace qtool {
namespace {

template <typename T>
Tensor random_bytes(Shape shape, unsigned seed) {
  Tensor tensor(dtype_of<T>(), std::move(shape));
  std::mt19937 random(seed);
  for (T& value : tensor.values<T>()) value = static_cast<T>(random() % 256U);
  return tensor;
}

struct Inputs {
  Tensor x, w, x_zero, w_zero;
};

/// Runs `op_type` on `inputs`. Its weights are constants if `constant` is true, and inputs of the
/// graph otherwise.
std::vector<std::int32_t> run_product(
    const std::string& op_type, const Inputs& inputs, bool constant,
    const std::map<std::string, Attribute, std::less<>>& attributes,
    std::string* kernel = nullptr) {
  Net net;
  const auto add = [&](const std::string& name, const Tensor& tensor, bool is_constant) {
    if (is_constant) {
      net.constant(name, tensor.clone());
      return;
    }
    const ValueId id = net.graph.add_value(name);
    std::vector<Dim> dims;
    for (const std::int64_t dim : tensor.shape().dims()) dims.push_back({dim, {}});
    net.graph.declare(id, tensor.dtype(), dims);
    net.graph.add_input(id);
  };
  add("x", inputs.x, false);
  add("xz", inputs.x_zero, false);
  add("w", inputs.w, constant);
  add("wz", inputs.w_zero, constant);
  net.graph.add_output(net.id(net.op(op_type, "node", {"x", "w", "xz", "wz"}, attributes)));
  const Executor executor(net.graph);
  std::vector<TensorView> views{inputs.x, inputs.x_zero};
  if (!constant) views.insert(views.end(), {inputs.w, inputs.w_zero});
  std::vector<std::int32_t> result;
  for (const int threads : {1, 2}) {
    const auto plan = executor.compile({}, {.threads = threads});
    Workspace workspace;
    const auto out = plan->run(views, workspace)[0].values<std::int32_t>();
    const std::vector<std::int32_t> sums(out.begin(), out.end());
    if (threads == 2) {
      EXPECT_EQ(sums, result);
    }
    result = sums;
    for (const StepInfo& step : plan->steps()) {
      if (step.op_type != op_type) continue;
      EXPECT_TRUE(step.integer);
      if (kernel != nullptr) *kernel = step.kernel;
    }
  }
  return result;
}

template <typename X, typename W>
void compare_convolutions(std::int64_t groups) {
  const std::vector<std::int64_t> pads{1, 2, 0, 1};
  const std::vector<std::int64_t> strides{2, 1};
  for (const bool per_channel : {false, true}) {
    const Inputs inputs{random_bytes<X>({2, 6, 7, 5}, 1),
                        random_bytes<W>({12, 6 / groups, 3, 3}, 2), random_bytes<X>({}, 3),
                        random_bytes<W>(per_channel ? Shape{12} : Shape{}, 4)};
    const std::map<std::string, Attribute, std::less<>> attributes{
        {"pads", pads}, {"strides", strides}, {"group", groups}};
    std::vector<std::int32_t> expected;
    const auto x = inputs.x.values<X>();
    const auto w = inputs.w.values<W>();
    const auto wz = inputs.w_zero.values<W>();
    for (int n = 0; n < 2; ++n) {
      for (int m = 0; m < 12; ++m) {
        for (int oy = 0; oy < 3; ++oy) {
          for (int ox = 0; ox < 6; ++ox) {
            std::int32_t sum = 0;
            const int per_group = static_cast<int>(6 / groups);
            for (int k = 0; k < per_group; ++k) {
              for (int i = 0; i < 3; ++i) {
                for (int j = 0; j < 3; ++j) {
                  const int y = oy * 2 - 1 + i;
                  const int column = ox - 2 + j;
                  if (y < 0 || y >= 7 || column < 0 || column >= 5) continue;
                  const int c = m / static_cast<int>(12 / groups) * per_group + k;
                  const int at = ((n * 6 + c) * 7 + y) * 5 + column;
                  const int weight = ((m * per_group + k) * 3 + i) * 3 + j;
                  sum += (x[static_cast<std::size_t>(at)] - inputs.x_zero.values<X>()[0]) *
                         (w[static_cast<std::size_t>(weight)] -
                          wz[per_channel ? static_cast<std::size_t>(m) : 0]);
                }
              }
            }
            expected.push_back(sum);
          }
        }
      }
    }
    std::string kernel;
    EXPECT_EQ(run_product("ConvInteger", inputs, true, attributes), expected);
    EXPECT_EQ(run_product("ConvInteger", inputs, false, attributes, &kernel), expected);
    EXPECT_EQ(kernel, "portable");
  }
}

TEST(ConvInteger, EqualsTheNaiveSumForEveryPairOfTypes) {
  for (const std::int64_t groups : {1, 2, 6}) {
    compare_convolutions<std::uint8_t, std::uint8_t>(groups);
    compare_convolutions<std::uint8_t, std::int8_t>(groups);
    compare_convolutions<std::int8_t, std::uint8_t>(groups);
    compare_convolutions<std::int8_t, std::int8_t>(groups);
  }
}

template <typename X, typename W>
void compare_products(bool per_column) {
  const Inputs inputs{random_bytes<X>({2, 3, 9}, 1), random_bytes<W>({9, 21}, 2),
                      random_bytes<X>({}, 3), random_bytes<W>(per_column ? Shape{21} : Shape{}, 4)};
  std::vector<std::int32_t> expected;
  for (std::size_t row = 0; row < 6; ++row) {
    for (std::size_t column = 0; column < 21; ++column) {
      std::int32_t sum = 0;
      for (std::size_t k = 0; k < 9; ++k) {
        sum += (inputs.x.values<X>()[row * 9 + k] - inputs.x_zero.values<X>()[0]) *
               (inputs.w.values<W>()[k * 21 + column] -
                inputs.w_zero.values<W>()[per_column ? column : 0]);
      }
      expected.push_back(sum);
    }
  }
  EXPECT_EQ(run_product("MatMulInteger", inputs, true, {}), expected);
  EXPECT_EQ(run_product("MatMulInteger", inputs, false, {}), expected);
}

TEST(MatMulInteger, EqualsTheNaiveSumForEveryPairOfTypes) {
  for (const bool per_column : {false, true}) {
    compare_products<std::uint8_t, std::uint8_t>(per_column);
    compare_products<std::uint8_t, std::int8_t>(per_column);
    compare_products<std::int8_t, std::uint8_t>(per_column);
    compare_products<std::int8_t, std::int8_t>(per_column);
  }
}

TEST(MatMulInteger, MultipliesStacksWithAZeroPointPerRow) {
  const Inputs inputs{random_bytes<std::uint8_t>({2, 1, 3, 4}, 1),
                      random_bytes<std::int8_t>({5, 4, 2}, 2), random_bytes<std::uint8_t>({3}, 3),
                      random_bytes<std::int8_t>({2}, 4)};
  std::vector<std::int32_t> expected;
  for (std::size_t a = 0; a < 2; ++a) {
    for (std::size_t b = 0; b < 5; ++b) {
      for (std::size_t row = 0; row < 3; ++row) {
        for (std::size_t column = 0; column < 2; ++column) {
          std::int32_t sum = 0;
          for (std::size_t k = 0; k < 4; ++k) {
            sum += (inputs.x.values<std::uint8_t>()[(a * 3 + row) * 4 + k] -
                    inputs.x_zero.values<std::uint8_t>()[row]) *
                   (inputs.w.values<std::int8_t>()[(b * 4 + k) * 2 + column] -
                    inputs.w_zero.values<std::int8_t>()[column]);
          }
          expected.push_back(sum);
        }
      }
    }
  }
  EXPECT_EQ(run_product("MatMulInteger", inputs, false, {}), expected);
  EXPECT_EQ(run_product("MatMulInteger", inputs, true, {}), expected);
}

TEST(IntegerProducts, NameWhatDoesNotFit) {
  const auto message = [](const std::string& op, const Inputs& inputs) -> std::string {
    try {
      run_product(op, inputs, true, {});
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  };
  using U8 = std::uint8_t;
  EXPECT_THAT(message("MatMulInteger", {random_bytes<U8>({2, 3}, 1), random_bytes<U8>({4, 2}, 2),
                                        random_bytes<U8>({}, 3), random_bytes<U8>({}, 4)}),
              ::testing::HasSubstr("cannot multiply"));
  EXPECT_THAT(message("MatMulInteger", {random_bytes<U8>({2, 3}, 1), random_bytes<U8>({3, 2}, 2),
                                        random_bytes<U8>({}, 3), random_bytes<U8>({5}, 4)}),
              ::testing::HasSubstr("expected one or a list of 2"));
  EXPECT_THAT(
      message("ConvInteger", {random_bytes<U8>({1, 2, 3, 3}, 1), random_bytes<U8>({4, 2, 1, 1}, 2),
                              random_bytes<std::int8_t>({}, 3), random_bytes<U8>({}, 4)}),
      ::testing::HasSubstr("node"));
}

}  // namespace
}  // namespace qtool

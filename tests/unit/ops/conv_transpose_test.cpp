// Compares ConvTranspose with its definition.
#include <gtest/gtest.h>

#include <cmath>

#include "unit/run_op.h"

namespace qtool {
namespace {

using tests::Attributes;
using tests::constant;
using tests::infer_error;
using tests::infer_op;
using tests::OpCase;
using tests::OpInput;
using tests::random_tensor;
using tests::run_op;
using Ints = std::vector<std::int64_t>;

struct TransposeLayer {
  Shape x;
  Shape w;
  Attributes attributes;
  Ints pads_begin;  // the padding that results from the attributes
};

OpCase transpose_case(const TransposeLayer& layer, bool constant_weights) {
  OpCase test{"ConvTranspose", {}, layer.attributes, 1};
  test.inputs.emplace_back(random_tensor(layer.x, -1, 1, 1));
  Tensor w = random_tensor(layer.w, -1, 1, 2);
  test.inputs.push_back(constant_weights ? constant(std::move(w)) : OpInput(std::move(w)));
  const auto group = layer.attributes.find("group");
  const std::int64_t groups =
      group == layer.attributes.end() ? 1 : std::get<std::int64_t>(group->second);
  Tensor b = random_tensor({layer.w[1] * groups}, -1, 1, 3);
  test.inputs.push_back(constant_weights ? constant(std::move(b)) : OpInput(std::move(b)));
  return test;
}

Ints ints_of(const TransposeLayer& layer, const char* key, std::int64_t fallback) {
  const auto found = layer.attributes.find(key);
  if (found != layer.attributes.end()) return std::get<Ints>(found->second);
  return Ints(static_cast<std::size_t>(layer.x.rank() - 2), fallback);
}

// Row-major position of an index, and the other way round.
std::int64_t position(const Ints& index, const Shape& shape) {
  std::int64_t at = 0;
  for (std::size_t i = 0; i < index.size(); ++i) {
    at = at * shape[static_cast<std::int64_t>(i)] + index[i];
  }
  return at;
}
Ints index_of(std::int64_t at, const Shape& shape) {
  Ints index(static_cast<std::size_t>(shape.rank()));
  for (std::size_t i = index.size(); i-- > 0;) {
    index[i] = at % shape[static_cast<std::int64_t>(i)];
    at /= shape[static_cast<std::int64_t>(i)];
  }
  return index;
}

// Adds the product of every input element and every tap where ONNX's definition puts it.
std::vector<double> scattered(const OpCase& test, const TransposeLayer& layer, const Shape& y) {
  const auto x = test.inputs[0].tensor->values<float>();
  const auto w = test.inputs[1].tensor->values<float>();
  const auto b = test.inputs[2].tensor->values<float>();
  const Ints strides = ints_of(layer, "strides", 1);
  const Ints dilations = ints_of(layer, "dilations", 1);
  const std::int64_t groups = y[1] / layer.w[1];
  std::vector<double> sums(static_cast<std::size_t>(y.elements()));
  for (std::int64_t i = 0; i < y.elements(); ++i) {
    sums[static_cast<std::size_t>(i)] = b[static_cast<std::size_t>(index_of(i, y)[1])];
  }
  for (std::int64_t i = 0; i < layer.x.elements(); ++i) {
    const Ints from = index_of(i, layer.x);
    for (std::int64_t j = 0; j < layer.w.elements(); ++j) {
      const Ints tap = index_of(j, layer.w);
      if (tap[0] != from[1]) continue;
      Ints to = from;
      to[1] = from[1] / (layer.x[1] / groups) * layer.w[1] + tap[1];
      bool inside = true;
      for (std::size_t axis = 0; axis < strides.size(); ++axis) {
        to[axis + 2] = from[axis + 2] * strides[axis] + tap[axis + 2] * dilations[axis] -
                       layer.pads_begin[axis];
        inside =
            inside && to[axis + 2] >= 0 && to[axis + 2] < y[static_cast<std::int64_t>(axis) + 2];
      }
      if (!inside) continue;
      sums[static_cast<std::size_t>(position(to, y))] +=
          double{x[static_cast<std::size_t>(i)]} * w[static_cast<std::size_t>(j)];
    }
  }
  return sums;
}

const TransposeLayer kTransposeLayers[] = {
    {{2, 3, 7}, {3, 4, 3}, {{"strides", Ints{2}}}, {0}},
    {{1, 4, 5, 6}, {4, 6, 2, 2}, {{"strides", Ints{2, 2}}}, {0, 0}},
    {{2, 4, 5, 6},
     {4, 3, 3, 3},
     {{"strides", Ints{2, 1}}, {"pads", Ints{1, 0, 1, 2}}, {"output_padding", Ints{1, 0}}},
     {1, 0}},
    {{1, 6, 4, 9},
     {6, 2, 3, 2},
     {{"group", std::int64_t{3}}, {"dilations", Ints{2, 3}}, {"strides", Ints{1, 2}}},
     {0, 0}},
    {{1, 32, 6, 5},
     {32, 1, 4, 4},
     {{"group", std::int64_t{32}}, {"strides", Ints{2, 2}}, {"pads", Ints{1, 1, 1, 1}}},
     {1, 1}},
    // Padding beyond the window, and outputs that no tap reaches, in between and at the end.
    {{1, 3, 6, 6}, {3, 5, 2, 2}, {{"strides", Ints{2, 2}}, {"pads", Ints{3, 4, 2, 1}}}, {3, 4}},
    {{1, 3, 4, 4}, {3, 5, 2, 1}, {{"strides", Ints{4, 3}}, {"pads", Ints{1, 0, 0, 0}}}, {1, 0}},
    {{1, 3, 4, 4}, {3, 5, 2, 2}, {{"strides", Ints{2, 2}}, {"output_padding", Ints{3, 7}}}, {0, 0}},
    {{1, 3, 4, 4}, {3, 2, 3, 3}, {{"strides", Ints{2, 2}}, {"output_shape", Ints{20, 9}}}, {0, 0}},
    {{1, 3, 4, 4}, {3, 2, 3, 3}, {{"strides", Ints{2, 2}}, {"output_shape", Ints{6, 8}}}, {2, 1}},
    {{1, 3, 4, 4},
     {3, 2, 3, 3},
     {{"strides", Ints{2, 2}},
      {"output_shape", Ints{6, 8}},
      {"auto_pad", std::string("SAME_UPPER")}},
     {1, 0}},
    {{1, 3, 4, 4},
     {3, 2, 4, 3},
     {{"strides", Ints{2, 2}}, {"auto_pad", std::string("SAME_LOWER")}},
     {1, 1}},
    {{1, 3, 3, 4, 2},
     {3, 2, 2, 3, 2},
     {{"strides", Ints{2, 1, 3}}, {"pads", Ints{0, 1, 1, 1, 0, 0}}},
     {0, 1, 1}},
};

TEST(ConvTranspose, EqualsItsDefinitionInAllLayoutsAndOnAllThreads) {
  for (const TransposeLayer& layer : kTransposeLayers) {
    for (const bool constant_weights : {true, false}) {
      const OpCase test = transpose_case(layer, constant_weights);
      const Shape y = infer_op(test)[0].shape;
      const std::vector<double> expected = scattered(test, layer, y);
      for (const Layout layout : {Layout::kPlain, Layout::kChannelsLast}) {
        for (const int threads : {1, 3}) {
          const Tensor found = std::move(run_op(test, layout, threads)[0]);
          ASSERT_EQ(found.shape(), y);
          const auto values = found.values<float>();
          for (std::size_t i = 0; i < expected.size(); ++i) {
            ASSERT_NEAR(values[i], expected[i], 1e-5)
                << "weights " << layer.w.to_string() << " layout " << static_cast<int>(layout)
                << " threads " << threads << " element " << i;
          }
        }
      }
    }
  }
}

TEST(ConvTranspose, DividesRowsOfLargeImagesAmongThreads) {
  for (const auto& [kernel, stride, pad] :
       {std::tuple{2, 2, 0}, {3, 2, 1}, {5, 3, 2}, {4, 1, 3}, {2, 4, 1}}) {
    const TransposeLayer layer{
        {1, 8, 20, 21},
        {8, 6, kernel, kernel},
        {{"strides", Ints{stride, stride}}, {"pads", Ints{pad, pad, pad, pad}}},
        {pad, pad}};
    const OpCase test = transpose_case(layer, true);
    const std::vector<double> expected = scattered(test, layer, infer_op(test)[0].shape);
    for (const int threads : {1, 2, 5}) {
      const Tensor found = std::move(run_op(test, Layout::kChannelsLast, threads)[0]);
      const auto values = found.values<float>();
      for (std::size_t i = 0; i < expected.size(); ++i) {
        ASSERT_NEAR(values[i], expected[i], 1e-4) << "kernel " << kernel << " stride " << stride
                                                  << " threads " << threads << " element " << i;
      }
    }
  }
}

TEST(ConvTranspose, RefusesWhatDoesNotFit) {
  const auto error = [](Shape x, Shape w, Attributes attributes) {
    OpCase test{"ConvTranspose", {}, std::move(attributes), 1};
    test.inputs.emplace_back(random_tensor(std::move(x)));
    test.inputs.push_back(constant(random_tensor(std::move(w))));
    return infer_error(test);
  };
  EXPECT_NE(error({1, 3, 4, 4}, {4, 2, 3, 3}, {}), "");
  EXPECT_NE(error({1, 3, 4, 4}, {3, 2, 3, 3}, {{"group", std::int64_t{2}}}), "");
  EXPECT_NE(error({1, 3, 4, 4}, {3, 2, 3, 3}, {{"output_shape", Ints{4}}}), "");
  EXPECT_NE(error({1, 3, 4, 4}, {3, 2, 3, 3}, {{"output_shape", Ints{0, 4}}}), "");
  EXPECT_NE(error({1, 3, 4, 4}, {3, 2, 3, 3}, {{"output_padding", Ints{-1, 0}}}), "");
  EXPECT_NE(error({1, 3, 4, 4}, {3, 2, 3, 3}, {{"pads", Ints{9, 0, 9, 0}}}), "");
  const std::int64_t huge = std::int64_t{1} << 24;
  EXPECT_NE(error({1, 3, 4, 4}, {3, 2, 3, 3}, {{"strides", Ints{huge, huge}}}), "");
  EXPECT_NE(error({1, 3, 4, 4}, {3, 2, 3, 3}, {{"output_shape", Ints{huge, huge}}}), "");
}

}  // namespace
}  // namespace qtool

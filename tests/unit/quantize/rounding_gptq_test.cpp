#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <random>
#include <vector>

#include "qtool/exec/executor.h"
#include "quantize/rounding/input_moments.h"
#include "quantize/rounding/rounding.h"
#include "support/random_floats.h"
#include "unit/quantize_net.h"

namespace qtool {
namespace {

using Matrix = std::vector<std::vector<double>>;

Tensor gptq_floats(const Shape& shape, unsigned seed) {
  return normal_floats(shape, seed, 0.2F, 0.5F);
}

/// Moments of vectors whose elements depend on their neighbours, separately for each group.
InputMoments correlated(std::int64_t groups, std::int64_t depth, std::int64_t rows, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0.3F, 1.0F);
  std::vector<float> x(static_cast<std::size_t>(groups * rows * depth));
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = normal(random) + (i % static_cast<std::size_t>(depth) == 0 ? 0.0F : 0.8F * x[i - 1]);
  }
  InputMoments moments;
  moments.groups = groups;
  moments.depth = depth;
  add_rows(x, moments);
  return moments;
}

/// The matrix H of one group that rounding_gptq() uses when nothing corrects the mean.
Matrix error_matrix(const InputMoments& moments, std::int64_t group) {
  const auto depth = static_cast<std::size_t>(moments.depth);
  const auto rows = static_cast<double>(moments.rows);
  Matrix h(depth, std::vector<double>(depth));
  double mean = 0.0;
  for (std::size_t i = 0; i < depth; ++i) {
    for (std::size_t j = 0; j < depth; ++j) {
      h[i][j] = moments.second[(static_cast<std::size_t>(group) * depth + i) * depth + j] / rows;
    }
    mean += h[i][i] / static_cast<double>(depth);
  }
  const double share = 0.01 + static_cast<double>(depth) / (rows + static_cast<double>(depth));
  for (std::size_t i = 0; i < depth; ++i) h[i][i] += share * mean;
  return h;
}

Matrix inverse(Matrix a) {
  const std::size_t n = a.size();
  Matrix b(n, std::vector<double>(n));
  for (std::size_t i = 0; i < n; ++i) b[i][i] = 1.0;
  for (std::size_t k = 0; k < n; ++k) {
    const double pivot = a[k][k];
    for (std::size_t j = 0; j < n; ++j) {
      a[k][j] /= pivot;
      b[k][j] /= pivot;
    }
    for (std::size_t i = 0; i < n; ++i) {
      if (i == k) continue;
      const double factor = a[i][k];
      for (std::size_t j = 0; j < n; ++j) {
        a[i][j] -= factor * a[k][j];
        b[i][j] -= factor * b[k][j];
      }
    }
  }
  return b;
}

/// The method as OBQ and GPTQ state it: round one weight, change the remaining weights by its error
/// times their entries of the inverse of H, and remove the weight's row and column from the
/// inverse.
std::vector<int> published(std::vector<double> w, const Matrix& h, const Affine& affine,
                           const Limits& limits) {
  std::vector<std::size_t> order(w.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return h[a][a] > h[b][b]; });
  Matrix inverted = inverse(h);
  std::vector<int> integers(w.size());
  for (const std::size_t k : order) {
    const auto value = static_cast<float>(w[k]);
    integers[k] = quantize_value(value, affine, limits);
    const double back = static_cast<double>(affine.scale) * (integers[k] - affine.zero_point);
    const double error = (w[k] - back) / inverted[k][k];
    for (std::size_t j = 0; j < w.size(); ++j) {
      if (j != k) w[j] -= error * inverted[k][j];
    }
    const Matrix before = inverted;
    for (std::size_t i = 0; i < w.size(); ++i) {
      for (std::size_t j = 0; j < w.size(); ++j) {
        inverted[i][j] = i == k || j == k
                             ? (i == j ? 1.0 : 0.0)
                             : before[i][j] - before[i][k] * before[k][j] / before[k][k];
      }
    }
    w[k] = 0.0;
  }
  return integers;
}

/// The layer of the only node of the graph, with scales.
Layer layer_of(const Graph& graph, int bits, Symmetry symmetry) {
  const NodeId id = graph.nodes().front();
  Layer layer =
      begin_layer(graph, id, weight_ports(graph, id).value(), {DType::kInt8, bits, symmetry});
  choose_scales(layer, "absmax", Granularity::kPerChannel);
  return layer;
}

TEST(RoundingGptq, RoundsAsPublished) {
  struct Case {
    std::string op;
    Shape input;
    Shape weights;
    std::int64_t groups;
  };
  const std::vector<Case> cases = {{"Conv", Shape{1, 4, 5, 5}, Shape{6, 2, 3, 3}, 2},
                                   {"Conv", Shape{1, 5, 6, 6}, Shape{5, 1, 3, 3}, 5},
                                   {"MatMul", Shape{7, 90}, Shape{90, 4}, 1}};  // two blocks
  for (const Case& test : cases) {
    for (const Symmetry symmetry : {Symmetry::kSymmetric, Symmetry::kAsymmetric}) {
      Net net;
      const ValueId x = net.graph.add_value("x");
      net.graph.add_input(x);
      net.constant("w", gptq_floats(test.weights, 3));
      net.op(test.op, "layer", {"x", "w"}, {{"group", test.groups}});
      Layer layer = layer_of(net.graph, 4, symmetry);
      const std::int64_t depth = layer.ports.depth;
      const InputMoments moments = correlated(test.groups, depth, 300, 5);
      layer.input.moments = &moments;
      round_weights(layer, find_rounding("gptq"));
      std::size_t moved = 0;
      for (std::int64_t c = 0; c < layer.ports.channels; ++c) {
        std::vector<double> w;
        std::vector<std::size_t> places;
        for (std::int64_t i = 0; i < depth; ++i) {
          const std::int64_t at =
              layer.layout.first(c, i / layer.layout.taps) + i % layer.layout.taps;
          places.push_back(static_cast<std::size_t>(at));
          w.push_back(static_cast<double>(layer.weights.values<float>()[places.back()]));
        }
        const Affine affine = layer.affines.at(static_cast<std::size_t>(c));
        const std::vector<int> expected =
            published(w, error_matrix(moments, c / layer.layout.channels_per_group), affine,
                      limits_of(layer.scheme));
        for (std::size_t i = 0; i < w.size(); ++i) {
          const int found = layer.integers.values<std::int8_t>()[places[i]];
          EXPECT_EQ(found, expected[i]) << test.op << " channel " << c << " weight " << i;
          const int nearest =
              quantize_value(static_cast<float>(w[i]), affine, limits_of(layer.scheme));
          moved += found == nearest ? 0 : 1;
        }
      }
      EXPECT_GT(moved, 0U);
    }
  }
}

// If the mean of the outputs is corrected later, only the variation around the mean counts.
TEST(RoundingGptq, LeavesTheMeanToBiasCorrection) {
  Net net;
  net.graph.add_input(net.graph.add_value("x"));
  net.constant("w", gptq_floats(Shape{24, 3}, 8));
  net.op("MatMul", "layer", {"x", "w"});
  Layer layer = layer_of(net.graph, 3, Symmetry::kSymmetric);
  std::vector<float> x(24 * 400);
  std::mt19937 random(2);
  std::normal_distribution<float> normal(5.0F, 0.1F);  // almost nothing but the mean
  for (float& v : x) v = normal(random);
  InputMoments moments;
  moments.groups = 1;
  moments.depth = 24;
  add_rows(x, moments);
  layer.input.moments = &moments;
  const auto mean_error = [&](bool is_corrected) {
    layer.input.mean_is_corrected = is_corrected;
    round_weights(layer, find_rounding("gptq"));
    double largest = 0.0;
    for (std::size_t c = 0; c < 3; ++c) {
      double sum = 0.0;
      for (std::size_t i = 0; i < 24; ++i) {
        const double back = static_cast<double>(layer.affines.at(c).scale) *
                            layer.integers.values<std::int8_t>()[i * 3 + c];
        sum += 5.0 * (static_cast<double>(layer.weights.values<float>()[i * 3 + c]) - back);
      }
      largest = std::max(largest, std::abs(sum));
    }
    return largest;
  };
  EXPECT_LT(mean_error(false), 0.2 * mean_error(true));
}

TEST(RoundingGptq, IsNearestWhereNothingIsKnown) {
  Net net;
  net.graph.add_input(net.graph.add_value("x"));
  net.constant("w", gptq_floats(Shape{24, 3}, 8));
  net.op("MatMul", "layer", {"x", "w"});
  Layer layer = layer_of(net.graph, 4, Symmetry::kSymmetric);
  round_weights(layer, find_rounding("nearest"));
  const auto integers_of = [&] {
    const auto values = layer.integers.values<std::int8_t>();
    return std::vector<std::int8_t>(values.begin(), values.end());
  };
  const std::vector<std::int8_t> nearest = integers_of();
  round_weights(layer, find_rounding("gptq"));
  EXPECT_EQ(integers_of(), nearest);
  // An input that is always 0 has singular moments.
  InputMoments zeros;
  zeros.groups = 1;
  zeros.depth = 24;
  add_rows(std::vector<float>(24 * 10), zeros);
  layer.input.moments = &zeros;
  round_weights(layer, find_rounding("gptq"));
  EXPECT_EQ(integers_of(), nearest);
}

// The rows times the weights must give the results of the network. Tests the order of the elements,
// windows, padding and layouts.
TEST(InputRows, AreWhatTheLayerMultiplies) {
  struct Case {
    std::string op;
    Shape input;
    Shape weights;
    std::map<std::string, Attribute, std::less<>> attributes;
  };
  const auto ints = [](std::vector<std::int64_t> values) { return values; };
  const std::vector<Case> cases = {
      {"Conv", Shape{1, 3, 9, 7}, Shape{4, 3, 3, 2}, {{"pads", ints({1, 0, 2, 1})}}},
      {"Conv",
       Shape{2, 4, 8, 9},
       Shape{6, 2, 3, 3},
       {{"group", std::int64_t{2}}, {"strides", ints({2, 1})}, {"dilations", ints({1, 2})}}},
      {"Conv",
       Shape{1, 32, 6, 6},
       Shape{32, 1, 3, 3},  // channels-last inside
       {{"group", std::int64_t{32}}, {"auto_pad", std::string("SAME_UPPER")}}},
      {"Conv", Shape{1, 2, 11}, Shape{3, 2, 4}, {{"pads", ints({3, 0})}}},
      {"Conv", Shape{1, 2, 4, 5, 6}, Shape{3, 2, 2, 3, 1}, {{"pads", ints({0, 1, 0, 1, 0, 0})}}},
      {"MatMul", Shape{2, 3, 6}, Shape{6, 5}, {}},
      {"Gemm", Shape{3, 6}, Shape{5, 6}, {{"transB", std::int64_t{1}}}},
  };
  for (const Case& test : cases) {
    Net net;
    const ValueId x = net.graph.add_value("x");
    std::vector<Dim> dims;
    for (const std::int64_t extent : test.input.dims()) dims.push_back({extent, {}});
    net.graph.declare(x, DType::kFloat32, std::move(dims));
    net.graph.add_input(x);
    net.op("Relu", "relu", {"x"});
    net.constant("w", gptq_floats(test.weights, 7));
    net.op(test.op, "layer", {"relu_out", "w"}, test.attributes);
    net.graph.add_output(net.id("layer_out"));
    const NodeId id = net.graph.nodes().back();
    const WeightPorts ports = weight_ports(net.graph, id).value();
    const InputRows rows = InputRows::of(net.graph, id, ports).value();
    const Layer layer = begin_layer(net.graph, id, ports, Scheme{});

    const Tensor input = gptq_floats(test.input, 9);
    const TensorView view(input);
    const Executor executor(net.graph);
    CompileOptions options;
    options.observe = {"relu_out"};
    Workspace workspace;
    std::vector<float> all;
    std::vector<float> some;
    const auto outputs = executor.compile({}, options)
                             ->run({&view, 1}, workspace, [&](std::size_t, const TensorView& seen) {
                               rows.gather(seen, 100'000, all);
                               rows.gather(seen, 3, some);
                             });
    const std::int64_t depth = rows.depth();
    const std::int64_t count = std::ssize(all) / (rows.groups() * depth);
    EXPECT_EQ(rows.vectors_of(test.input), count);
    EXPECT_EQ(std::ssize(some), std::min<std::int64_t>(count, 3) * rows.groups() * depth);
    const auto expected = outputs[0].values<float>();
    ASSERT_EQ(std::ssize(expected), count * ports.channels) << test.op;
    const bool conv = test.op == "Conv";
    const std::int64_t images = conv ? test.input[0] : 1;
    const std::int64_t pixels = count / images;
    for (std::int64_t c = 0; c < ports.channels; ++c) {
      for (std::int64_t r = 0; r < count; ++r) {
        const std::int64_t group = c / layer.layout.channels_per_group;
        double sum = 0.0;
        for (std::int64_t i = 0; i < depth; ++i) {
          const std::int64_t at =
              layer.layout.first(c, i / layer.layout.taps) + i % layer.layout.taps;
          sum +=
              static_cast<double>(all[static_cast<std::size_t>((group * count + r) * depth + i)]) *
              static_cast<double>(layer.weights.values<float>()[static_cast<std::size_t>(at)]);
        }
        const std::int64_t at = conv ? ((r / pixels) * ports.channels + c) * pixels + r % pixels
                                     : r * ports.channels + c;
        ASSERT_NEAR(expected[static_cast<std::size_t>(at)], sum, 1e-4) << test.op << " row " << r;
      }
    }
  }
}

}  // namespace
}  // namespace qtool

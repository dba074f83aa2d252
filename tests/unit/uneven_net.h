#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "calib/statistics.h"
#include "qtool/calib/format.h"
#include "qtool/exec/executor.h"
#include "qtool/graph/onnx.h"
#include "qtool/pipeline/calibrate.h"
#include "qtool/quantize/coverage.h"
#include "qtool/quantize/quantize.h"
#include "support/random_floats.h"
#include "unit/quantize_net.h"

// Networks whose channels have very different sizes, for tests of equalization, and their tables.
namespace qtool {

/// A 3x3 convolution whose output channel c is scaled by `base`^(c % 4).
inline std::string uneven_conv(Net& net, const std::string& name, const std::string& in,
                               std::int64_t channels, std::int64_t inputs, std::int64_t groups,
                               unsigned seed, float base = 0.25F) {
  Tensor w = random_floats({channels, inputs / groups, 3, 3}, seed);
  Tensor b = random_floats({channels}, seed + 1, 0.0F, 0.2F);
  const auto values = w.values<float>();
  const std::size_t slice = values.size() / static_cast<std::size_t>(channels);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] *= std::pow(base, static_cast<float>(i / slice % 4));
  }
  net.constant(name + "_w", std::move(w));
  net.constant(name + "_b", std::move(b));
  return net.op("Conv", name, {in, name + "_w", name + "_b"},
                {{"group", groups}, {"pads", std::vector<std::int64_t>{1, 1, 1, 1}}});
}

inline Tensor uniform_image(const Shape& shape, unsigned seed) {
  return random_floats(shape, seed, -1.0F, 1.0F);
}

/// The statistics of a few random images.
inline Collection observed(const Executor& fp32, const Calibration& calibration) {
  Collection collection;
  collection.model_fingerprint = fingerprint(fp32.graph());
  collection.image_count = 6;
  CompileOptions options;
  options.observe = calibration.tensors();
  const auto plan = fp32.compile(typical_shapes(fp32.graph(), {}), options);
  for (const std::string& tensor : calibration.tensors())
    collection.tensors.push_back({tensor, "", {}});
  Workspace workspace;
  for (unsigned seed = 1; seed <= 6; ++seed) {
    const Tensor input = uniform_image(plan->inputs()[0].shape, seed);
    const std::vector<TensorView> inputs{input};
    plan->run(inputs, workspace, [&](std::size_t i, const TensorView& tensor) {
      collection.tensors[i].statistics.observe(tensor);
    });
  }
  return collection;
}

inline CalibrationTable table_of(const Executor& fp32, CalibrateOptions options = {}) {
  const Calibration calibration(fp32, std::move(options));
  return calibration.decide(observed(fp32, calibration));
}

inline StaticOptions equalized() {
  StaticOptions options;
  options.rewrites = {"equalize"};
  return options;
}

/// conv -> Relu6 -> depthwise -> Relu -> channel shuffle -> 1x1, and a shortcut around a layer.
inline Net uneven_net() {
  Net net;
  const auto x = net.input("x", {1, 3, 12, 12});
  const auto zero = net.constant("zero", Tensor::scalar<float>(0.0F));
  const auto six = net.constant("six", Tensor::scalar<float>(6.0F));
  const auto c1 = net.op("Clip", "clip1", {uneven_conv(net, "c1", x, 8, 3, 1, 11), zero, six});
  const auto c2 = net.op("Relu", "relu2", {uneven_conv(net, "c2", c1, 8, 8, 8, 12)});
  const auto split = net.constant(
      "split", Tensor::of<std::int64_t>(Shape{5}, std::vector<std::int64_t>{1, 2, 4, 12, 12}));
  const auto joined = net.constant(
      "joined", Tensor::of<std::int64_t>(Shape{4}, std::vector<std::int64_t>{1, 8, 12, 12}));
  const auto r1 = net.op("Reshape", "r1", {c2, split});
  const auto t =
      net.op("Transpose", "t", {r1}, {{"perm", std::vector<std::int64_t>{0, 2, 1, 3, 4}}});
  const auto r2 = net.op("Reshape", "r2", {t, joined});
  const auto c3 = uneven_conv(net, "c3", r2, 8, 8, 1, 13);
  const auto c4 = uneven_conv(net, "c4", c3, 8, 8, 1, 14);
  const auto sum = net.op("Relu", "relu_sum", {net.op("Add", "sum", {c3, c4})});
  net.output(uneven_conv(net, "c5", sum, 4, 8, 1, 15));
  return net;
}

/// conv -> SiLU -> depthwise -> SiLU -> conv. The first convolution scales channel c by `base`^(c %
/// 4), and the depthwise convolution scales it back.
inline Net silu_net(float base) {
  Net net;
  const auto silu = [&](const std::string& name, const std::string& x) {
    return net.op("Mul", name, {x, net.op("Sigmoid", name + "_gate", {x})});
  };
  const auto c1 = uneven_conv(net, "c1", net.input("x", {1, 3, 12, 12}), 8, 3, 1, 31, base);
  const auto c2 = uneven_conv(net, "c2", silu("s1", c1), 8, 8, 8, 32, 1.0F / base);
  net.output(uneven_conv(net, "c3", silu("s2", c2), 4, 8, 1, 33, 1.0F));
  return net;
}

/// The table of a network for target qtool.
inline CalibrationTable table_for_qtool(const Executor& fp32) {
  CalibrateOptions options;
  options.target = "qtool";
  return table_of(fp32, options);
}

inline StaticOptions for_qtool(StaticOptions options) {
  options.target = "qtool";
  return options;
}

}  // namespace qtool

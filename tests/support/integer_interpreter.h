#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/text.h"
#include "ops/evaluate.h"
#include "qtool/graph/graph.h"
#include "qtool/quant/affine.h"
#include "support/published_requantization.h"

// A naive interpreter of QDQ graphs that requantizes with integers only, by the published
// definitions. The executor must give the same bits.
namespace qtool::tests {

using Ints = std::vector<std::int32_t>;

inline std::int64_t scaled(Requantization path, std::int64_t x, double multiplier) {
  const auto m = published_multiplier(multiplier);
  return static_cast<std::int64_t>(path == Requantization::kGemmlowp ? published_twice(x, m)
                                                                     : published_once(x, m));
}

/// Integers minus their zero point, in ONNX's order, with their scales.
struct Centred {
  Shape shape;
  Ints values;
  std::vector<float> scales;  // one, or one per index of `axis`
  std::int32_t zero_point = 0;
};

/// A real result whose integer sums are known. `rescale` gives the integer that a following
/// QuantizeLinear computes, before the zero point and the clamp; `real` gives the float that is the
/// output if no QuantizeLinear follows.
struct Pending {
  Shape shape;
  std::function<std::int64_t(std::size_t element, float y_scale)> rescale;
  std::function<float(std::size_t element)> real;
  std::function<std::int64_t(std::size_t element, float y_scale)> raised;  // rescale() times 2^20
  std::optional<std::pair<float, float>> clamp;
};

/// Walks a QDQ graph in order. Every tensor is a Centred, a Pending or plain floats.
class Interpreter {
 public:
  Interpreter(const Graph& graph, Requantization path) : graph_(graph), path_(path) {}

  std::vector<float> run(const Tensor& input) {
    const auto values = input.values<float>();
    reals_[graph_.inputs()[0]] = {values.begin(), values.end()};
    shapes_[graph_.inputs()[0]] = input.shape();
    for (const NodeId id : graph_.nodes()) step(graph_.node(id));
    const ValueId output = graph_.outputs()[0];
    if (reals_.contains(output)) return reals_.at(output);
    if (centred_.contains(output)) {
      std::vector<float> result;
      const Centred& c = centred_.at(output);
      for (const std::int32_t d : c.values) result.push_back(c.scales[0] * static_cast<float>(d));
      return result;
    }
    const Pending& pending = pending_.at(output);
    std::vector<float> result(static_cast<std::size_t>(pending.shape.elements()));
    for (std::size_t i = 0; i < result.size(); ++i) result[i] = pending.real(i);
    return result;
  }

 private:
  void step(const Node& node) {
    const ValueId out = node.outputs[0];
    if (node.is("QuantizeLinear")) return quantize(node, out);
    if (node.is("DequantizeLinear")) return dequantize(node, out);
    if (node.is("Conv")) return conv(node, out);
    if (node.is("Gemm")) return gemm(node, out);
    if (node.is("Relu") || node.is("Clip")) return clamp(node, out);
    if (node.is("Add") || node.is("Mul")) return binary(node, out);
    if (node.is("GlobalAveragePool") || node.is("AveragePool")) return average(node, out);
    if (node.is("Concat")) return concatenate(node, out);
    move(node, out);
  }

  float scalar(ValueId id) const { return graph_.value(id).constant->values<float>()[0]; }

  std::int32_t zero_point(const Node& node) const {
    return node.has_input(2)
               ? static_cast<std::int32_t>(to_int64s(*graph_.value(node.inputs[2]).constant)[0])
               : 0;
  }

  // A QuantizeLinear whose input is floats, dequantized integers, or pending sums.
  void quantize(const Node& node, ValueId out) {
    const Affine y{scalar(node.inputs[1]), zero_point(node)};
    const ValueId in = node.inputs[0];
    Centred result;
    result.scales = {y.scale};
    result.zero_point = y.zero_point;
    if (reals_.contains(in)) {
      result.shape = shapes_.at(in);
      for (const float x : reals_.at(in)) {
        result.values.push_back(quantize_value(x, y, {0, 255}) - y.zero_point);
      }
    } else if (centred_.contains(in)) {
      const Centred& c = centred_.at(in);
      const bool same = Affine{c.scales[0], c.zero_point} == y;
      result.shape = c.shape;
      for (const std::int32_t d : c.values) {
        const double m = static_cast<double>(c.scales[0]) / static_cast<double>(y.scale);
        result.values.push_back(saturated(same ? d : scaled(path_, d, m), y, std::nullopt));
      }
    } else {
      const Pending& p = pending_.at(in);
      result.shape = p.shape;
      const auto count = static_cast<std::size_t>(p.shape.elements());
      for (std::size_t i = 0; i < count; ++i) {
        result.values.push_back(saturated(p.rescale(i, y.scale), y, p.clamp));
      }
    }
    centred_[out] = std::move(result);
  }

  // Adds the zero point, clamps to the activation's and the type's limits, and subtracts the zero
  // point.
  static std::int32_t saturated(std::int64_t value, const Affine& y,
                                const std::optional<std::pair<float, float>>& clamp) {
    std::int64_t low = 0;
    std::int64_t high = 255;
    if (clamp) {
      low = std::isinf(clamp->first) ? 0 : quantize_value(clamp->first, y, {0, 255});
      high = std::isinf(clamp->second) ? 255 : quantize_value(clamp->second, y, {0, 255});
    }
    return static_cast<std::int32_t>(std::clamp(value + y.zero_point, low, high)) - y.zero_point;
  }

  void dequantize(const Node& node, ValueId out) {
    const ValueId in = node.inputs[0];
    if (centred_.contains(in)) {
      centred_[out] = centred_.at(in);
      return;
    }
    const Tensor& stored = *graph_.value(in).constant;
    Centred result;
    result.shape = stored.shape();
    result.zero_point = zero_point(node);
    const auto scales = graph_.value(node.inputs[1]).constant->values<float>();
    result.scales = {scales.begin(), scales.end()};
    for (const std::int64_t q : to_int64s(stored)) {
      result.values.push_back(static_cast<std::int32_t>(q) - result.zero_point);
    }
    centred_[out] = std::move(result);
  }

  // Stores sums with the scale s_x s_w[c], where c is the channel of each element.
  void add_sums(ValueId out, const Shape& shape, Ints sums, const Centred& x, const Centred& w,
                std::function<std::size_t(std::size_t)> channel) {
    const auto weight_scale = [scales = w.scales, channel](std::size_t i) {
      return scales[scales.size() == 1 ? 0 : channel(i)];
    };
    const float x_scale = x.scales[0];
    Pending pending;
    pending.shape = shape;
    pending.rescale = [=, this](std::size_t i, float y_scale) {
      const double m = static_cast<double>(x_scale) * static_cast<double>(weight_scale(i)) /
                       static_cast<double>(y_scale);
      return scaled(path_, sums[i], m);
    };
    pending.raised = [=, this](std::size_t i, float y_scale) {
      const double m = static_cast<double>(x_scale) * static_cast<double>(weight_scale(i)) /
                       static_cast<double>(y_scale);
      return scaled(path_, sums[i], m * 1048576.0);
    };
    pending.real = [=](std::size_t i) {
      return static_cast<float>(sums[i]) * (x_scale * weight_scale(i));
    };
    pending_[out] = std::move(pending);
  }

  std::int32_t bias_of(const Node& node, std::int64_t channel) const {
    if (!node.has_input(2)) return 0;
    return centred_.at(node.inputs[2]).values[static_cast<std::size_t>(channel)];
  }

  void conv(const Node& node, ValueId out) {
    const Centred& x = centred_.at(node.inputs[0]);
    const Centred& w = centred_.at(node.inputs[1]);
    const auto strides = node.get_ints("strides", {1, 1});
    const auto pads = node.get_ints("pads", {0, 0, 0, 0});
    const auto dilations = node.get_ints("dilations", {1, 1});
    const std::int64_t per_group = w.shape[0] / node.get_int("group", 1);
    const auto extent = [&](std::size_t axis) {
      const auto a = static_cast<std::int64_t>(axis);
      const std::int64_t window = (w.shape[a + 2] - 1) * dilations[axis] + 1;
      return (x.shape[a + 2] + pads[axis] + pads[axis + 2] - window) / strides[axis] + 1;
    };
    const Shape shape{x.shape[0], w.shape[0], extent(0), extent(1)};
    Ints sums;
    for (std::int64_t n = 0; n < shape[0]; ++n) {
      for (std::int64_t m = 0; m < shape[1]; ++m) {
        for (std::int64_t oy = 0; oy < shape[2]; ++oy) {
          for (std::int64_t ox = 0; ox < shape[3]; ++ox) {
            std::int32_t sum = bias_of(node, m);
            for (std::int64_t i = 0; i < w.shape[2]; ++i) {
              const std::int64_t y = oy * strides[0] - pads[0] + i * dilations[0];
              if (y < 0 || y >= x.shape[2]) continue;
              for (std::int64_t j = 0; j < w.shape[3]; ++j) {
                const std::int64_t column = ox * strides[1] - pads[1] + j * dilations[1];
                if (column < 0 || column >= x.shape[3]) continue;
                for (std::int64_t k = 0; k < w.shape[1]; ++k) {
                  const std::int64_t c = m / per_group * w.shape[1] + k;
                  const std::int64_t at =
                      ((n * x.shape[1] + c) * x.shape[2] + y) * x.shape[3] + column;
                  const std::int64_t weight =
                      ((m * w.shape[1] + k) * w.shape[2] + i) * w.shape[3] + j;
                  sum += x.values[static_cast<std::size_t>(at)] *
                         w.values[static_cast<std::size_t>(weight)];
                }
              }
            }
            sums.push_back(sum);
          }
        }
      }
    }
    const auto area = static_cast<std::size_t>(shape[2] * shape[3]);
    const auto channels = static_cast<std::size_t>(shape[1]);
    add_sums(out, shape, std::move(sums), x, w, [=](std::size_t i) { return i / area % channels; });
  }

  void gemm(const Node& node, ValueId out) {
    const Centred& x = centred_.at(node.inputs[0]);
    const Centred& w = centred_.at(node.inputs[1]);
    const bool transposed = node.get_int("transB", 0) != 0;
    const std::int64_t k = x.shape[1];
    const std::int64_t channels = w.shape[transposed ? 0 : 1];
    Ints sums;
    for (std::int64_t row = 0; row < x.shape[0]; ++row) {
      for (std::int64_t c = 0; c < channels; ++c) {
        std::int32_t sum = bias_of(node, c);
        for (std::int64_t i = 0; i < k; ++i) {
          const std::int64_t at = transposed ? c * k + i : i * channels + c;
          sum += x.values[static_cast<std::size_t>(row * k + i)] *
                 w.values[static_cast<std::size_t>(at)];
        }
        sums.push_back(sum);
      }
    }
    add_sums(out, Shape{x.shape[0], channels}, std::move(sums), x, w,
             [channels](std::size_t i) { return i % static_cast<std::size_t>(channels); });
  }

  void clamp(const Node& node, ValueId out) {
    constexpr float kInf = std::numeric_limits<float>::infinity();
    Pending pending = pending_.at(node.inputs[0]);
    pending.clamp = {0.0F, kInf};
    if (node.is("Clip")) {
      pending.clamp->first = node.has_input(1) ? scalar(node.inputs[1]) : -kInf;
      pending.clamp->second = node.has_input(2) ? scalar(node.inputs[2]) : kInf;
    }
    pending_[out] = std::move(pending);
  }

  // An Add of pending sums and a residual: both are rescaled to s_y / 2^20 and then added.
  bool add_residual(const Node& node, ValueId out) {
    const bool first = pending_.contains(node.inputs[0]);
    if (!node.is("Add") || first == pending_.contains(node.inputs[1])) return false;
    const Pending sums = pending_.at(node.inputs[first ? 0 : 1]);
    const Centred residual = centred_.at(node.inputs[first ? 1 : 0]);
    Pending pending;
    pending.shape = sums.shape;
    pending.rescale = [=, this](std::size_t i, float y_scale) {
      const double m = static_cast<double>(residual.scales[0]) / static_cast<double>(y_scale);
      const std::int64_t sum =
          sums.raised(i, y_scale) + scaled(path_, std::int64_t{residual.values[i]} << 20, m);
      return scaled(path_, std::clamp<std::int64_t>(sum, kIntMin, kIntMax), 1.0 / 1048576.0);
    };
    pending_[out] = std::move(pending);
    return true;
  }

  void binary(const Node& node, ValueId out) {
    if (add_residual(node, out)) return;
    const Centred a = centred_.at(node.inputs[0]);
    const Centred b = centred_.at(node.inputs[1]);
    // There is one image, so the smaller operand may have one value per channel.
    const Centred& large = a.values.size() >= b.values.size() ? a : b;
    const auto count = static_cast<std::int64_t>(large.values.size());
    const auto index = [count](const Centred& c, std::size_t i) {
      const auto own = static_cast<std::int64_t>(c.values.size());
      return static_cast<std::size_t>(own == count ? static_cast<std::int64_t>(i)
                                                   : static_cast<std::int64_t>(i) / (count / own));
    };
    const bool add = node.is("Add");
    Pending pending;
    pending.shape = large.shape;
    pending.rescale = [=, this](std::size_t i, float y_scale) {
      const std::int64_t qa = a.values[index(a, i)];
      const std::int64_t qb = b.values[index(b, i)];
      const float sa = a.scales[0];
      const float sb = b.scales[0];
      if (!add) return scaled(path_, qa * qb, static_cast<double>(sa * sb / y_scale));
      const double twice = 2.0 * static_cast<double>(std::max(sa, sb));
      const std::int64_t sum = scaled(path_, qa << 20, static_cast<double>(sa) / twice) +
                               scaled(path_, qb << 20, static_cast<double>(sb) / twice);
      return scaled(path_, sum, twice / (1048576.0 * static_cast<double>(y_scale)));
    };
    pending_[out] = std::move(pending);
  }

  void average(const Node& node, ValueId out) {
    const Centred x = centred_.at(node.inputs[0]);
    const bool global = node.is("GlobalAveragePool");
    const auto kernel = node.get_ints("kernel_shape", {x.shape[2], x.shape[3]});
    const auto strides = node.get_ints("strides", {1, 1});
    const auto pads = node.get_ints("pads", {0, 0, 0, 0});
    const bool include = node.get_int("count_include_pad", 0) != 0;
    const auto extent = [&](std::size_t axis) {
      const std::int64_t in = x.shape[static_cast<std::int64_t>(axis) + 2];
      return global ? 1 : (in + pads[axis] + pads[axis + 2] - kernel[axis]) / strides[axis] + 1;
    };
    const Shape shape{x.shape[0], x.shape[1], extent(0), extent(1)};
    Ints sums;
    Ints counts;
    for (std::int64_t plane = 0; plane < shape[0] * shape[1]; ++plane) {
      for (std::int64_t oy = 0; oy < shape[2]; ++oy) {
        for (std::int64_t ox = 0; ox < shape[3]; ++ox) {
          std::int32_t sum = 0;
          std::int32_t count = 0;
          for (std::int64_t i = 0; i < kernel[0]; ++i) {
            for (std::int64_t j = 0; j < kernel[1]; ++j) {
              const std::int64_t y = oy * strides[0] - pads[0] + i;
              const std::int64_t c = ox * strides[1] - pads[1] + j;
              const bool inside = y >= 0 && y < x.shape[2] && c >= 0 && c < x.shape[3];
              count += inside || include ? 1 : 0;
              if (!inside) continue;
              const std::int64_t at = (plane * x.shape[2] + y) * x.shape[3] + c;
              sum += x.values[static_cast<std::size_t>(at)];
            }
          }
          sums.push_back(sum);
          counts.push_back(count);
        }
      }
    }
    const float x_scale = x.scales[0];
    Pending pending;
    pending.shape = shape;
    pending.rescale = [=, this](std::size_t i, float y_scale) {
      const std::int64_t acc =
          scaled(path_, sums[i], static_cast<double>(x_scale) / static_cast<double>(y_scale));
      const std::int64_t n = counts[i];
      return acc > 0 ? (acc + n / 2) / n : (acc - n / 2) / n;
    };
    pending.real = [=](std::size_t i) {
      return static_cast<float>(sums[i]) * (x_scale / static_cast<float>(counts[i]));
    };
    pending_[out] = std::move(pending);
  }

  // Each operand is rescaled to the scale of the QuantizeLinear after the Concat.
  void concatenate(const Node& node, ValueId out) {
    std::vector<Centred> parts;
    for (const ValueId in : node.inputs) parts.push_back(centred_.at(in));
    ASSERT_EQ(node.get_int("axis", 0), 1);
    ASSERT_EQ(parts[0].shape[0], 1);
    std::vector<std::int64_t> dims = parts[0].shape.dims();
    dims[1] = 0;
    for (const Centred& part : parts) dims[1] += part.shape[1];
    Pending pending;
    pending.shape = Shape(dims);
    pending.rescale = [parts, this](std::size_t i, float y_scale) {
      for (const Centred& part : parts) {
        if (i < part.values.size()) {
          return part.scales[0] == y_scale
                     ? part.values[i]
                     : scaled(path_, part.values[i],
                              static_cast<double>(part.scales[0]) / static_cast<double>(y_scale));
        }
        i -= part.values.size();
      }
      return std::int64_t{0};
    };
    pending_[out] = std::move(pending);
  }

  // Operators that only move integers use their FP32 code, with the integers as floats.
  void move(const Node& node, ValueId out) {
    if (pending_.contains(node.inputs[0])) {
      // After the last sum only the shape may change.
      ASSERT_TRUE(node.is("Flatten") || node.is("Reshape")) << node.op_type;
      pending_[out] = pending_.at(node.inputs[0]);
      return;
    }
    const Centred& x = centred_.at(node.inputs[0]);
    Graph graph;
    graph.info = graph_.info;
    Tensor values(DType::kFloat32, x.shape);
    for (std::size_t i = 0; i < x.values.size(); ++i) {
      values.values<float>()[i] = static_cast<float>(x.values[i]);
    }
    Node copy = node;
    copy.inputs = {graph.add_constant("x", std::move(values))};
    for (std::size_t i = 1; i < node.inputs.size(); ++i) {
      copy.inputs.push_back(
          node.has_input(i)
              ? graph.add_constant(to_text("in", i), graph_.value(node.inputs[i]).constant->clone())
              : kNoValue);
    }
    copy.outputs = {graph.add_value("y")};
    const auto moved = evaluate_node(graph, graph.add_node(std::move(copy)), LoweredParams{});
    ASSERT_TRUE(moved) << node.op_type;
    Centred result;
    result.shape = (*moved)[0].shape();
    result.scales = x.scales;
    result.zero_point = x.zero_point;
    for (const float d : (*moved)[0].values<float>()) {
      result.values.push_back(static_cast<std::int32_t>(d));
    }
    centred_[out] = std::move(result);
  }

  const Graph& graph_;
  Requantization path_;
  std::map<ValueId, std::vector<float>> reals_;
  std::map<ValueId, Shape> shapes_;
  std::map<ValueId, Centred> centred_;
  std::map<ValueId, Pending> pending_;
};

}  // namespace qtool::tests

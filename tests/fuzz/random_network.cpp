#include "random_network.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

namespace qtool::fuzz {
namespace {

using Ints = std::vector<std::int64_t>;

// A tensor [N, channels, height, width] of the network.
struct Image {
  ValueId id = kNoValue;
  std::int64_t channels = 0;
  std::int64_t height = 0;
  std::int64_t width = 0;

  [[nodiscard]] bool same_shape(const Image& other) const {
    return channels == other.channels && height == other.height && width == other.width;
  }
};

class Builder {
 public:
  Builder(std::uint64_t seed, Width width) : random_(seed), width_(width == Width::kWide ? 8 : 1) {
    graph_.info.opsets[""] = 17;
  }

  Graph build() {
    Image x{graph_.add_value("x"), random_.between(1, 9), random_.between(5, 14),
            random_.between(5, 14)};
    graph_.declare(
        x.id, DType::kFloat32,
        std::vector<Dim>{{std::nullopt, "N"}, {x.channels, ""}, {x.height, ""}, {x.width, ""}});
    graph_.add_input(x.id);
    images_.push_back(x);
    for (std::int64_t layers = random_.between(2, 9); layers > 0; --layers) {
      const Image& from = random_.one_in(4) ? random_.pick(images_) : images_.back();
      images_.push_back(layer(from));
    }
    finish(images_.back());
    graph_.remove_dead_nodes();
    graph_.check();
    return std::move(graph_);
  }

 private:
  ValueId node(const std::string& op_type, std::vector<ValueId> inputs,
               Node::AttributeMap attributes = {}) {
    Node made;
    made.name = op_type + "_" + std::to_string(++count_);
    made.op_type = op_type;
    made.inputs = std::move(inputs);
    made.outputs = {graph_.add_value(made.name + "_out")};
    made.attributes = std::move(attributes);
    const ValueId output = made.outputs[0];
    graph_.add_node(std::move(made));
    return output;
  }

  ValueId constant(Tensor tensor) {
    return graph_.add_constant("c" + std::to_string(++count_), std::move(tensor));
  }
  ValueId ints(const Ints& values) {
    const auto size = static_cast<std::int64_t>(values.size());
    return constant(Tensor::of<std::int64_t>({size}, std::span<const std::int64_t>(values)));
  }
  ValueId scalar(float value) { return constant(Tensor::scalar(value)); }

  // Weights with which a sum of `fan_in` products has about unit gain.
  ValueId weights(const Shape& shape, std::int64_t fan_in) {
    Tensor tensor = random_reals(random_, shape);
    const float gain = 1.0F / std::sqrt(static_cast<float>(fan_in));
    for (float& value : tensor.values<float>()) value *= gain;
    return constant(std::move(tensor));
  }

  Image layer(const Image& x) {
    switch (random_.below(14)) {
      case 0:
      case 1:
      case 2:
      case 3:
        return activate(convolution(x));
      case 4:
        return activate(x);
      case 5:
        return pool(x);
      case 6:
      case 7:
        return combine(x);
      case 8:
        return move(x);
      case 9:
        return resize(x);
      case 10:
        return normalize(x);
      case 11:
        return normalize_instances(x);
      case 12:
        return take_rows(x);
      default:
        return squeeze_excite(x);
    }
  }

  Image convolution(const Image& x) {
    const std::int64_t kernel_h = std::min<std::int64_t>(random_.between(1, 5), x.height);
    const std::int64_t kernel_w = random_.one_in(4)
                                      ? std::min<std::int64_t>(random_.between(1, 5), x.width)
                                      : std::min(kernel_h, x.width);
    const std::int64_t stride = random_.one_in(3) ? 2 : 1;
    const std::int64_t dilation = random_.one_in(5) ? 2 : 1;
    const std::int64_t reach_h = (kernel_h - 1) * dilation;
    const std::int64_t reach_w = (kernel_w - 1) * dilation;
    const Ints pads = {random_.between((reach_h + 1) / 2, reach_h), random_.between(0, reach_w),
                       reach_h, reach_w};
    std::int64_t groups = 1;
    std::int64_t channels = width_ * random_.between(1, 20);
    if (random_.one_in(3)) {  // depthwise, with one or two filters per channel
      groups = x.channels;
      channels = x.channels * random_.between(1, 2);
    } else if (x.channels % 2 == 0 && random_.one_in(3)) {
      groups = 2;
      channels += channels % 2;
    }
    const std::int64_t inner = x.channels / groups;
    std::vector<ValueId> inputs = {
        x.id, weights({channels, inner, kernel_h, kernel_w}, inner * kernel_h * kernel_w)};
    if (!random_.one_in(4)) inputs.push_back(weights({channels}, 4));
    const ValueId y = node("Conv", std::move(inputs),
                           {{"kernel_shape", Ints{kernel_h, kernel_w}},
                            {"strides", Ints{stride, stride}},
                            {"dilations", Ints{dilation, dilation}},
                            {"pads", pads},
                            {"group", groups}});
    return {y, channels, (x.height + pads[0] + pads[2] - reach_h - 1) / stride + 1,
            (x.width + pads[1] + pads[3] - reach_w - 1) / stride + 1};
  }

  Image activate(Image x) {
    switch (random_.below(9)) {
      case 0:
      case 1:
        x.id = node("Relu", {x.id});
        break;
      case 2:
        x.id = node("Clip", {x.id, scalar(0.0F), scalar(1.5F)});
        break;
      case 3:
        x.id = node("Sigmoid", {x.id});
        break;
      case 4:
        x.id = node("HardSwish", {x.id});
        break;
      case 5:
        x.id = node("LeakyRelu", {x.id}, {{"alpha", 0.1F}});
        break;
      case 6:
        x.id = node("PRelu", {x.id, weights({x.channels, 1, 1}, 4)});
        break;
      case 7:
        x.id = node("Mul", {x.id, node("Sigmoid", {x.id})});
        break;
      default:
        break;
    }
    return x;
  }

  Image pool(Image x) {
    if (x.height < 3 || x.width < 3) return x;
    const std::int64_t stride = random_.between(1, 2);
    const std::int64_t pad = random_.between(0, 1);
    Node::AttributeMap attributes = {{"kernel_shape", Ints{3, 3}},
                                     {"strides", Ints{stride, stride}},
                                     {"pads", Ints{pad, pad, pad, pad}}};
    if (random_.one_in(2)) {
      x.id = node("MaxPool", {x.id}, std::move(attributes));
    } else {
      attributes["count_include_pad"] = random_.between(0, 1);
      x.id = node("AveragePool", {x.id}, std::move(attributes));
    }
    x.height = (x.height + 2 * pad - 3) / stride + 1;
    x.width = (x.width + 2 * pad - 3) / stride + 1;
    return x;
  }

  // Combines `x` with an earlier tensor of the same height and width, or with another branch of
  // `x`.
  Image combine(const Image& x) {
    std::vector<Image> partners;
    for (const Image& other : images_) {
      const bool aligned = other.height == x.height && other.width == x.width;
      if (aligned && other.id != x.id) partners.push_back(other);
    }
    const Image other = partners.empty() ? activate(x) : random_.pick(partners);
    if (other.id != x.id && other.same_shape(x) && !random_.one_in(3)) {
      return activate({pair(x.id, other.id), x.channels, x.height, x.width});
    }
    const ValueId y = node("Concat", {x.id, other.id}, {{"axis", std::int64_t{1}}});
    return {y, x.channels + other.channels, x.height, x.width};
  }

  ValueId pair(ValueId a, ValueId b) {
    switch (random_.below(8)) {
      case 0:
      case 1:
        return node("Mul", {a, b});
      case 2: {
        const ValueId difference = node("Sub", {a, b});
        if (random_.one_in(2)) return difference;
        return node("Mul", {difference, difference});
      }
      case 3:
        return node(random_.one_in(2) ? "Min" : "Max", {a, b});
      case 4:  // divides by at least 0.5
        return node("Div", {a, node("Add", {node("Sigmoid", {b}), scalar(0.5F)})});
      default:
        return node("Add", {a, b});
    }
  }

  Image move(Image x) {
    switch (random_.below(4)) {
      case 0:
        x.id = node("Transpose", {x.id}, {{"perm", Ints{0, 1, 3, 2}}});
        std::swap(x.height, x.width);
        break;
      case 1:
        if (x.height < 4) return x;
        x.id = node("Slice", {x.id, ints({1}), ints({x.height - 1}), ints({2})});
        x.height -= 2;
        break;
      case 2:
        x.id = node("Pad", {x.id, ints({0, 0, 1, 0, 0, 0, 0, 2})});
        x.height += 1;
        x.width += 2;
        break;
      default:
        if (x.height % 2 != 0 || x.width % 2 != 0) return x;
        x.id = node("SpaceToDepth", {x.id}, {{"blocksize", std::int64_t{2}}});
        x = {x.id, 4 * x.channels, x.height / 2, x.width / 2};
    }
    return x;
  }

  Image resize(Image x) {
    if (x.height > 16 || x.width > 16) return x;
    const ValueId scales = constant(Tensor::of<float>({4}, {1.0F, 1.0F, 2.0F, 2.0F}));
    const bool linear = random_.one_in(2);
    x.id = node("Resize", {x.id, kNoValue, scales},
                {{"mode", std::string(linear ? "linear" : "nearest")},
                 {"coordinate_transformation_mode", std::string("asymmetric")},
                 {"nearest_mode", std::string("floor")}});
    x.height *= 2;
    x.width *= 2;
    return x;
  }

  Image normalize(Image x) {
    Tensor variance = random_reals(random_, {x.channels});
    for (float& value : variance.values<float>()) value = 0.5F + std::abs(value);
    x.id = node("BatchNormalization", {x.id, weights({x.channels}, 1), weights({x.channels}, 1),
                                       weights({x.channels}, 1), constant(std::move(variance))});
    return x;
  }

  Image normalize_instances(Image x) {
    x.id =
        node("InstanceNormalization", {x.id, weights({x.channels}, 1), weights({x.channels}, 1)});
    return x;
  }

  // Reshapes the pixels to one row, or adds a third axis, and applies a convolution or a pooling to
  // it.
  Image take_rows(Image x) {
    const bool volume = random_.one_in(2);
    const std::size_t axes = volume ? 3 : 1;
    Ints dims{0, x.channels};
    if (volume) {
      dims.insert(dims.end(), {x.height, 1, x.width});
    } else {
      dims.push_back(x.height * x.width);
    }
    ValueId y = node("Reshape", {x.id, ints(dims)});
    Ints kernel(axes, 1);
    kernel.back() = 3;
    Ints pads(2 * axes, 0);
    pads[axes - 1] = pads.back() = 1;
    const Node::AttributeMap attributes = {{"kernel_shape", kernel}, {"pads", pads}};
    if (random_.one_in(4)) {
      y = node(random_.one_in(2) ? "MaxPool" : "AveragePool", {y}, attributes);
    } else {
      Ints shape{x.channels, x.channels};
      shape.insert(shape.end(), kernel.begin(), kernel.end());
      y = node("Conv", {y, weights(Shape(shape), 3 * x.channels), weights({x.channels}, 4)},
               attributes);
    }
    if (random_.one_in(2)) y = node("Relu", {y});
    x.id = node("Reshape", {y, ints({0, x.channels, x.height, x.width})});
    return x;
  }

  Image squeeze_excite(Image x) {
    const ValueId mean = random_.one_in(2) ? node("GlobalAveragePool", {x.id})
                                           : node("ReduceMean", {x.id}, {{"axes", Ints{2, 3}}});
    const ValueId scores =
        node("Conv", {mean, weights({x.channels, x.channels, 1, 1}, x.channels)});
    x.id = node("Mul", {x.id, node(random_.one_in(2) ? "Sigmoid" : "HardSigmoid", {scores})});
    return x;
  }

  void finish(const Image& x) {
    if (random_.one_in(3)) add_output(x.id);
    if (random_.one_in(4)) {
      if (!graph_.is_output(x.id)) add_output(x.id);
      return;
    }
    const bool pooled = random_.one_in(2);
    const ValueId image = pooled ? node("GlobalAveragePool", {x.id}) : x.id;
    const std::int64_t features = pooled ? x.channels : x.channels * x.height * x.width;
    const ValueId flat = node("Flatten", {image});
    const std::int64_t classes = width_ * random_.between(1, 12);
    if (random_.one_in(3)) {
      add_output(node("MatMul", {flat, weights({features, classes}, features)}));
      return;
    }
    const bool transposed = random_.one_in(2);
    const Shape shape = transposed ? Shape{classes, features} : Shape{features, classes};
    ValueId y = node("Gemm", {flat, weights(shape, features), weights({classes}, 4)},
                     {{"transB", std::int64_t{transposed ? 1 : 0}}});
    if (random_.one_in(3)) y = node("Softmax", {y});
    add_output(y);
  }

  void add_output(ValueId id) {
    if (graph_.is_input(id)) id = node("Identity", {id});
    graph_.add_output(id);
    graph_.declare(id, DType::kFloat32, std::nullopt);
  }

  Random random_;
  std::int64_t width_;  // a factor for the number of channels
  Graph graph_;
  std::vector<Image> images_;
  int count_ = 0;
};

}  // namespace

Graph random_network(std::uint64_t seed, Width width) { return Builder(seed, width).build(); }

Tensor random_reals(Random& random, const Shape& shape) {
  Tensor tensor(DType::kFloat32, shape);
  for (float& value : tensor.values<float>()) value = 2.0F * random.real();
  return tensor;
}

}  // namespace qtool::fuzz

#include "quantize/rounding/input_moments.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <span>

#include "base/text.h"
#include "graph/clamp.h"
#include "ops/onednn/onednn.h"
#include "ops/operator.h"
#include "ops/spatial.h"
#include "ops/strides.h"
#include "qtool/base/error.h"

namespace qtool {
namespace {

/// Chooses `count` of `positions`, spread evenly. It uses multiples of the golden ratio, because
/// they line up neither with the rows nor with the columns of an image.
std::vector<std::int64_t> spread(std::int64_t positions, std::int64_t count) {
  std::vector<std::int64_t> chosen;
  if (positions <= count) {
    for (std::int64_t i = 0; i < positions; ++i) chosen.push_back(i);
    return chosen;
  }
  for (std::int64_t i = 0; i < count; ++i) {
    const double turns = (static_cast<double>(i) + 0.5) * (std::numbers::phi - 1.0);
    const double part = turns - std::floor(turns);
    chosen.push_back(
        std::min(static_cast<std::int64_t>(part * static_cast<double>(positions)), positions - 1));
  }
  return chosen;
}

/// The places of a window in all images of an input.
std::int64_t places_of(const Shape& input, const Window& window) {
  std::int64_t places = input[0];
  for (const std::int64_t extent : window.output) places *= extent;
  return places;
}

/// Changes the size. The old values are not needed, so they are not copied to new memory.
void make_size(std::vector<float>& values, std::size_t size) {
  if (size > values.capacity()) {
    values.clear();
    values.reserve(size);
  }
  values.resize(size);
}

}  // namespace

std::optional<InputRows> InputRows::of(const Graph& graph, NodeId id, const WeightPorts& ports) {
  const Node& node = graph.node(id);
  const Shape& shape = graph.value(ports.weight).constant->shape();
  InputRows rows(graph, id, shape);
  rows.is_convolution_ = node.is("Conv");
  const bool is_product = node.is("MatMul") || (node.is("Gemm") && node.get_int("transA", 0) == 0);
  if (!rows.is_convolution_ && !is_product) return std::nullopt;
  if (rows.is_convolution_) rows.groups_ = node.get_int("group", 1);
  rows.depth_ = ports.depth;
  return rows;
}

Window InputRows::window_of(const Shape& input) const {
  static const ValueInfos kNone;  // only attributes are read
  const OpContext op(*graph_, node_, kNone);
  return resolve_conv(op, input, weights_).window;
}

std::int64_t InputRows::vectors_of(const Shape& input) const {
  if (is_convolution_) return places_of(input, window_of(input));
  return input.elements() / std::max<std::int64_t>(depth_, 1);
}

void InputRows::gather(const TensorView& input, std::int64_t max_rows,
                       std::vector<float>& rows) const {
  if (is_convolution_) return gather_windows(input, max_rows, rows);
  const Shape& shape = input.shape;
  if (shape.rank() == 0 || shape[shape.rank() - 1] != depth_) {
    throw Error(ErrorCode::kInvalidModel,
                to_text(graph_->describe(node_), ": its input has shape ", shape.to_string(),
                        ", expected ", depth_, " elements on the last axis"));
  }
  const std::vector<std::int64_t> positions = spread(shape.elements() / depth_, max_rows);
  const std::vector<std::int64_t> steps = strides_of(shape, input.layout);
  make_size(rows, positions.size() * static_cast<std::size_t>(depth_));
  const float* from = input.values<float>().data();
  float* to = rows.data();
  for (const std::int64_t position : positions) {
    std::int64_t offset = 0;
    std::int64_t rest = position;
    for (std::int64_t axis = shape.rank() - 1; axis-- > 0; rest /= shape[axis]) {
      offset += rest % shape[axis] * steps[static_cast<std::size_t>(axis)];
    }
    for (std::int64_t i = 0; i < depth_; ++i) *to++ = from[offset + i * steps.back()];
  }
}

void InputRows::gather_windows(const TensorView& input, std::int64_t max_rows,
                               std::vector<float>& rows) const {
  const Window window = window_of(input.shape);
  const std::size_t axes = window.kernel.size();
  const std::vector<std::int64_t> steps = strides_of(input.shape, input.layout);
  const std::int64_t channels = weights_[1];
  const std::vector<std::int64_t> positions = spread(places_of(input.shape, window), max_rows);
  const auto count = static_cast<std::int64_t>(positions.size());
  const std::int64_t taps = channels == 0 ? 0 : depth_ / channels;
  make_size(rows, static_cast<std::size_t>(groups_ * count * depth_));
  const float* from = input.values<float>().data();
  // Some windows at a time, so that a group writes their vectors one behind the other.
  constexpr std::int64_t kWindows = 16;
  std::vector<std::int64_t> offsets(static_cast<std::size_t>(kWindows * taps));  // -1: padding
  for (std::int64_t begin = 0; begin < count; begin += kWindows) {
    const std::int64_t end = std::min(begin + kWindows, count);
    auto next = offsets.begin();
    for (std::int64_t r = begin; r < end; ++r) {
      std::vector<std::int64_t> corner(axes);
      std::int64_t rest = positions[static_cast<std::size_t>(r)];
      for (std::size_t a = axes; a-- > 0; rest /= window.output[a]) {
        corner[a] = rest % window.output[a] * window.strides[a] - window.pads_begin[a];
      }
      const std::int64_t image = rest * steps[0];
      for (std::int64_t t = 0; t < taps; ++t, ++next) {
        std::int64_t tap = t;
        *next = image;
        for (std::size_t a = axes; a-- > 0 && *next >= 0; tap /= window.kernel[a]) {
          const std::int64_t at = corner[a] + tap % window.kernel[a] * window.dilations[a];
          const bool inside = at >= 0 && at < input.shape[static_cast<std::int64_t>(a) + 2];
          *next = inside ? *next + at * steps[a + 2] : -1;
        }
      }
    }
    for (std::int64_t g = 0; g < groups_; ++g) {
      float* to = rows.data() + (g * count + begin) * depth_;
      for (std::int64_t r = 0; r < end - begin; ++r) {
        const std::span window_offsets = std::span(offsets).subspan(
            static_cast<std::size_t>(r * taps), static_cast<std::size_t>(taps));
        for (std::int64_t c = 0; c < channels; ++c) {
          const float* plane = from + (g * channels + c) * steps[1];
          for (const std::int64_t offset : window_offsets) {
            *to++ = offset < 0 ? 0.0F : plane[offset];
          }
        }
      }
    }
  }
}

PassedInterval passed_interval(const Graph& graph, NodeId id) {
  PassedInterval passed;
  const ValueId result = graph.node(id).outputs[0];
  if (result == kNoValue || graph.is_output(result) || graph.consumers(result).size() != 1) {
    return passed;
  }
  const Node& next = graph.node(graph.consumers(result).front());
  if (next.inputs[0] != result) return passed;
  if (const std::optional<Range> bounds = clamp_of(graph, next))
    passed = {bounds->min, bounds->max};
  return passed;
}

void add_samples(const std::vector<float>& rows, std::int64_t groups, std::int64_t depth,
                 std::int64_t max_rows, InputSamples& samples) {
  if (groups == 0 || depth == 0) return;
  samples.vectors.resize(static_cast<std::size_t>(groups * samples.capacity * depth));
  const std::int64_t count = std::ssize(rows) / (groups * depth);
  const std::int64_t taken = std::min({max_rows, count, samples.capacity - samples.rows});
  for (std::int64_t i = 0; i < taken; ++i) {
    const std::int64_t from = i * count / taken;
    for (std::int64_t g = 0; g < groups; ++g) {
      std::copy_n(rows.begin() + (g * count + from) * depth, depth,
                  samples.vectors.begin() + (g * samples.capacity + samples.rows + i) * depth);
    }
  }
  samples.rows += std::max<std::int64_t>(taken, 0);
}

void add_rows(const std::vector<float>& rows, InputMoments& moments) {
  const std::int64_t depth = moments.depth;
  const auto width = static_cast<std::size_t>(moments.groups * depth);
  if (moments.second.empty()) {
    moments.second.resize(width * static_cast<std::size_t>(depth));
    moments.first.resize(width);
  }
  const std::int64_t count = std::ssize(rows) / std::max<std::int64_t>(moments.groups * depth, 1);
  if (count == 0) return;
  for (std::int64_t g = 0; g < moments.groups; ++g) {
    const float* x = rows.data() + g * count * depth;
    onednn::add_gram(x, count, depth, moments.second.data() + g * depth * depth);
    double* sums = moments.first.data() + g * depth;
    for (std::int64_t r = 0; r < count; ++r) {
      for (std::int64_t i = 0; i < depth; ++i) sums[i] += static_cast<double>(x[r * depth + i]);
    }
  }
  moments.rows += count;
}

}  // namespace qtool

#include "ops/spatial.h"

#include <algorithm>
#include <utility>

#include "base/round_up.h"
#include "base/text.h"
#include "ops/infer_rules.h"

namespace qtool {
namespace {

// Keeps products of extents far from overflow; no real network has such extents.
constexpr std::int64_t kMaxExtent = std::int64_t{1} << 24;

std::vector<std::int64_t> read_extents(const OpContext& op, std::string_view key, std::size_t count,
                                       std::int64_t fallback, std::int64_t lowest) {
  std::vector<std::int64_t> values =
      op.node.get_ints(key, std::vector<std::int64_t>(count, fallback));
  if (values.empty()) values.assign(count, fallback);
  op.require(values.size() == count,
             to_text(key, " has ", values.size(), " entries, expected ", count));
  for (const std::int64_t value : values) {
    op.require(value >= lowest && value <= kMaxExtent,
               to_text(key, " holds ", value, ", expected ", lowest, " to ", kMaxExtent));
  }
  return values;
}

// The attributes as the model has them; `kernel` overrides kernel_shape when not empty.
Window read_window(const OpContext& op, const Shape& input,
                   const std::vector<std::int64_t>& kernel) {
  op.require(input.rank() >= 3, to_text("input has rank ", input.rank(), ", expected at least 3"));
  const auto axes = static_cast<std::size_t>(input.rank() - 2);
  Window window;
  window.kernel = read_extents(op, "kernel_shape", axes, 0, 0);
  if (!kernel.empty()) {
    op.require(!op.node.has("kernel_shape") || window.kernel == kernel,
               "kernel_shape does not fit the weights");
    window.kernel = kernel;
  }
  op.require(window.kernel.size() == axes &&
                 *std::min_element(window.kernel.begin(), window.kernel.end()) >= 1,
             "kernel extents must be at least 1, one per spatial axis");
  window.strides = read_extents(op, "strides", axes, 1, 1);
  window.dilations = read_extents(op, "dilations", axes, 1, 1);
  const std::vector<std::int64_t> pads = read_extents(op, "pads", 2 * axes, 0, 0);
  window.pads_begin.assign(pads.begin(), pads.begin() + static_cast<std::ptrdiff_t>(axes));
  window.pads_end.assign(pads.begin() + static_cast<std::ptrdiff_t>(axes), pads.end());
  return window;
}

std::string read_auto_pad(const OpContext& op) {
  std::string auto_pad = op.node.get_string("auto_pad", "NOTSET");
  op.require(auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER" || auto_pad == "NOTSET" ||
                 auto_pad == "VALID",
             to_text("auto_pad '", auto_pad, "' is unknown"));
  return auto_pad;
}

// The attribute `group` of a Conv or ConvTranspose. Throws when input and weights do not meet the
// conditions that both operators share.
std::int64_t read_groups(const OpContext& op, const Shape& input, const Shape& weights) {
  op.require(weights.rank() == input.rank() && input.rank() >= 3 && input.rank() <= 5,
             to_text("input ", input.to_string(), " and weight ", weights.to_string(),
                     " must have the same rank, 3 to 5"));
  op.require(input.elements() > 0 && weights.elements() > 0, "a tensor is empty");
  const std::int64_t groups = op.node.get_int("group", 1);
  op.require(groups >= 1 && input[1] % groups == 0,
             to_text(groups, " groups do not divide ", input[1], " input channels"));
  return groups;
}

}  // namespace

std::int64_t reach_of(const OpContext& op, std::int64_t kernel, std::int64_t dilation) {
  // Checked before the multiplication, because weights may have 2^40 elements.
  const bool fits = kernel <= kMaxExtent && (kernel - 1) * dilation < kMaxExtent;
  op.require(fits, to_text("a window of ", kernel, " with dilation ", dilation,
                           " reaches over more than ", kMaxExtent, " elements"));
  return (kernel - 1) * dilation + 1;
}

Window resolve_window(const OpContext& op, const Shape& input,
                      const std::vector<std::int64_t>& kernel) {
  Window window = read_window(op, input, kernel);
  const auto axes = static_cast<std::size_t>(input.rank() - 2);
  const std::string auto_pad = read_auto_pad(op);
  const bool same = auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER";
  const bool ceil_mode = op.node.get_int("ceil_mode", 0) != 0;
  for (std::size_t i = 0; i < axes; ++i) {
    const std::int64_t extent = input[static_cast<std::int64_t>(i) + 2];
    const std::int64_t stride = window.strides[i];
    const std::int64_t reach = reach_of(op, window.kernel[i], window.dilations[i]);
    op.require(extent <= kMaxExtent, "an extent is too large");
    std::int64_t output = 0;
    if (same) {
      output = ceil_div(extent, stride);
      const std::int64_t total = std::max<std::int64_t>(0, (output - 1) * stride + reach - extent);
      window.pads_begin[i] = auto_pad == "SAME_UPPER" ? total / 2 : total - total / 2;
      window.pads_end[i] = total - window.pads_begin[i];
    } else {
      if (auto_pad == "VALID") window.pads_begin[i] = window.pads_end[i] = 0;
      const std::int64_t span = extent + window.pads_begin[i] + window.pads_end[i] - reach;
      op.require(span >= 0, to_text("the window of ", reach, " does not fit into ", extent,
                                    " padded elements"));
      output = span / stride + 1;
      // ceil_mode adds a window only if it starts inside the input or its leading padding.
      if (ceil_mode && span % stride != 0 && output * stride < extent + window.pads_begin[i]) {
        ++output;
      }
    }
    const std::int64_t needed = (output - 1) * stride + reach - extent - window.pads_begin[i];
    window.pads_end[i] = std::max(needed, std::int64_t{0});
    window.output.push_back(output);
  }
  return window;
}

Window pool_window(const OpContext& op, PoolExtent extent) {
  const Shape& x = op.input(0).shape;
  op.require(x.rank() >= 3 && x.rank() <= 5 && x.elements() > 0,
             to_text("input ", x.to_string(), " must have rank 3 to 5 and elements"));
  if (extent == PoolExtent::kWindow) return resolve_window(op, x, {});
  const auto axes = static_cast<std::size_t>(x.rank() - 2);
  Window window;
  window.kernel.assign(x.dims().begin() + 2, x.dims().end());
  window.strides = window.dilations = window.output = std::vector<std::int64_t>(axes, 1);
  window.pads_begin = window.pads_end = std::vector<std::int64_t>(axes, 0);
  return window;
}

Shape pooled_shape(const Shape& input, const Window& window) {
  std::vector<std::int64_t> out{input[0], input[1]};
  out.insert(out.end(), window.output.begin(), window.output.end());
  return Shape(std::move(out));
}

ConvGeometry resolve_conv(const OpContext& op, const Shape& input, const Shape& weights) {
  ConvGeometry conv;
  conv.groups = read_groups(op, input, weights);
  op.require(weights[0] % conv.groups == 0,
             to_text(conv.groups, " groups do not divide ", weights[0], " output channels"));
  op.require(weights[1] == input[1] / conv.groups,
             to_text("weight has ", weights[1], " input channels, input has ", input[1], " in ",
                     conv.groups, " groups"));
  conv.window = resolve_window(op, input, {weights.dims().begin() + 2, weights.dims().end()});
  std::vector<std::int64_t> output{input[0], weights[0]};
  output.insert(output.end(), conv.window.output.begin(), conv.window.output.end());
  conv.output = Shape(std::move(output));
  return conv;
}

ConvGeometry resolve_conv_transpose(const OpContext& op, const Shape& input, const Shape& weights) {
  ConvGeometry conv;
  conv.groups = read_groups(op, input, weights);
  op.require(weights[0] == input[1],
             to_text("weight has ", weights[0], " input channels, input has ", input[1]));
  op.require(weights[1] <= kMaxExtent && conv.groups <= kMaxExtent, "an extent is too large");
  conv.window = read_window(op, input, {weights.dims().begin() + 2, weights.dims().end()});
  Window& window = conv.window;
  const std::size_t axes = window.kernel.size();
  const std::string auto_pad = read_auto_pad(op);
  const bool same = auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER";
  const auto extra = read_extents(op, "output_padding", axes, 0, 0);
  std::vector<std::int64_t> wanted = op.node.get_ints("output_shape", {});
  // Some exporters list batch and channels too; ONNX Runtime accepts that.
  if (wanted.size() == axes + 2) wanted.erase(wanted.begin(), wanted.begin() + 2);
  op.require(wanted.empty() || wanted.size() == axes,
             to_text("output_shape has ", wanted.size(), " entries, expected ", axes));
  std::vector<std::int64_t> output{input[0], weights[1] * conv.groups};
  for (std::size_t i = 0; i < axes; ++i) {
    const std::int64_t extent = input[static_cast<std::int64_t>(i) + 2];
    op.require(extent <= kMaxExtent, "an extent is too large");
    // The position where the last tap of the last input element ends.
    const std::int64_t reach = reach_of(op, window.kernel[i], window.dilations[i]);
    const std::int64_t span = (extent - 1) * window.strides[i] + reach;
    const std::int64_t full = span + extra[i];
    if (auto_pad == "VALID") window.pads_begin[i] = window.pads_end[i] = 0;
    if (same || !wanted.empty()) {
      const std::int64_t target = wanted.empty() ? extent * window.strides[i] : wanted[i];
      const std::int64_t total = std::max<std::int64_t>(0, full - target);
      window.pads_begin[i] = auto_pad == "SAME_UPPER" ? total / 2 : total - total / 2;
      window.pads_end[i] = total - window.pads_begin[i];
    }
    const std::int64_t length =
        wanted.empty() ? full - window.pads_begin[i] - window.pads_end[i] : wanted[i];
    op.require(length >= 1 && length <= kMaxExtent,
               to_text("the result has extent ", length, ", expected 1 to ", kMaxExtent));
    window.pads_end[i] = span - window.pads_begin[i] - length;
    window.output.push_back(length);
    output.push_back(length);
  }
  conv.output = shape_of(op, std::move(output));
  return conv;
}

}  // namespace qtool

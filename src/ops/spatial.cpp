#include "ops/spatial.h"

#include <algorithm>
#include <utility>

#include "base/round_up.h"
#include "base/text.h"

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
             concat(key, " has ", values.size(), " entries, expected ", count));
  for (const std::int64_t value : values) {
    op.require(value >= lowest && value <= kMaxExtent,
               concat(key, " holds ", value, ", expected ", lowest, " to ", kMaxExtent));
  }
  return values;
}

}  // namespace

Window resolve_window(const OpContext& op, const Shape& input,
                      const std::vector<std::int64_t>& kernel) {
  op.require(input.rank() >= 3, concat("input has rank ", input.rank(), ", expected at least 3"));
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
  const std::string auto_pad = op.node.get_string("auto_pad", "NOTSET");
  const bool same = auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER";
  op.require(same || auto_pad == "NOTSET" || auto_pad == "VALID",
             concat("auto_pad '", auto_pad, "' is unknown"));
  const bool ceil_mode = op.node.get_int("ceil_mode", 0) != 0;
  for (std::size_t i = 0; i < axes; ++i) {
    const std::int64_t extent = input[static_cast<std::int64_t>(i) + 2];
    const std::int64_t stride = window.strides[i];
    const std::int64_t reach = (window.kernel[i] - 1) * window.dilations[i] + 1;
    op.require(extent <= kMaxExtent && reach <= kMaxExtent, "an extent is too large");
    std::int64_t output = 0;
    if (same) {
      output = ceil_div(extent, stride);
      const std::int64_t total = std::max<std::int64_t>(0, (output - 1) * stride + reach - extent);
      window.pads_begin[i] = auto_pad == "SAME_UPPER" ? total / 2 : total - total / 2;
      window.pads_end[i] = total - window.pads_begin[i];
    } else {
      if (auto_pad == "VALID") window.pads_begin[i] = window.pads_end[i] = 0;
      const std::int64_t span = extent + window.pads_begin[i] + window.pads_end[i] - reach;
      op.require(span >= 0, concat("the window of ", reach, " does not fit into ", extent,
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
             concat("input ", x.to_string(), " must have rank 3 to 5 and elements"));
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
  op.require(weights.rank() == input.rank() && input.rank() >= 3 && input.rank() <= 5,
             concat("input ", input.to_string(), " and weight ", weights.to_string(),
                    " must have the same rank, 3 to 5"));
  op.require(input.elements() > 0 && weights.elements() > 0, "a tensor is empty");
  ConvGeometry conv;
  conv.groups = op.node.get_int("group", 1);
  op.require(conv.groups >= 1 && input[1] % conv.groups == 0 && weights[0] % conv.groups == 0,
             concat(conv.groups, " groups do not divide ", input[1], " input and ", weights[0],
                    " output channels"));
  op.require(weights[1] == input[1] / conv.groups,
             concat("weight has ", weights[1], " input channels, input has ", input[1], " in ",
                    conv.groups, " groups"));
  conv.window = resolve_window(op, input, {weights.dims().begin() + 2, weights.dims().end()});
  std::vector<std::int64_t> output{input[0], weights[0]};
  output.insert(output.end(), conv.window.output.begin(), conv.window.output.end());
  conv.output = Shape(std::move(output));
  return conv;
}

}  // namespace qtool

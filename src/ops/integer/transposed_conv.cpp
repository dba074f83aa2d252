#include "ops/integer/transposed_conv.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/round_up.h"
#include "base/text.h"

namespace qtool {
namespace {

// The weights of the taps of a residue of the rows and a residue of the columns.
std::vector<std::int8_t> taps_of(std::span<const std::int8_t> filters, std::int64_t count,
                                 const std::array<std::int64_t, 2>& kernel, const Residue& rows,
                                 const Residue& columns) {
  std::vector<std::int8_t> picked;
  for (std::int64_t filter = 0; filter < count; ++filter) {
    for (const std::int64_t i : rows.taps) {
      for (const std::int64_t j : columns.taps) {
        const std::int64_t at = (filter * kernel[0] + i) * kernel[1] + j;
        picked.push_back(filters[static_cast<std::size_t>(at)]);
      }
    }
  }
  return picked;
}

}  // namespace

Residue residue_of(const Window& window, std::size_t axis, std::int64_t r) {
  const std::int64_t stride = window.strides[axis];
  const std::int64_t dilation = window.dilations[axis];
  Residue residue;
  residue.count = std::max<std::int64_t>(0, ceil_div(window.output[axis] - r, stride));
  // For output r + stride q, tap k reads input (r + pads_begin - k dilation) / stride + q. A tap
  // takes part only if that is an integer.
  const std::int64_t first = r + window.pads_begin[axis];
  for (std::int64_t k = window.kernel[axis]; k-- > 0;) {
    if ((first - k * dilation) % stride == 0) residue.taps.push_back(k);
  }
  if (residue.taps.empty()) return residue;
  residue.pad = (residue.taps[0] * dilation - first) / stride;
  residue.dilation = dilation / std::gcd(dilation, stride);
  return residue;
}

std::vector<std::int8_t> zero_weights(const OpContext& op, std::int64_t each) {
  const auto zero_points = op.params<QProductParams>().weight_zero_points->values<std::int32_t>();
  std::vector<std::int8_t> weights;
  for (std::int64_t m = 0; m < op.input(1).shape[0]; ++m) {
    const std::size_t channel = zero_points.size() == 1 ? 0 : static_cast<std::size_t>(m);
    weights.insert(weights.end(), static_cast<std::size_t>(each),
                   static_cast<std::int8_t>(zero_points[channel]));
  }
  return weights;
}

ConvGeometry integer_conv_transpose(const OpContext& op) {
  const Shape& x = op.input(0).shape;
  const Shape& w = op.input(1).shape;
  op.require((x.rank() == 4 || x.rank() == 5) && w.rank() == x.rank(),
             "only images and volumes have an integer transposed convolution");
  const std::int64_t groups = std::max<std::int64_t>(1, op.node.get_int("group", 1));
  std::vector<std::int64_t> weights = w.dims();
  weights[0] = w[1] * groups;
  weights[1] = w[0] / groups;
  return resolve_conv_transpose(op, x, Shape(std::move(weights)));
}

TransposedConv::TransposedConv(const OpContext& op, const Image& image, const Window& window,
                               std::span<const std::int8_t> filters, const std::string& part)
    : strides_{window.strides[image.first], window.strides[image.first + 1]},
      row_bytes_(image.width * image.channels),
      out_h_(window.output[image.first]),
      out_w_(window.output[image.first + 1]),
      element_((product_type(op) == DType::kUInt8 && !requantizes_sums(op) ? 1 : 4) *
               image.out_channels) {
  const std::size_t y = image.first;
  const std::size_t x = y + 1;
  const std::array<std::int64_t, 2> kernel{window.kernel[y], window.kernel[x]};
  for (std::int64_t i = 0; i < std::min(strides_[0], out_h_); ++i) {
    const Residue rows = residue_of(window, y, i);
    for (std::int64_t j = 0; j < std::min(strides_[1], out_w_); ++j) {
      add(op, image, kernel, filters, rows, residue_of(window, x, j),
          to_text(part, "phase ", i, " ", j, " of ", strides_[0], " ", strides_[1], " ",
                  window.dilations[y], " ", window.dilations[x], " ",
                  window.pads_begin[y] % strides_[0], " ", window.pads_begin[x] % strides_[1]));
    }
  }
}

void TransposedConv::add(const OpContext& op, const Image& image,
                         const std::array<std::int64_t, 2>& kernel,
                         std::span<const std::int8_t> filters, const Residue& rows,
                         const Residue& columns, const std::string& part) {
  const bool taps = !rows.taps.empty() && !columns.taps.empty();
  const auto count = [&](const Residue& residue) { return taps ? std::ssize(residue.taps) : 1; };
  const std::int64_t each = image.channels / image.groups;
  const ProductExtents extents{image.out_channels, image.channels, count(rows), count(columns),
                               image.groups};
  Phase phase;
  phase.conv =
      pack_product(op, extents, part,
                   taps ? taps_of(filters, image.out_channels * each, kernel, rows, columns)
                        : zero_weights(op, each));
  phase.one_row = extents.kernel_h == 1;
  phase.shape.in_h = image.height;
  phase.shape.in_w = image.width;
  phase.shape.out_w = columns.count;
  phase.shape.dilation_h = rows.dilation;
  phase.shape.dilation_w = columns.dilation;
  phase.shape.pad_top = rows.pad;
  phase.shape.pad_left = columns.pad;
  phase.shape.out_pixel_stride = strides_[1] * image.out_channels;
  scratch_bytes_ = std::max(scratch_bytes_, align_up(phase.conv->workspace_bytes(phase.shape, 1)));
  phases_.push_back(std::move(phase));
}

void TransposedConv::run_row(const std::uint8_t* image, std::int64_t y, std::byte* out,
                             std::byte* scratch) const {
  const std::int64_t across = std::min(strides_[1], out_w_);
  for (std::int64_t j = 0; j < across; ++j, out += element_) {
    const Phase& phase = phases_[static_cast<std::size_t>(y % strides_[0] * across + j)];
    ConvShape shape = phase.shape;
    shape.pad_top -= y / strides_[0];
    const std::uint8_t* from = image;
    if (phase.one_row && shape.pad_top <= 0 && -shape.pad_top < shape.in_h) {
      from += -shape.pad_top * row_bytes_;  // a single row may need no table of pixels
      shape.pad_top = 0;
      shape.in_h = 1;
    }
    phase.conv->run(shape, from, out, scratch, 1);
  }
}

}  // namespace qtool

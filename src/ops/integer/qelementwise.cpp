// Operators on u8 that lowering makes: QConcat and QLookup, and Quantize and Dequantize at the
// edges between FP32 and u8.
#include <algorithm>
#include <array>
#include <utility>

#include "base/parallel.h"
#include "kernels/lookup/lookup.h"
#include "kernels/quantize/quantize.h"
#include "ops/infer_rules.h"
#include "ops/integer/fixed_point.h"
#include "ops/operator.h"
#include "ops/rows.h"
#include "ops/strides.h"

namespace qtool {
namespace {

constexpr std::int64_t kConcatBytes = 16384;

// One input of a concatenation: blocks of `inner` contiguous bytes, each written `offset` bytes
// behind the beginning of a block of the output.
struct ConcatPart {
  std::int64_t offset;
  std::int64_t inner;
  bool same_scale;
  std::array<std::uint8_t, 256> table;
};

// The second byte of a tensor that keeps 16 bits, by the byte of an input.
std::array<std::uint8_t, 256> rest_table(const Affine& from, const Affine& first,
                                         const Affine& rest) {
  std::array<float, 256> reals{};
  for (std::int32_t q = 0; q < 256; ++q) {
    reals[static_cast<std::size_t>(q)] = dequantize_value(q, from);
  }
  std::array<std::uint8_t, 256> high{};
  std::array<std::uint8_t, 256> low{};
  QuantizeKernel().quantize_wide({first.scale, first.zero_point}, {rest.scale, rest.zero_point},
                                 reals.data(), high.data(), low.data(), std::ssize(reals));
  return low;
}

std::unique_ptr<Operator> make_qconcat(const OpContext& op) {
  const Shape& out = op.output(0).shape;
  const Layout layout = op.output_layout(0);
  const std::int64_t axis = axis_of(op, op.node.get_int("axis", 0), out.rank());
  const auto& [inputs, result, rest] = op.params<QConcatParams>();
  const Affine y = result.affine;
  const Limits limits = result.limits();
  // Bytes between neighbours along the axis.
  const std::int64_t step = stride_of(out, layout, axis);
  const std::int64_t run = step * out[axis];
  const std::int64_t outer = run == 0 ? 0 : out.elements() / run;
  std::vector<ConcatPart> parts;
  std::int64_t offset = 0;
  for (std::size_t i = 0; i < op.input_count(); ++i) {
    const Affine x = inputs[i];
    ConcatPart part{};
    part.offset = offset * step;
    part.inner = op.input(i).shape[axis] * step;
    part.same_scale = !rest && x == y && limits.min == 0 && limits.max == 255;
    part.table = rest ? rest_table(x, y, *rest) : rescale_table(op.requantization, x, y, limits);
    parts.push_back(part);
    offset += op.input(i).shape[axis];
  }
  return make_operator(
      [parts, run, outer, kernel = LookupKernel()](const Operands& o) {
        const int threads = run * outer < kParallelElements ? 1 : o.threads();
        auto* y_data = o.out<std::uint8_t>(0);
        // Rows whose bytes stay in the L1 until all parts are there.
        const std::int64_t block =
            std::max<std::int64_t>(1, kConcatBytes / std::max<std::int64_t>(run, 1));
        parallel_ranges(outer, threads, [&](std::int64_t begin, std::int64_t end, int) {
          StopPace pace;
          for (std::int64_t row = begin; row < end; row += block) {
            const std::int64_t rows = std::min(block, end - row);
            for (std::size_t i = 0; i < parts.size(); ++i) {
              const ConcatPart& part = parts[i];
              const std::uint8_t* from = o.in<std::uint8_t>(i) + row * part.inner;
              std::uint8_t* to = y_data + row * run + part.offset;
              pace.step(rows * part.inner);
              in_pieces(part.inner, [&](std::int64_t first, std::int64_t last) {
                if (part.same_scale) {
                  copy_rows(reinterpret_cast<std::byte*>(to + first), run,
                            reinterpret_cast<const std::byte*>(from + first), part.inner,
                            last - first, rows);
                } else {
                  kernel.run_rows({part.table.data(), from + first, part.inner, to + first, run,
                                   rows, last - first});
                }
              });
            }
          }
        });
      },
      LookupKernel().kernel());
}

// One table per channel (axis 1). A channels-last tensor is converted pixel by pixel, others plane
// by plane.
std::unique_ptr<Operator> make_channel_lookup(const OpContext& op,
                                              const std::vector<QLookupParams::Table>& tables) {
  const Shape& shape = op.input(0).shape;
  const std::int64_t channels = shape[1];
  const std::int64_t pixels = shape.elements() == 0 ? 0 : shape.elements() / channels;
  std::vector<std::uint8_t> rows;
  for (const QLookupParams::Table& table : tables) {
    rows.insert(rows.end(), table.begin(), table.end());
  }
  const bool channels_last = op.input_layout(0) == Layout::kChannelsLast;
  const std::int64_t plane = shape[0] == 0 ? 0 : pixels / shape[0];
  return make_operator(
      [=, rows = std::move(rows), kernel = LookupKernel()](const Operands& o) {
        const int threads = pixels * channels < kParallelElements ? 1 : o.threads();
        const auto* x = o.in<std::uint8_t>(0);
        auto* y = o.out<std::uint8_t>(0);
        if (channels_last) {
          return parallel_ranges(pixels, threads, [&](std::int64_t begin, std::int64_t end, int) {
            in_pieces(end - begin, [&](std::int64_t first, std::int64_t last) {
              const std::int64_t at = (begin + first) * channels;
              lookup_by_channel(rows, channels, x + at, y + at, last - first);
            });
          });
        }
        parallel_ranges(plane == 0 ? 0 : pixels / plane * channels, threads,
                        [&](std::int64_t begin, std::int64_t end, int) {
                          StopPace pace;
                          for (std::int64_t p = begin; p < end; ++p) {
                            pace.step(plane);
                            const auto at = static_cast<std::size_t>(p % channels * 256);
                            const std::span<const std::uint8_t, 256> table(rows.data() + at, 256);
                            in_pieces(plane, [&](std::int64_t first, std::int64_t last) {
                              kernel.run(table, x + p * plane + first, y + p * plane + first,
                                         last - first);
                            });
                          }
                        });
      },
      LookupKernel().kernel());
}

std::unique_ptr<Operator> make_lookup(const OpContext& op) {
  const std::vector<QLookupParams::Table>& tables = op.params<QLookupParams>().tables;
  if (tables.size() > 1) return make_channel_lookup(op, tables);
  const QLookupParams::Table table = tables.front();
  const std::int64_t count = op.input(0).shape.elements();
  return make_operator(
      [table, count, kernel = LookupKernel()](const Operands& o) {
        for_pieces(count, o.threads(), [&](std::int64_t begin, std::int64_t end) {
          kernel.run(table, o.in<std::uint8_t>(0) + begin, o.out<std::uint8_t>(0) + begin,
                     end - begin);
        });
      },
      LookupKernel().kernel());
}

std::vector<ValueInfo> infer_u8(const OpContext& op) {
  return {{DType::kUInt8, op.input(0).shape}};
}

QuantizeParams edge_affine(const OpContext& op) {
  const Affine affine = op.params<EdgeParams>().affine;
  return {affine.scale, affine.zero_point};
}

// Converts image by image when the layout changes too, otherwise all elements at once.
std::unique_ptr<Operator> make_quantize_to_u8(const OpContext& op) {
  const Shape shape = op.input(0).shape;
  const QuantizeParams affine = edge_affine(op);
  if (op.input_layout(0) != op.output_layout(0)) {
    PlaneGeometry geometry;
    geometry.channels = shape[1];
    geometry.pixels = shape[2] * shape[3];
    geometry.plane_stride = geometry.pixels;
    geometry.pixel_stride = geometry.channels;
    return make_operator(
        [=, kernel = QuantizeKernel()](const Operands& o) {
          const std::int64_t image = geometry.channels * geometry.pixels;
          const int threads = image < kParallelElements ? 1 : o.threads();
          for (std::int64_t n = 0; n < shape[0]; ++n) {
            parallel_ranges(geometry.pixels, threads,
                            [&](std::int64_t begin, std::int64_t end, int) {
                              in_pieces(end - begin, [&](std::int64_t from, std::int64_t to) {
                                PlaneGeometry piece = geometry;
                                piece.pixels = to - from;
                                const std::int64_t at = n * image + begin + from;
                                kernel.quantize_planes(affine, piece, o.in<float>(0) + at,
                                                       o.out<std::uint8_t>(0) + n * image +
                                                           (begin + from) * geometry.pixel_stride);
                              });
                            });
          }
        },
        QuantizeKernel().kernel());
  }
  const std::int64_t count = shape.elements();
  return make_operator(
      [=, kernel = QuantizeKernel()](const Operands& o) {
        for_pieces(count, o.threads(), [&](std::int64_t begin, std::int64_t end) {
          kernel.quantize(affine, o.in<float>(0) + begin, o.out<std::uint8_t>(0) + begin,
                          end - begin);
        });
      },
      QuantizeKernel().kernel());
}

std::unique_ptr<Operator> make_dequantize_from_u8(const OpContext& op) {
  const std::int64_t count = op.input(0).shape.elements();
  return make_operator(
      [count, affine = edge_affine(op), kernel = QuantizeKernel()](const Operands& o) {
        for_pieces(count, o.threads(), [&](std::int64_t begin, std::int64_t end) {
          kernel.dequantize(affine, o.in<std::uint8_t>(0) + begin, o.out<float>(0) + begin,
                            end - begin);
        });
      },
      QuantizeKernel().kernel());
}

}  // namespace

OpDef op_QConcat() {
  return {[](const OpContext& op) { return std::vector<ValueInfo>{concatenated(op)}; },
          make_qconcat, LayoutRule::kAnyForAll};
}
OpDef op_QLookup() { return {infer_u8, make_lookup, LayoutRule::kAny}; }
OpDef op_Quantize() { return {infer_u8, make_quantize_to_u8, LayoutRule::kToChannelsLast}; }
OpDef op_Dequantize() {
  return {[](const OpContext& op) {
            return std::vector<ValueInfo>{{DType::kFloat32, op.input(0).shape}};
          },
          make_dequantize_from_u8, LayoutRule::kAny};
}

}  // namespace qtool

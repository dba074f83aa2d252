// Col2Im: each column of the input is one block of an image. Adds the blocks up at their positions.
#include <algorithm>

#include "ops/infer_rules.h"
#include "ops/operator.h"
#include "ops/spatial.h"
#include "ops/window_loop.h"

namespace qtool {
namespace {

// The image with the windows of a pooling: each window is one column of the input.
struct ImageBlocks {
  Shape image;  // [N, C, spatial...]
  Window window;
  std::int64_t block_elements = 1;
  std::int64_t columns = 1;
};

std::vector<std::int64_t> window_list(const OpContext& op, std::string_view key, std::size_t count,
                                      std::int64_t fallback, std::int64_t lowest) {
  constexpr std::int64_t kMaxExtent = std::int64_t{1} << 24;
  std::vector<std::int64_t> list =
      op.node.get_ints(key, std::vector<std::int64_t>(count, fallback));
  op.require(list.size() == count,
             to_text("attribute '", key, "' has ", list.size(), " entries, expected ", count));
  for (const std::int64_t value : list) {
    op.require(value >= lowest && value <= kMaxExtent,
               to_text("attribute '", key, "' holds ", value));
  }
  return list;
}

ImageBlocks resolve(const OpContext& op) {
  const Shape& in = op.input(0).shape;
  const std::vector<std::int64_t> image = ints_of(op, 1, "the shape of the image");
  const std::vector<std::int64_t> block = ints_of(op, 2, "the shape of the blocks");
  const std::size_t axes = image.size();
  op.require(in.rank() == 3 && axes >= 1 && block.size() == axes,
             to_text("found an input of shape ", in.to_string(), ", ", axes,
                     " axes of the image and ", block.size(), " of the blocks"));
  ImageBlocks blocks;
  blocks.block_elements = shape_of(op, block).elements();
  static_cast<void>(shape_of(op, image));
  op.require(blocks.block_elements > 0 && in[1] % blocks.block_elements == 0,
             to_text("blocks of ", blocks.block_elements, " elements do not divide ", in[1]));
  const std::vector<std::int64_t> pads = window_list(op, "pads", 2 * axes, 0, 0);
  Window& window = blocks.window;
  window.kernel = block;
  window.strides = window_list(op, "strides", axes, 1, 1);
  window.dilations = window_list(op, "dilations", axes, 1, 1);
  window.pads_begin.assign(pads.begin(), pads.begin() + static_cast<std::ptrdiff_t>(axes));
  window.pads_end.assign(pads.begin() + static_cast<std::ptrdiff_t>(axes), pads.end());
  std::vector<std::int64_t> dims{in[0], in[1] / blocks.block_elements};
  for (std::size_t i = 0; i < axes; ++i) {
    const std::int64_t padded = image[i] + window.pads_begin[i] + window.pads_end[i];
    const std::int64_t span = padded - reach_of(op, block[i], window.dilations[i]);
    op.require(span >= 0, to_text("a block of ", block[i], " does not fit into ", padded));
    window.output.push_back(span / window.strides[i] + 1);
    dims.push_back(image[i]);
  }
  blocks.columns = shape_of(op, window.output).elements();
  op.require(blocks.columns == in[2],
             to_text("the input has ", in[2], " columns, expected ", blocks.columns));
  blocks.image = shape_of(op, std::move(dims));
  return blocks;
}

std::vector<ValueInfo> infer_col2im(const OpContext& op) {
  require_type(op, 0, FloatingTypes{});
  return {{op.input(0).dtype, resolve(op).image}};
}

std::unique_ptr<Operator> make_col2im(const OpContext& op) {
  const ImageBlocks blocks = resolve(op);
  const WindowLoop loop(blocks.image, Layout::kPlain, blocks.window, Layout::kPlain);
  return make_for_type(FloatingTypes{}, op.input(0).dtype, [&](auto element) {
    using T = decltype(element);
    return make_operator([blocks, loop](const Operands& o) {
      T* image = o.out<T>(0);
      std::fill_n(image, blocks.image.elements(), T{0});
      if (o.input(0).shape.elements() == 0) return;
      const Window& window = blocks.window;
      // Windows overlap, so one thread adds them all up.
      loop.run(1, [&](std::int64_t plane, std::int64_t to, const auto& visit) {
        const std::int64_t column = to % blocks.columns;
        visit([&](const WindowLoop::Tap& tap) {
          std::int64_t row = 0;
          std::int64_t rest = column;
          std::int64_t step = 1;
          for (std::size_t axis = window.kernel.size(); axis-- > 0;) {
            const std::int64_t first =
                rest % window.output[axis] * window.strides[axis] - window.pads_begin[axis];
            row += (tap.place[axis] - first) / window.dilations[axis] * step;
            step *= window.kernel[axis];
            rest /= window.output[axis];
          }
          image[tap.offset] +=
              o.in<T>(0)[(plane * blocks.block_elements + row) * blocks.columns + column];
        });
      });
    });
  });
}

}  // namespace

OpDef op_Col2Im() { return {infer_col2im, make_col2im}; }

}  // namespace qtool

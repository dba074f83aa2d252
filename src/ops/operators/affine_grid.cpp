// AffineGrid: the positions that an affine map of an image's coordinates reads, for GridSample.
#include "base/stop.h"
#include "ops/infer_rules.h"
#include "ops/operator.h"

namespace qtool {
namespace {

// The extents [N, C, spatial...] of the image that the grid is for.
std::vector<std::int64_t> image_of(const OpContext& op) {
  const Shape& theta = op.input(0).shape;
  std::vector<std::int64_t> size = ints_of(op, 1, "the size of the image");
  const auto axes = static_cast<std::int64_t>(size.size()) - 2;
  op.require((axes == 2 || axes == 3) && theta == Shape{size[0], axes, axes + 1},
             to_text("maps of shape ", theta.to_string(), " and a size of ", size.size(),
                     " extents, expected [n, 2, 3] and 4 or [n, 3, 4] and 5"));
  static_cast<void>(shape_of(op, size));
  return size;
}

std::vector<ValueInfo> infer_affine_grid(const OpContext& op) {
  require_type(op, 0, FloatType{});
  const std::vector<std::int64_t> size = image_of(op);
  std::vector<std::int64_t> dims{size[0]};
  dims.insert(dims.end(), size.begin() + 2, size.end());
  dims.push_back(std::ssize(size) - 2);
  return {{DType::kFloat32, shape_of(op, std::move(dims))}};
}

// Position i of n as a number between -1 and 1. With `align_corners`, -1 and 1 are the centres of
// the first and the last pixel, otherwise their outer edges.
float coordinate(std::int64_t i, std::int64_t n, bool align_corners) {
  const auto place = static_cast<float>(i);
  const auto extent = static_cast<float>(n);
  if (!align_corners) return (2 * place + 1) / extent - 1;
  return n == 1 ? 0.0F : 2 * place / (extent - 1) - 1;
}

std::unique_ptr<Operator> make_affine_grid(const OpContext& op) {
  const std::vector<std::int64_t> size = image_of(op);
  const bool align_corners = op.node.get_int("align_corners", 0) != 0;
  const std::int64_t axes = std::ssize(size) - 2;
  const std::int64_t points = op.output(0).shape.elements() / axes;
  return make_operator([=](const Operands& o) {
    if (points == 0) return;
    const std::int64_t per_image = points / size[0];
    in_pieces(points, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        float place[4] = {0, 0, 0, 1};  // x, y, (z,) 1
        std::int64_t rest = i % per_image;
        for (std::int64_t axis = 0; axis < axes; ++axis) {
          const std::int64_t extent = size[static_cast<std::size_t>(axes + 1 - axis)];
          place[axis] = coordinate(rest % extent, extent, align_corners);
          rest /= extent;
        }
        place[axes] = 1;
        const float* map = o.in<float>(0) + i / per_image * axes * (axes + 1);
        for (std::int64_t row = 0; row < axes; ++row, map += axes + 1) {
          float sum = 0;
          for (std::int64_t k = 0; k <= axes; ++k) sum += map[k] * place[k];
          o.out<float>(0)[i * axes + row] = sum;
        }
      }
    });
  });
}

}  // namespace

OpDef op_AffineGrid() { return {infer_affine_grid, make_affine_grid}; }

}  // namespace qtool

#pragma once

#include <cstdint>

#include "image/resize.h"
#include "qtool/image/preprocess.h"

namespace qtool {

/// The geometry of one image: it is resized to width x height. `part` of the result is kept and
/// placed at (left, top) of the target.
struct Geometry {
  std::int64_t width = 0;
  std::int64_t height = 0;
  Rectangle part;
  std::int64_t target_width = 0;
  std::int64_t target_height = 0;
  std::int64_t left = 0;
  std::int64_t top = 0;
};

/// Resizing, letterbox and crop of an image of this size. Throws as fail_image() for an image that
/// is smaller than the crop, and for one that would grow beyond 2^26 pixels.
Geometry geometry_of(const Preprocess& preprocess, std::int64_t width, std::int64_t height);

/// The shape of the network's input.
Shape shape_of(const Preprocess& preprocess, const Geometry& geometry);

}  // namespace qtool

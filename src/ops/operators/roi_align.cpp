// RoiAlign: pools regions of interest by bilinear samples within each bin.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/stop.h"
#include "ops/checked_index.h"
#include "ops/infer_rules.h"
#include "ops/operator.h"
#include "ops/strides.h"

namespace qtool {
namespace {

constexpr std::int64_t kMaxSamples = 1024;  // along one axis of a bin

struct RoiOptions {
  bool largest = false;
  bool half_pixel = true;
  std::int64_t height = 1;
  std::int64_t width = 1;
  std::int64_t samples = 0;  // along each axis of a bin; 0: its extent, rounded up
  float scale = 1.0F;
};

RoiOptions roi_options(const OpContext& op) {
  RoiOptions options;
  const std::string mode = op.node.get_string("mode", "avg");
  const std::string coordinates =
      op.node.get_string("coordinate_transformation_mode", "half_pixel");
  op.require(mode == "avg" || mode == "max",
             to_text("attribute 'mode' is '", mode, "', expected avg or max"));
  op.require(coordinates == "half_pixel" || coordinates == "output_half_pixel",
             to_text("attribute 'coordinate_transformation_mode' is '", coordinates,
                     "', expected half_pixel or output_half_pixel"));
  options.largest = mode == "max";
  options.half_pixel = coordinates == "half_pixel";
  options.height = op.node.get_int("output_height", 1);
  options.width = op.node.get_int("output_width", 1);
  options.samples = op.node.get_int("sampling_ratio", 0);
  options.scale = op.node.get_float("spatial_scale", 1.0F);
  op.require(
      options.samples >= 0 && options.samples <= kMaxSamples,
      to_text("attribute 'sampling_ratio' is ", options.samples, ", expected 0 to ", kMaxSamples));
  return options;
}

std::vector<ValueInfo> infer_roi(const OpContext& op) {
  require_type(op, 0, FloatType{});
  require_type(op, 1, FloatType{});
  require_dtype_in(op, 2, {DType::kInt64});
  const RoiOptions options = roi_options(op);
  const Shape& x = op.input(0).shape;
  const Shape& rois = op.input(1).shape;
  op.require(x.rank() == 4 && x.elements() > 0,
             to_text("the input has shape ", x.to_string(), ", expected images"));
  op.require(rois.rank() == 2 && rois[1] == 4 && op.input(2).shape == Shape{rois[0]},
             to_text("regions of shape ", rois.to_string(), " and images of shape ",
                     op.input(2).shape.to_string(), ", expected [n, 4] and [n]"));
  return {{DType::kFloat32, shape_of(op, {rois[0], x[1], options.height, options.width})}};
}

// A sample along one axis: the two positions that it interpolates, and the share of the second.
struct Sample {
  std::int64_t low = 0;
  std::int64_t high = 0;
  float share = 0;
  bool inside = false;
};

Sample sample_at(float x, std::int64_t extent) {
  Sample sample;
  sample.inside = x >= -1.0F && x <= static_cast<float>(extent);  // false for NaN
  if (!sample.inside) return sample;
  x = std::max(x, 0.0F);
  sample.low = std::min(static_cast<std::int64_t>(x), extent - 1);
  sample.high = std::min(sample.low + 1, extent - 1);
  sample.share = sample.low == extent - 1 ? 0.0F : x - static_cast<float>(sample.low);
  return sample;
}

// The bins of a region along one axis.
struct Bins {
  float start;
  float size;
  std::int64_t samples;

  Bins(float begin, float end, std::int64_t count, const RoiOptions& options) {
    const float offset = options.half_pixel ? 0.5F : 0.0F;
    start = begin * options.scale - offset;
    float extent = end * options.scale - offset - start;
    if (!options.half_pixel) extent = std::max(extent, 1.0F);
    size = extent / static_cast<float>(count);
    const float wanted = std::clamp(std::ceil(size), 0.0F, static_cast<float>(kMaxSamples));
    samples = options.samples;
    if (samples == 0) samples = std::isnan(wanted) ? 0 : static_cast<std::int64_t>(wanted);
  }
  [[nodiscard]] Sample sample(std::int64_t bin, std::int64_t i, std::int64_t extent) const {
    const float within = (static_cast<float>(i) + 0.5F) / static_cast<float>(samples);
    return sample_at(start + (static_cast<float>(bin) + within) * size, extent);
  }
};

class RoiAlignOperator final : public Operator {
 public:
  explicit RoiAlignOperator(const OpContext& op)
      : options_(roi_options(op)), x_(op.input(0).shape), y_(op.output(0).shape) {}

  void run(const Operands& o) const override {
    const std::int64_t pixels = options_.height * options_.width;
    parallel_ranges(y_[0] * pixels, o.threads(), [&](std::int64_t begin, std::int64_t end, int) {
      StopPace pace;
      for (std::int64_t i = begin; i < end; ++i) {
        pool(i / pixels, i % pixels, o, pace);
      }
    });
  }

 private:
  void pool(std::int64_t roi, std::int64_t pixel, const Operands& o, StopPace& pace) const {
    const float* box = o.in<float>(1) + roi * 4;
    const Bins columns(box[0], box[2], options_.width, options_);
    const Bins rows(box[1], box[3], options_.height, options_);
    const std::int64_t area = x_[2] * x_[3];
    const std::int64_t image = checked_index(o.in<std::int64_t>(2)[roi], x_[0]);
    const float* x = o.in<float>(0) + image * x_[1] * area;
    float* y = o.out<float>(0) + roi * x_[1] * options_.height * options_.width + pixel;
    const std::int64_t samples = rows.samples * columns.samples;
    for (std::int64_t c = 0; c < x_[1]; ++c, x += area, y += options_.height * options_.width) {
      pace.step(samples);
      float result = options_.largest && samples > 0 ? std::numeric_limits<float>::lowest() : 0.0F;
      for (std::int64_t i = 0; i < rows.samples; ++i) {
        const Sample row = rows.sample(pixel / options_.width, i, x_[2]);
        for (std::int64_t j = 0; j < columns.samples; ++j) {
          const Sample column = columns.sample(pixel % options_.width, j, x_[3]);
          add(x, row, column, result);
        }
      }
      *y = options_.largest || samples == 0 ? result : result / static_cast<float>(samples);
    }
  }

  // Adds a sample to `result`. In mode max, takes the largest weighted neighbour, as ONNX's own
  // test data and ONNX Runtime do; in mode avg, adds the weighted neighbours.
  void add(const float* x, const Sample& row, const Sample& column, float& result) const {
    const std::array<float, 2> down = {1 - row.share, row.share};
    const std::array<float, 2> right = {1 - column.share, column.share};
    const bool inside = row.inside && column.inside;
    for (std::size_t i = 0; i < 2; ++i) {
      for (std::size_t j = 0; j < 2; ++j) {
        const std::int64_t at =
            (i == 0 ? row.low : row.high) * x_[3] + (j == 0 ? column.low : column.high);
        const float value = inside ? down[i] * right[j] * x[at] : 0.0F;
        result = options_.largest ? std::max(result, value) : result + value;
      }
    }
  }

  RoiOptions options_;
  Shape x_;
  Shape y_;
};

}  // namespace

OpDef op_RoiAlign() {
  return {infer_roi, [](const OpContext& op) -> std::unique_ptr<Operator> {
            return std::make_unique<RoiAlignOperator>(op);
          }};
}

}  // namespace qtool

#include <algorithm>
#include <array>
#include <vector>

#include "base/parallel.h"
#include "base/stop.h"
#include "kernels/round_to_u8.h"
#include "ops/integer/volume/volume.h"
#include "ops/resize_options.h"
#include "ops/strides.h"

namespace qtool {
namespace {

// Each interpolation is a sum of two float products, each rounded: first along the depth, then
// along the column, then along the row, then one product with s_x / s_y. A tensor with one spatial
// axis is a volume of one slice with one row.
class VolumeResize final : public Operator {
 public:
  explicit VolumeResize(const OpContext& op)
      : params_(op.params<QAverageParams>()),
        planes_(op.input(0).shape[0] * op.input(0).shape[1]),
        threads_(op.threads) {
    const ResizeOptions options = resize_options(op);
    const std::vector<AxisScaling> scaling = resize_scaling(op, options);
    for (std::size_t axis = 2; axis < scaling.size(); ++axis) {
      const std::size_t to = axis + positions_.size() - scaling.size();
      positions_[to] = linear_positions(op, options, scaling[axis]);
      in_[to] = scaling[axis].from;
    }
  }

  [[nodiscard]] std::int64_t workspace_bytes() const override {
    return std::max(threads_, 1) * scratch_elements() * std::int64_t{sizeof(float)};
  }
  [[nodiscard]] std::string kernel() const override { return "portable"; }

  void run(const Operands& o) const override {
    const std::int64_t slice = out(1) * out(2);
    const std::int64_t slices = planes_ * out(0);
    auto* scratch = reinterpret_cast<float*>(o.workspace());
    parallel_ranges(slices, slices * slice < kParallelElements ? 1 : o.threads(),
                    [&](std::int64_t begin, std::int64_t end, int worker) {
                      float* const pixels = scratch + worker * scratch_elements();
                      StopPace pace;
                      for (std::int64_t i = begin; i < end; ++i) {
                        pace.step(in_[1] * in_[2]);
                        const std::int64_t plane = i / out(0);
                        blend_slices(o.in<std::uint8_t>(0) + plane * in_[0] * in_[1] * in_[2],
                                     positions_[0][static_cast<std::size_t>(i % out(0))], pixels);
                        resize_slice(pixels, o.out<std::uint8_t>(0) + i * slice);
                      }
                    });
  }

 private:
  [[nodiscard]] std::int64_t out(std::size_t axis) const { return std::ssize(positions_[axis]); }
  // The elements of a slice of the input and of one row.
  [[nodiscard]] std::int64_t scratch_elements() const { return (in_[1] + 1) * in_[2]; }

  void blend_slices(const std::uint8_t* volume, const Between& z, float* pixels) const {
    const std::int64_t count = in_[1] * in_[2];
    const std::uint8_t* a = volume + z.low * count;
    const std::uint8_t* b = volume + z.high * count;
    const std::int32_t zero = params_.input.zero_point;
    for (std::int64_t i = 0; i < count; ++i) {
      pixels[i] = static_cast<float>(a[i] - zero) * z.low_weight +
                  static_cast<float>(b[i] - zero) * z.high_weight;
    }
  }

  void resize_slice(float* pixels, std::uint8_t* to) const {
    const QuantizedResult& result = *params_.result;
    const float m = params_.input.scale / result.affine.scale;
    StopPace pace;
    float* const line = pixels + in_[1] * in_[2];
    for (const Between& y : positions_[1]) {
      pace.step(in_[2] + out(2));
      const float* a = pixels + y.low * in_[2];
      const float* b = pixels + y.high * in_[2];
      for (std::int64_t i = 0; i < in_[2]; ++i) {
        line[i] = a[i] * y.low_weight + b[i] * y.high_weight;
      }
      for (const Between& x : positions_[2]) {
        const float sum = line[x.low] * x.low_weight + line[x.high] * x.high_weight;
        *to++ = round_to_u8(sum * m, result.affine.zero_point, result.low, result.high);
      }
    }
  }

  QAverageParams params_;
  std::int64_t planes_;
  int threads_;
  std::array<std::int64_t, 3> in_{1, 1, 1};  // spatial extents of the input
  std::array<std::vector<Between>, 3> positions_{{{Between{}}, {Between{}}, {Between{}}}};
};

}  // namespace

std::unique_ptr<Operator> make_volume_resize(const OpContext& op) {
  return std::make_unique<VolumeResize>(op);
}

}  // namespace qtool

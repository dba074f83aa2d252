#include <algorithm>
#include <vector>

#include "base/parallel.h"
#include "base/stop.h"
#include "kernels/round_to_u8.h"
#include "ops/integer/volume/volume.h"
#include "ops/strides.h"

namespace qtool {
namespace {

// The taps of a window along one axis whose positions lie inside given bounds.
struct Taps {
  std::int64_t from = 0;  // index of the first tap inside
  std::int64_t to = 0;    // behind the last tap inside
};

class VolumePool {
 public:
  explicit VolumePool(const OpContext& op)
      : window_(resolve_window(op, op.input(0).shape, {})),
        planes_(op.input(0).shape[0] * op.input(0).shape[1]),
        extents_(op.input(0).shape.dims().begin() + 2, op.input(0).shape.dims().end()) {
    op.claim(std::max(op.threads, 1),
             static_cast<std::size_t>(window_.output[2]) * sizeof(std::int64_t));
  }

  /// Calls add(accumulator, byte) for each byte of a window inside the volume; the accumulator
  /// starts at 0. Then calls finish(accumulator, z, r, i) for the result at slice z, row r and
  /// column i.
  template <typename Add, typename Finish>
  void run(const std::uint8_t* in, std::uint8_t* out, int threads, const Add& add,
           const Finish& finish) const {
    const std::int64_t volume = extents_[0] * extents_[1] * extents_[2];
    const std::int64_t results = window_.output[0] * window_.output[1] * window_.output[2];
    const bool small = planes_ * results < kParallelElements;
    parallel_ranges(planes_, small ? 1 : threads, [&](std::int64_t begin, std::int64_t end, int) {
      std::vector<std::int64_t> row(static_cast<std::size_t>(window_.output[2]));
      for (std::int64_t plane = begin; plane < end; ++plane) {
        const std::uint8_t* x = in + plane * volume;
        std::uint8_t* y = out + plane * results;
        for (std::int64_t z = 0; z < window_.output[0]; ++z) {
          for (std::int64_t r = 0; r < window_.output[1]; ++r, y += window_.output[2]) {
            fill_row(x, z, r, row, add);
            for (std::int64_t i = 0; i < window_.output[2]; ++i) {
              y[i] = finish(row[static_cast<std::size_t>(i)], z, r, i);
            }
          }
        }
      }
    });
  }

  /// The number of taps of a window that lie inside the volume. padded() also counts those in the
  /// padding.
  [[nodiscard]] std::int64_t inside(std::int64_t z, std::int64_t r, std::int64_t i) const {
    const auto count = [&](std::size_t axis, std::int64_t at) {
      const Taps taps = taps_of(axis, at, 0, extents_[axis]);
      return taps.to - taps.from;
    };
    return count(0, z) * count(1, r) * count(2, i);
  }
  [[nodiscard]] std::int64_t padded(std::int64_t z, std::int64_t r, std::int64_t i) const {
    const auto count = [&](std::size_t axis, std::int64_t at) {
      const Taps taps =
          taps_of(axis, at, -window_.pads_begin[axis], extents_[axis] + pads_end(axis));
      return taps.to - taps.from;
    };
    return count(0, z) * count(1, r) * count(2, i);
  }

 private:
  [[nodiscard]] std::int64_t pads_end(std::size_t axis) const { return window_.pads_end[axis]; }

  [[nodiscard]] Taps taps_of(std::size_t axis, std::int64_t at, std::int64_t low,
                             std::int64_t high) const {
    const std::int64_t first = at * window_.strides[axis] - window_.pads_begin[axis];
    const std::int64_t step = window_.dilations[axis];
    const auto before = [&](std::int64_t bound) {  // number of taps below `bound`
      return std::clamp<std::int64_t>(bound <= first ? 0 : (bound - first + step - 1) / step, 0,
                                      window_.kernel[axis]);
    };
    return {before(low), before(high)};
  }

  template <typename Add>
  void fill_row(const std::uint8_t* x, std::int64_t z, std::int64_t r,
                std::vector<std::int64_t>& row, const Add& add) const {
    std::fill(row.begin(), row.end(), 0);
    const std::int64_t reads = window_.output[2] * std::min(window_.kernel[2], extents_[2]);
    StopPace pace;
    pace.step(window_.output[2]);
    const Taps slices = taps_of(0, z, 0, extents_[0]);
    const Taps lines = taps_of(1, r, 0, extents_[1]);
    for (std::int64_t k = slices.from; k < slices.to; ++k) {
      for (std::int64_t l = lines.from; l < lines.to; ++l) {
        pace.step(reads);
        const std::int64_t depth =
            z * window_.strides[0] - window_.pads_begin[0] + k * window_.dilations[0];
        const std::int64_t line =
            r * window_.strides[1] - window_.pads_begin[1] + l * window_.dilations[1];
        const std::uint8_t* from = x + (depth * extents_[1] + line) * extents_[2];
        for (std::int64_t i = 0; i < window_.output[2]; ++i) {
          const std::int64_t first = i * window_.strides[2] - window_.pads_begin[2];
          const Taps columns = taps_of(2, i, 0, extents_[2]);
          for (std::int64_t t = columns.from; t < columns.to; ++t) {
            add(row[static_cast<std::size_t>(i)], from[first + t * window_.dilations[2]]);
          }
        }
      }
    }
  }

  Window window_;
  std::int64_t planes_;
  std::vector<std::int64_t> extents_;
};

}  // namespace

std::unique_ptr<Operator> make_volume_max(const OpContext& op) {
  return make_operator(
      [pool = VolumePool(op)](const Operands& o) {
        pool.run(
            o.in<std::uint8_t>(0), o.out<std::uint8_t>(0), o.threads(),
            [](std::int64_t& largest, std::uint8_t x) {
              largest = std::max<std::int64_t>(largest, x);
            },
            [](std::int64_t largest, std::int64_t, std::int64_t, std::int64_t) {
              return static_cast<std::uint8_t>(largest);
            });
      },
      "portable");
}

std::unique_ptr<Operator> make_volume_average(const OpContext& op) {
  const auto& [x, result] = op.params<QAverageParams>();
  const QuantizedResult y = result.value();
  const bool padding_counts = op.node.get_int("count_include_pad", 0) != 0;
  const float m = x.scale / y.affine.scale;
  return make_operator(
      [=, zx = x.zero_point, pool = VolumePool(op)](const Operands& o) {
        pool.run(
            o.in<std::uint8_t>(0), o.out<std::uint8_t>(0), o.threads(),
            [](std::int64_t& sum, std::uint8_t value) { sum += value; },
            [&](std::int64_t sum, std::int64_t z, std::int64_t r, std::int64_t i) {
              const std::int64_t inside = pool.inside(z, r, i);
              const std::int64_t count = padding_counts ? pool.padded(z, r, i) : inside;
              const float mean = count == 0 ? 0.0F
                                            : static_cast<float>(sum - inside * zx) *
                                                  (m / static_cast<float>(count));
              return round_to_u8(mean, y.affine.zero_point, y.low, y.high);
            });
      },
      "portable");
}

}  // namespace qtool

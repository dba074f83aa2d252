#include "ops/integer/fixed_point.h"

#include <algorithm>
#include <limits>

#include "base/parallel.h"
#include "base/stop.h"
#include "base/text.h"
#include "qtool/base/error.h"

namespace qtool {
namespace {

constexpr std::int64_t kMaxWindow = std::int64_t{1} << 23;  // its sum of bytes fits into int32
constexpr int kAddShift = 20;                               // 255 * 2^20 leaves room for a sum

double ratio(float a, float b) { return static_cast<double>(a) / static_cast<double>(b); }

std::int32_t saturated(std::int64_t sum) {
  using Int32 = std::numeric_limits<std::int32_t>;
  return static_cast<std::int32_t>(std::clamp<std::int64_t>(sum, Int32::min(), Int32::max()));
}

// Twice the larger scale: exact in float.
float add_scale(const Affine& a, const Affine& b) { return 2.0F * std::max(a.scale, b.scale); }

// The contribution of each of the 256 values of an operand to a sum: (q - z) M 2^20, with the
// multiplier M of `input`.
std::array<std::int32_t, 256> contributions(const Requantizer& input, const Affine& operand) {
  std::array<std::int32_t, 256> table{};
  for (std::int32_t q = 0; q < 256; ++q) {
    table[static_cast<std::size_t>(q)] =
        input.scale((q - operand.zero_point) * (std::int32_t{1} << kAddShift));
  }
  return table;
}

std::array<std::int32_t, 256> add_table(Requantization path, const Affine& operand, float scale) {
  return contributions(Requantizer(path, ratio(operand.scale, scale)), operand);
}

}  // namespace

FixedOutput::FixedOutput(Requantization path, std::span<const double> multipliers, const Affine& y,
                         Limits limits, const std::optional<Affine>& residual)
    : zero_point_(y.zero_point), limits_(limits) {
  constexpr double kRaise = 1 << kAddShift;
  if (residual) {
    const Requantizer input(path, ratio(residual->scale, y.scale));
    sum_.emplace(Sum{contributions(input, *residual), Requantizer(path, 1.0 / kRaise)});
  }
  channels_.reserve(multipliers.size());
  for (const double multiplier : multipliers) {
    channels_.emplace_back(path, residual ? multiplier * kRaise : multiplier);
  }
}

void FixedOutput::run(std::int64_t pixels, const std::int32_t* sums, const std::uint8_t* residual,
                      std::uint8_t* out, int threads) const {
  const auto channels = static_cast<std::int64_t>(channels_.size());
  parallel_ranges(pixels, threads, [&](std::int64_t begin, std::int64_t end, int /*worker*/) {
    StopPace pace;
    for (std::int64_t pixel = begin; pixel < end; ++pixel) {
      pace.step(channels);
      for (std::int64_t c = 0; c < channels; ++c) {
        const std::int64_t at = pixel * channels + c;
        const Requantizer& channel = channels_[static_cast<std::size_t>(c)];
        std::int32_t q = 0;
        if (sum_) {
          const std::int64_t sum = std::int64_t{channel.scale(sums[at])} +
                                   sum_->residual[static_cast<std::size_t>(residual[at])];
          q = sum_->output(saturated(sum), zero_point_, limits_);
        } else {
          q = channel(sums[at], zero_point_, limits_);
        }
        out[at] = static_cast<std::uint8_t>(q);
      }
    }
  });
}

FixedAdd::FixedAdd(Requantization path, const Affine& a, const Affine& b, const Affine& y,
                   Limits limits)
    : a_(add_table(path, a, add_scale(a, b))),
      b_(add_table(path, b, add_scale(a, b))),
      output_(path, ratio(add_scale(a, b), static_cast<float>(1 << kAddShift) * y.scale)),
      zero_point_(y.zero_point),
      limits_(limits) {}

void FixedAdd::run(const std::uint8_t* a, const std::uint8_t* b, std::uint8_t* out,
                   std::int64_t count) const {
  for (std::int64_t i = 0; i < count; ++i) {
    out[i] = static_cast<std::uint8_t>(output_(a_[a[i]] + b_[b[i]], zero_point_, limits_));
  }
}

FixedSub::FixedSub(Requantization path, const Affine& a, const Affine& b, const Affine& y,
                   Limits limits)
    : FixedAdd(path, a, b, y, limits) {
  for (std::int32_t& contribution : b_) contribution = -contribution;
}

FixedMul::FixedMul(Requantization path, const Affine& a, const Affine& b, const Affine& y,
                   Limits limits)
    : za_(a.zero_point),
      zb_(b.zero_point),
      // In float, as TensorFlow Lite multiplies its scales here.
      output_(path, static_cast<double>(a.scale * b.scale / y.scale)),
      zero_point_(y.zero_point),
      limits_(limits) {}

void FixedMul::run(const std::uint8_t* a, const std::uint8_t* b, std::uint8_t* out,
                   std::int64_t count) const {
  for (std::int64_t i = 0; i < count; ++i) {
    out[i] = static_cast<std::uint8_t>(
        output_((std::int32_t{a[i]} - za_) * (std::int32_t{b[i]} - zb_), zero_point_, limits_));
  }
}

FixedAverage::FixedAverage(Requantization path, const PoolShape& shape, const Affine& x,
                           const Affine& y, Limits limits, CountPadding padding)
    : shape_(shape),
      zx_(x.zero_point),
      output_(path, ratio(x.scale, y.scale)),
      zero_point_(y.zero_point),
      limits_(limits),
      padding_(padding) {
  if (shape.kernel_h > kMaxWindow / std::max<std::int64_t>(shape.kernel_w, 1)) {
    throw Error(ErrorCode::kUnsupported,
                to_text("average pool: a window of ", shape.kernel_h, " x ", shape.kernel_w,
                        " pixels, expected at most 2^23 for integer sums"));
  }
}

// The number of positions of a window beginning at `start` that lie before `extent`. When the
// padding does not count, only positions from 0 on count.
std::int64_t FixedAverage::inside(std::int64_t start, std::int64_t kernel, std::int64_t dilation,
                                  std::int64_t extent) const {
  std::int64_t count = 0;
  for (std::int64_t i = 0; i < kernel; ++i) {
    const std::int64_t at = start + i * dilation;
    const bool before = padding_ == CountPadding::kInclude || at >= 0;
    if (before && at < extent) ++count;
  }
  return count;
}

void FixedAverage::run_pixel(const std::uint8_t* image, std::int64_t y, std::int64_t x,
                             std::uint8_t* out) const {
  const PoolShape& s = shape_;
  const bool padded = padding_ == CountPadding::kInclude;
  const std::int64_t top = y * s.stride_h - s.pad_top;
  const std::int64_t left = x * s.stride_w - s.pad_left;
  const std::int64_t count =
      inside(top, s.kernel_h, s.dilation_h, s.in_h + (padded ? s.pad_bottom : 0)) *
      inside(left, s.kernel_w, s.dilation_w, s.in_w + (padded ? s.pad_right : 0));
  StopPace pace;
  for (std::int64_t c = 0; c < s.channels; ++c) {
    pace.step(s.kernel_h + s.kernel_w + count);
    std::int32_t sum = 0;
    for (std::int64_t i = 0; i < s.kernel_h; ++i) {
      const std::int64_t in_y = top + i * s.dilation_h;
      if (in_y < 0 || in_y >= s.in_h) continue;
      for (std::int64_t j = 0; j < s.kernel_w; ++j) {
        const std::int64_t in_x = left + j * s.dilation_w;
        if (in_x < 0 || in_x >= s.in_w) continue;
        sum += image[(in_y * s.in_w + in_x) * s.channels + c] - zx_;
      }
    }
    const std::int64_t scaled = output_.scale(sum);
    const std::int64_t half = scaled > 0 ? count / 2 : -(count / 2);
    const std::int64_t mean = count == 0 ? 0 : (scaled + half) / count;
    out[c] = static_cast<std::uint8_t>(
        std::clamp<std::int64_t>(mean + zero_point_, limits_.min, limits_.max));
  }
}

void FixedAverage::run(const std::uint8_t* in, std::uint8_t* out, int threads) const {
  const PoolShape& s = shape_;
  const std::int64_t image = s.in_h * s.in_w * s.channels;
  parallel_ranges(s.batch * s.out_h * s.out_w, threads,
                  [&](std::int64_t begin, std::int64_t end, int /*worker*/) {
                    for (std::int64_t pixel = begin; pixel < end; ++pixel) {
                      run_pixel(in + pixel / (s.out_h * s.out_w) * image, pixel / s.out_w % s.out_h,
                                pixel % s.out_w, out + pixel * s.channels);
                    }
                  });
}

std::array<std::uint8_t, 256> rescale_table(Requantization path, const Affine& from,
                                            const Affine& to, Limits limits) {
  std::array<std::uint8_t, 256> table{};
  for (std::int32_t q = 0; q < 256; ++q) {
    const std::int32_t rescaled = path == Requantization::kFloat
                                      ? quantize_value(dequantize_value(q, from), to, kU8Limits)
                                      : Requantizer(path, ratio(from.scale, to.scale))(
                                            q - from.zero_point, to.zero_point, kU8Limits);
    table[static_cast<std::size_t>(q)] =
        static_cast<std::uint8_t>(std::clamp(rescaled, limits.min, limits.max));
  }
  return table;
}

std::string kernel_label(std::string_view kernel, Requantization path) {
  return path == Requantization::kFloat ? std::string(kernel) : to_text(kernel, "+", name_of(path));
}

}  // namespace qtool

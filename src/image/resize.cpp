#include "image/resize.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace qtool {
namespace {

constexpr int kWeightBits = 22;
constexpr std::int32_t kHalf = 1 << (kWeightBits - 1);

// For each target position, the source positions that contribute to it, and their weights.
struct Taps {
  struct Window {
    std::int64_t first = 0;
    std::int64_t count = 0;
  };
  std::vector<Window> windows;
  std::vector<std::int32_t> weights;  // `stride` per window
  std::int64_t stride = 0;

  [[nodiscard]] const std::int32_t* weights_of(std::int64_t target) const {
    return weights.data() + target * stride;
  }
};

// The taps of the target positions [first, first + count) when an axis of `source` samples is
// resized to `target` samples.
Taps make_taps(std::int64_t source, std::int64_t target, std::int64_t first, std::int64_t count) {
  const double scale = static_cast<double>(source) / static_cast<double>(target);
  const double support = std::max(scale, 1.0);
  const double steepness = 1.0 / support;
  Taps taps;
  taps.stride = 2 * static_cast<std::int64_t>(std::ceil(support)) + 1;
  taps.windows.resize(static_cast<std::size_t>(count));
  taps.weights.resize(static_cast<std::size_t>(count * taps.stride));
  std::vector<double> real(static_cast<std::size_t>(taps.stride));
  for (std::int64_t i = 0; i < count; ++i) {
    const double centre = (static_cast<double>(first + i) + 0.5) * scale;
    const auto begin = std::max<std::int64_t>(0, static_cast<std::int64_t>(centre - support + 0.5));
    const auto end = std::min(source, static_cast<std::int64_t>(centre + support + 0.5));
    double sum = 0.0;
    for (std::int64_t x = begin; x < end; ++x) {
      const double distance = std::abs((static_cast<double>(x) - centre + 0.5) * steepness);
      const double weight = distance < 1.0 ? 1.0 - distance : 0.0;
      real[static_cast<std::size_t>(x - begin)] = weight;
      sum += weight;
    }
    taps.windows[static_cast<std::size_t>(i)] = {begin, end - begin};
    std::int32_t* weights = taps.weights.data() + i * taps.stride;
    for (std::int64_t k = 0; k < end - begin; ++k) {
      weights[k] = static_cast<std::int32_t>(0.5 + real[static_cast<std::size_t>(k)] / sum *
                                                       static_cast<double>(1 << kWeightBits));
    }
  }
  return taps;
}

// Rounded weights may sum to a little more than one.
std::uint8_t to_byte(std::int32_t sum) {
  return static_cast<std::uint8_t>(std::min(sum >> kWeightBits, 255));
}

template <int kChannels>
void resize_row(const std::uint8_t* source, const Taps& taps, std::uint8_t* target) {
  const auto count = static_cast<std::int64_t>(taps.windows.size());
  for (std::int64_t i = 0; i < count; ++i) {
    const Taps::Window& window = taps.windows[static_cast<std::size_t>(i)];
    const std::int32_t* weights = taps.weights_of(i);
    const std::uint8_t* pixel = source + window.first * kChannels;
    std::array<std::int32_t, static_cast<std::size_t>(kChannels)> sums;
    sums.fill(kHalf);
    for (std::int64_t k = 0; k < window.count; ++k) {
      for (int c = 0; c < kChannels; ++c)
        sums[static_cast<std::size_t>(c)] += pixel[k * kChannels + c] * weights[k];
    }
    for (int c = 0; c < kChannels; ++c)
      target[i * kChannels + c] = to_byte(sums[static_cast<std::size_t>(c)]);
  }
}

}  // namespace

const std::uint8_t* Raster::row(std::int64_t y, std::vector<std::uint8_t>& room) const {
  const std::uint8_t* pixel = rgb.data() + 3 * y * width;
  if (channels == 3) return pixel;
  room.resize(static_cast<std::size_t>(channels * width));
  if (channels == 4) {
    for (std::int64_t x = 0; x < width; ++x) {
      std::uint8_t* to = room.data() + 4 * x;
      std::copy_n(pixel + 3 * x, 3, to);
      to[3] = alpha.empty() ? std::uint8_t{255} : alpha[static_cast<std::size_t>(y * width + x)];
    }
    return room.data();
  }
  for (std::uint8_t& value : room) {
    const std::uint32_t sum = 19595U * pixel[0] + 38470U * pixel[1] + 7471U * pixel[2] + 32768U;
    value = static_cast<std::uint8_t>(sum >> 16);
    pixel += 3;
  }
  return room.data();
}

std::vector<std::uint8_t> resize(const Raster& source, std::int64_t width, std::int64_t height,
                                 const Rectangle& part) {
  const Taps columns = make_taps(source.width, width, part.left, part.width);
  const Taps rows = make_taps(source.height, height, part.top, part.height);
  // Only the rows that the second pass reads are computed.
  const std::int64_t first_row = rows.windows.front().first;
  const std::int64_t end_row = rows.windows.back().first + rows.windows.back().count;
  const std::int64_t samples = part.width * source.channels;
  std::vector<std::uint8_t> narrowed(static_cast<std::size_t>((end_row - first_row) * samples));
  std::vector<std::uint8_t> room;
  for (std::int64_t y = first_row; y < end_row; ++y) {
    const std::uint8_t* from = source.row(y, room);
    std::uint8_t* to = narrowed.data() + (y - first_row) * samples;
    if (source.channels == 1) {
      resize_row<1>(from, columns, to);
    } else if (source.channels == 4) {
      resize_row<4>(from, columns, to);
    } else {
      resize_row<3>(from, columns, to);
    }
  }
  std::vector<std::uint8_t> resized(static_cast<std::size_t>(part.height * samples));
  std::vector<std::int32_t> sums(static_cast<std::size_t>(samples));
  for (std::int64_t y = 0; y < part.height; ++y) {
    const Taps::Window& window = rows.windows[static_cast<std::size_t>(y)];
    const std::int32_t* weights = rows.weights_of(y);
    std::fill(sums.begin(), sums.end(), kHalf);
    for (std::int64_t k = 0; k < window.count; ++k) {
      const std::uint8_t* from = narrowed.data() + (window.first + k - first_row) * samples;
      const std::int32_t weight = weights[k];
      std::int32_t* sum = sums.data();
      for (std::int64_t x = 0; x < samples; ++x) sum[x] += from[x] * weight;
    }
    std::uint8_t* to = resized.data() + y * samples;
    for (std::int64_t x = 0; x < samples; ++x) to[x] = to_byte(sums[static_cast<std::size_t>(x)]);
  }
  return resized;
}

}  // namespace qtool

#include "ops/pieces.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <random>
#include <vector>

namespace qtool {
namespace {

std::size_t to_size(std::int64_t index) { return static_cast<std::size_t>(index); }

// Sums of windows over channels-last integers, from every input channel to every output channel.
void window_sums(const Shape& in, const Shape& out, const Window& w, const std::int64_t* source,
                 std::int64_t* destination) {
  for (std::int64_t n = 0; n < out[0]; ++n) {
    for (std::int64_t y = 0; y < out[2]; ++y) {
      for (std::int64_t x = 0; x < out[3]; ++x) {
        std::int64_t sum = 0;
        for (std::int64_t i = 0; i < w.kernel[0]; ++i) {
          for (std::int64_t j = 0; j < w.kernel[1]; ++j) {
            const std::int64_t h = y * w.strides[0] + i * w.dilations[0] - w.pads_begin[0];
            const std::int64_t v = x * w.strides[1] + j * w.dilations[1] - w.pads_begin[1];
            if (h < 0 || h >= in[2] || v < 0 || v >= in[3]) continue;
            for (std::int64_t c = 0; c < in[1]; ++c) {
              sum += (1 + i + 3 * j) * source[((n * in[2] + h) * in[3] + v) * in[1] + c];
            }
          }
        }
        for (std::int64_t m = 0; m < out[1]; ++m) {
          destination[((n * out[2] + y) * out[3] + x) * out[1] + m] = sum * (m + 1);
        }
      }
    }
  }
}

TEST(DivideWindow, ComputesWhatTheWholeComputes) {
  constexpr std::uint32_t kSeed = 7;
  std::mt19937 random(kSeed);
  const auto pick = [&](std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(random);
  };
  int divided = 0;
  for (int round = 0; round < 400; ++round) {
    Window w;
    const bool pointwise = round % 4 == 0;
    const Shape in{pick(1, 3), pick(1, 3), pick(1, 14), pick(1, 9)};
    std::vector<std::int64_t> out{in[0], pick(1, 3)};
    for (std::size_t axis = 0; axis < 2; ++axis) {
      w.kernel.push_back(pointwise ? 1 : pick(1, 4));
      w.strides.push_back(pointwise ? 1 : pick(1, 3));
      w.dilations.push_back(pick(1, 2));
      w.pads_begin.push_back(pointwise ? 0 : pick(0, 3));
      w.pads_end.push_back(pointwise ? 0 : pick(0, 3));
      const std::int64_t extent = (w.kernel[axis] - 1) * w.dilations[axis] + 1;
      const std::int64_t room =
          in[static_cast<std::int64_t>(axis) + 2] + w.pads_begin[axis] + w.pads_end[axis] - extent;
      out.push_back(room < 0 ? 0 : room / w.strides[axis] + 1);
    }
    if (out[2] == 0 || out[3] == 0) continue;
    w.output = {out[2], out[3]};
    const Shape result{out[0], out[1], out[2], out[3]};
    std::vector<std::int64_t> source(to_size(in.elements()));
    for (std::int64_t& value : source) value = pick(-9, 9);
    std::vector<std::int64_t> whole(to_size(result.elements()));
    window_sums(in, result, w, source.data(), whole.data());
    for (const int threads : {1, 2, 3, 8}) {
      // In every second round the work of each thread is divided further.
      const std::int64_t longest = round % 2 == 0 ? kLongestCall : 1 << 16;
      const auto pieces = divide_window(in, result, w, Layout::kChannelsLast, 1 << 20, threads,
                                        WindowUse::kGather, longest);
      std::vector<std::int64_t> parts(to_size(result.elements()), -12345);
      std::int64_t elements = 0;
      for (const WindowPiece& piece : pieces) {
        for (std::size_t axis = 0; axis < 2; ++axis) {
          ASSERT_EQ(piece.window.output[axis],
                    piece.destination[static_cast<std::int64_t>(axis) + 2]);
        }
        elements += piece.destination.elements();
        window_sums(piece.source, piece.destination, piece.window,
                    source.data() + piece.source_offset, parts.data() + piece.destination_offset);
      }
      EXPECT_EQ(parts, whole) << "round " << round << ", " << threads << " threads, seed " << kSeed;
      EXPECT_EQ(elements, result.elements());
      divided += pieces.size() > 1 ? 1 : 0;
    }
  }
  EXPECT_GT(divided, 500);  // otherwise nothing was tested
}

TEST(DivideWindow, LeavesSmallWorkWhole) {
  Window w;
  w.kernel = w.strides = w.dilations = {1, 1};
  w.pads_begin = w.pads_end = {0, 0};
  w.output = {8, 8};
  const Shape shape{1, 4, 8, 8};
  EXPECT_EQ(divide_window(shape, shape, w, Layout::kChannelsLast, 1024, 4).size(), 1U);
  EXPECT_EQ(divide_window(shape, shape, w, Layout::kChannelsLast, 1 << 20, 4).size(), 4U);
}

TEST(DivideWindow, DividesWhatTakesLongForOneThreadToo) {
  Window w;
  w.kernel = {3, 3};
  w.strides = w.dilations = w.pads_begin = w.pads_end = {1, 1};
  w.output = {8, 8};
  const Shape shape{2, 4, 8, 8};
  const auto pieces = [&](std::int64_t operations, int threads) {
    return divide_window(shape, shape, w, Layout::kChannelsLast, operations, threads).size();
  };
  EXPECT_EQ(pieces(kLongestCall - 1, 1), 1U);
  EXPECT_EQ(pieces(8 * kLongestCall, 1), 8U);
  EXPECT_EQ(pieces(8 * kLongestCall, 2), 8U);
  EXPECT_EQ(pieces(std::numeric_limits<std::int64_t>::max(), 1), 16U);  // one per row
}

TEST(DivideEvenly, CoversAllWithoutEmptyRangesAtMultiplesOfTheUnit) {
  for (const std::int64_t count : {1, 15, 16, 17, 100, 1000}) {
    for (const std::int64_t parts : {1, 2, 3, 7, 64}) {
      for (const std::int64_t unit : {1, 16}) {
        std::int64_t end = 0;
        const auto ranges = divide_evenly(count, parts, unit);
        for (const Range64& range : ranges) {
          EXPECT_EQ(range.begin, end);
          EXPECT_EQ(range.begin % unit, 0);
          EXPECT_LT(range.begin, range.end);
          end = range.end;
        }
        EXPECT_EQ(end, count);
        EXPECT_LE(static_cast<std::int64_t>(ranges.size()), parts);
      }
    }
  }
}

}  // namespace
}  // namespace qtool

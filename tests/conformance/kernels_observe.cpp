// Compares every kernel that observes activations with its reference, bit for bit, on buffers that
// end at guarded pages, with and without denormals.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "base/parallel.h"
#include "kernels/observe/observe.h"
#include "support/guarded_buffer.h"
#include "support/kernel_cases.h"

namespace qtool {
namespace {

using tests::GuardedBuffer;
using tests::only;
using tests::pick;

constexpr int kObservedRounds = 400;
constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Activations of every kind: zeros of both signs, denormals, tiny and huge values, runs of one
// value.
void fill(std::mt19937& random, float* values, std::int64_t count) {
  std::normal_distribution<float> normal;
  const int power = static_cast<int>(pick(random, -130, 120));
  for (std::int64_t i = 0; i < count; ++i) {
    switch (pick(random, 0, 9)) {
      case 0:
      case 1:
        values[i] = 0.0F;
        break;
      case 2:
        values[i] = -0.0F;
        break;
      case 3:
        values[i] = std::ldexp(normal(random), -127);
        break;
      case 4:
        values[i] = std::ldexp(6.0F, std::min(power, 100));
        break;
      default:
        values[i] = std::ldexp(normal(random), power);
    }
  }
}

// Totals in which every array ends at a guarded page.
struct GuardedTotals {
  explicit GuardedTotals(std::int64_t width)
      : sums(bytes<double>(width)),
        squares(bytes<double>(width)),
        lows(bytes<float>(width)),
        highs(bytes<float>(width)),
        view{sums.data<double>(), squares.data<double>(), lows.data<float>(), highs.data<float>(),
             width} {
    std::fill_n(view.sums, width, 0.0);
    std::fill_n(view.squares, width, 0.0);
    std::fill_n(view.lows, width, kInfinity);
    std::fill_n(view.highs, width, -kInfinity);
  }
  template <typename T>
  static std::size_t bytes(std::int64_t width) {
    return static_cast<std::size_t>(width) * sizeof(T);
  }
  static bool same(const GuardedBuffer& a, const GuardedBuffer& b) {
    return std::memcmp(a.data(), b.data(), a.bytes()) == 0;
  }
  bool operator==(const GuardedTotals& other) const {
    return same(sums, other.sums) && same(squares, other.squares) && same(lows, other.lows) &&
           same(highs, other.highs);
  }

  GuardedBuffer sums;
  GuardedBuffer squares;
  GuardedBuffer lows;
  GuardedBuffer highs;
  ChannelTotals view;
};

TEST(ObserveKernel, SumsChannelsAsTheReferenceDoes) {
  auto random = tests::seeded_generator();
  for (const auto& row : tests::runnable(observe_kernels())) {
    const ObserveKernel kernel(only(row.name));
    ASSERT_EQ(kernel.kernel(), row.name);
    for (int round = 0; round < kObservedRounds; ++round) {
      std::unique_ptr<FlushDenormals> flush;
      if (round % 2 == 0) flush = std::make_unique<FlushDenormals>();
      const std::int64_t any = pick(random, 1, round % 8 == 0 ? 700 : 150);
      const std::int64_t width = round % 4 == 1 ? 16 * pick(random, 1, 12) : any;  // whole vectors
      GuardedTotals got(width);
      GuardedTotals want(width);
      for (int part = 0; part < 3; ++part) {
        const std::int64_t pixels = pick(random, 0, 9);
        const GuardedBuffer values(static_cast<std::size_t>(pixels * width) * sizeof(float));
        fill(random, values.data<float>(), pixels * width);
        // Prefetching up to the guarded memory and beyond is harmless, and no value changes.
        const Ahead ahead{values.data<float>(),
                          round % 3 * pixels * width * static_cast<std::int64_t>(sizeof(float))};
        const Seen seen = kernel.accumulate(values.data<float>(), pixels, got.view, ahead);
        const Seen expected = reference_accumulate(values.data<float>(), pixels, want.view);
        ASSERT_TRUE(got == want) << row.name << ", " << pixels << " x " << width;
        ASSERT_EQ(seen.lowest, expected.lowest) << row.name;
        ASSERT_EQ(seen.highest, expected.highest) << row.name;
        ASSERT_TRUE(seen.finite && expected.finite);
        ASSERT_EQ(seen.nonzeros, expected.nonzeros) << row.name;
      }
    }
  }
}

TEST(ObserveKernel, NoticesEveryValueThatIsNotFinite) {
  auto random = tests::seeded_generator();
  for (const auto& row : tests::runnable(observe_kernels())) {
    const ObserveKernel kernel(only(row.name));
    for (const float bad : {std::numeric_limits<float>::quiet_NaN(), kInfinity, -kInfinity}) {
      for (int round = 0; round < kObservedRounds; ++round) {
        const std::int64_t width = pick(random, 1, 130);
        const std::int64_t pixels = pick(random, 1, 5);
        std::vector<float> values(static_cast<std::size_t>(width * pixels),
                                  std::numeric_limits<float>::max());
        GuardedTotals totals(width);
        ASSERT_TRUE(kernel.accumulate(values.data(), pixels, totals.view).finite);
        values[static_cast<std::size_t>(pick(random, 0, width * pixels - 1))] = bad;
        ASSERT_FALSE(kernel.accumulate(values.data(), pixels, totals.view).finite)
            << row.name << ", " << pixels << " x " << width;
      }
    }
  }
}

TEST(ObserveKernel, FindsTheCellsThatTheReferenceFinds) {
  auto random = tests::seeded_generator();
  for (const auto& row : tests::runnable(observe_kernels())) {
    for (int round = 0; round < kObservedRounds; ++round) {
      std::unique_ptr<FlushDenormals> flush;
      if (round % 2 == 0) flush = std::make_unique<FlushDenormals>();
      const std::int64_t count = pick(random, 0, 300);
      const GuardedBuffer values(static_cast<std::size_t>(count) * sizeof(float));
      fill(random, values.data<float>(), count);
      const Signs signs = round % 3 != 0 ? Signs::kBoth : Signs::kPositive;
      float largest = 0x1p-101F;
      for (std::int64_t i = 0; i < count; ++i) {
        float& value = values.data<float>()[i];
        // A value that counts as zero, such as a denormal, may still be negative.
        const bool counted = std::fabs(value) >= std::numeric_limits<float>::min();
        if (signs == Signs::kPositive && counted) value = std::fabs(value);
        largest = std::max(largest, std::fabs(value));
      }
      const float cells_per_unit = std::ldexp(1.0F, 14 - std::ilogb(largest));
      const GuardedBuffer got(static_cast<std::size_t>(count + kCellSlack) * sizeof(std::int32_t));
      std::vector<std::int32_t> want(static_cast<std::size_t>(count));
      const std::int64_t kept = row.functions->cells(values.data<float>(), count, cells_per_unit,
                                                     signs, got.data<std::int32_t>());
      ASSERT_EQ(kept, reference_cells(values.data<float>(), count, cells_per_unit, want.data()))
          << row.name;
      ASSERT_TRUE(std::equal(want.begin(), want.begin() + kept, got.data<std::int32_t>()))
          << row.name;
    }
  }
}

TEST(ObserveKernel, CountsEveryValueOnce) {
  auto random = tests::seeded_generator();
  std::normal_distribution<float> normal;
  for (const auto& row : tests::runnable(observe_kernels())) {
    const ObserveKernel kernel(only(row.name));
    for (const std::int64_t count : {0, 1, 2047, 2048, 2049, 10001}) {
      std::vector<float> values(static_cast<std::size_t>(count));
      for (float& value : values) value = std::clamp(normal(random), -0.5F, 0.999F);
      for (std::size_t i = 0; i < values.size(); i += 3) values[i] = 0.0F;
      std::vector<std::uint16_t> counters(512);
      std::vector<std::uint16_t> expected(512);
      std::int64_t zeros = 0;
      for (const float value : values) {
        // A negative multiple of the width belongs to the cell below it: cell -1 holds (-width, 0).
        const float cell = std::copysign(std::floor(std::fabs(value * 256.0F)), value);
        if (value == 0.0F) {
          ++zeros;
        } else {
          ++expected[static_cast<std::size_t>(256.0F + cell - (value < 0.0F ? 1.0F : 0.0F))];
        }
      }
      EXPECT_EQ(kernel.count(values.data(), count, 256.0F, Signs::kBoth, counters.data() + 256),
                zeros);
      for (std::size_t cell = 0; cell < expected.size(); ++cell) {
        ASSERT_EQ(counters[cell], expected[cell]) << row.name << ' ' << cell;
      }
    }
  }
}

}  // namespace
}  // namespace qtool

// Compares copy_strided() with one copy for each element. Shapes are chosen around the sizes at
// which it changes its way: short runs, and squares of elements that are transposed at once.
#include "ops/strides.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

namespace qtool {
namespace {

using Ints = std::vector<std::int64_t>;

// A box of elements in two arrays: where it begins in each, and its steps.
struct StridedBox {
  Ints extents;
  std::array<Ints, 2> steps;
  std::array<std::int64_t, 2> first{};
};

// Bytes around an array that no copy may change.
constexpr std::size_t kMargin = 64;

// The elements that an array needs for all elements of a box.
std::int64_t span_of(const StridedBox& box, std::size_t k) {
  std::int64_t last = box.first[k];
  for (std::size_t axis = 0; axis < box.extents.size(); ++axis) {
    if (box.steps[k][axis] > 0) last += (box.extents[axis] - 1) * box.steps[k][axis];
  }
  return last + 1;
}

std::vector<std::byte> random_array(std::size_t count, std::mt19937& random) {
  std::vector<std::byte> bytes(count);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random() & 0xFFU);
  return bytes;
}

void copy_one_by_one(const StridedBox& box, std::int64_t size, std::byte* to,
                     const std::byte* from) {
  Ints index(box.extents.size(), 0);
  while (true) {
    std::array<std::int64_t, 2> at{};
    for (std::size_t axis = 0; axis < index.size(); ++axis) {
      for (std::size_t k = 0; k < 2; ++k) at[k] += index[axis] * box.steps[k][axis];
    }
    std::memcpy(to + at[0] * size, from + at[1] * size, static_cast<std::size_t>(size));
    std::size_t axis = index.size();
    while (axis-- > 0) {
      if (++index[axis] < box.extents[axis]) break;
      index[axis] = 0;
    }
    if (axis == static_cast<std::size_t>(-1)) return;
  }
}

void expect_copied(const StridedBox& box, std::int64_t size, int threads, std::mt19937& random) {
  const auto bytes = [&](std::size_t k) {
    return static_cast<std::size_t>(span_of(box, k) * size) + 2 * kMargin;
  };
  const std::vector<std::byte> source = random_array(bytes(1), random);
  std::vector<std::byte> expected = random_array(bytes(0), random);
  std::vector<std::byte> found = expected;
  const auto begin = [&](auto& array, std::size_t k) {
    return array.data() + kMargin + box.first[k] * size;
  };
  copy_one_by_one(box, size, begin(expected, 0), begin(source, 1));
  copy_strided(LoopNest<2>(box.extents, box.steps), size, begin(found, 0), begin(source, 1),
               threads);
  EXPECT_EQ(found, expected) << "elements of " << size << " bytes, " << threads << " threads";
}

// The box of a tensor whose axes are reordered and cut: a part of a larger tensor on both sides.
StridedBox random_box(std::mt19937& random) {
  const auto below = [&](std::int64_t count) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(count));
  };
  constexpr std::int64_t kExtents[] = {1, 2, 3, 4, 5, 8, 12, 15, 16, 17, 31, 33, 48, 67};
  StridedBox box;
  const std::int64_t rank = 1 + below(4);
  std::int64_t elements = 1;
  for (std::int64_t axis = 0; axis < rank; ++axis) {
    std::int64_t extent = kExtents[below(std::ssize(kExtents))];
    if (elements * extent > 40000) extent = 2;
    elements *= extent;
    box.extents.push_back(extent);
  }
  for (std::size_t k = 0; k < 2; ++k) {
    std::vector<std::size_t> order(box.extents.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::shuffle(order.begin(), order.end(), random);
    box.steps[k].assign(order.size(), 0);
    std::int64_t step = below(4) == 0 ? 2 : 1;
    for (const std::size_t axis : order) {
      box.steps[k][axis] = step;
      step *= box.extents[axis] + (below(3) == 0 ? below(5) : 0);  // with a gap between rows
    }
    if (k == 1 && below(4) == 0) box.steps[k][order[0]] = 0;  // repeated
    if (k == 1 && below(4) == 0) {                            // backwards
      box.first[k] = (box.extents[order.back()] - 1) * box.steps[k][order.back()];
      box.steps[k][order.back()] *= -1;
    }
  }
  return box;
}

TEST(CopyStrided, CopiesBoxesOfEveryKind) {
  std::mt19937 random(5);
  for (int round = 0; round < 300; ++round) {
    const StridedBox box = random_box(random);
    SCOPED_TRACE(testing::Message() << "round " << round);
    for (const std::int64_t size : {1, 2, 4, 8}) expect_copied(box, size, 1 + round % 3, random);
    if (HasFailure()) return;
  }
}

TEST(CopyStrided, TransposesOnSeveralThreads) {
  std::mt19937 random(6);
  for (const std::int64_t rows : {15, 16, 63, 484}) {
    for (const std::int64_t columns : {3, 96, 1000}) {
      const StridedBox box{{2, rows, columns},
                           {Ints{rows * columns, columns, 1}, Ints{rows * columns, 1, rows}}};
      for (const std::int64_t size : {1, 2, 4, 8}) expect_copied(box, size, 2, random);
    }
  }
}

TEST(CopyStrided, CopiesNothingFromAnEmptyBox) {
  const std::byte source{1};
  std::byte target{2};
  copy_strided(LoopNest<2>({3, 0}, {Ints{0, 0}, Ints{0, 0}}), 1, &target, &source, 2);
  EXPECT_EQ(target, std::byte{2});
}

}  // namespace
}  // namespace qtool

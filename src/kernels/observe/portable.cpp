#include <cstdint>
#include <cstring>

#include "kernels/observe/contract.h"
#include "kernels/observe/stages.h"

namespace qtool {
namespace {

constexpr std::int64_t kLanes = 4;

// Vectors of four values, on every machine: they need no particular instruction set.
using Floats = float __attribute__((vector_size(16)));
using Doubles = double __attribute__((vector_size(32)));
using Ints = std::int32_t __attribute__((vector_size(16)));

template <typename Vector, typename Element>
void load(Vector& lanes, const Element* from) {
  std::memcpy(&lanes, from, sizeof(lanes));
}

template <typename Vector, typename Element>
void store(Element* to, const Vector& lanes) {
  std::memcpy(to, &lanes, sizeof(lanes));
}

// Four channels, kept in registers over all pixels.
struct Lanes {
  Lanes(const ChannelTotals& totals, std::int64_t channel) {
    load(sums, totals.sums + channel);
    load(squares, totals.squares + channel);
    load(lows, totals.lows + channel);
    load(highs, totals.highs + channel);
  }

  void add(const float* from) {
    Floats values;
    load(values, from);
    const Doubles wide = __builtin_convertvector(values, Doubles);
    sums += wide;
    squares += wide * wide;
    lows = values < lows ? values : lows;
    highs = values > highs ? values : highs;
    // A true comparison gives all ones, that is -1. A comparison with NaN is false.
    zeros += (values < kSmallestNormal) & (values > -kSmallestNormal);
  }

  void save(const ChannelTotals& totals, std::int64_t channel) const {
    store(totals.sums + channel, sums);
    store(totals.squares + channel, squares);
    store(totals.lows + channel, lows);
    store(totals.highs + channel, highs);
  }

  Doubles sums;
  Doubles squares;
  Floats lows;
  Floats highs;
  Ints zeros{};  // counts down: a comparison that is true gives -1
};

Seen accumulate(const float* values, std::int64_t pixels, const ChannelTotals& totals,
                const Ahead& ahead) {
  Fetch fetch(ahead);
  const std::int64_t width = totals.width;
  std::int64_t nonzeros = pixels * width;
  std::int64_t c = 0;
  for (; c + 2 * kLanes <= width; c += 2 * kLanes) {  // two chains hide the latency of additions
    Lanes first(totals, c);
    Lanes second(totals, c + kLanes);
    for (std::int64_t p = 0; p < pixels; ++p) {
      if (p % 2 == 0) fetch.lines<1>();  // a cache line holds two pixels of 8 channels
      first.add(values + p * width + c);
      second.add(values + p * width + c + kLanes);
    }
    first.save(totals, c);
    second.save(totals, c + kLanes);
    for (std::int64_t lane = 0; lane < kLanes; ++lane) {
      nonzeros += first.zeros[lane] + second.zeros[lane];
    }
  }
  nonzeros -= accumulate_rest(values, pixels, totals, c);
  return seen_in(totals, nonzeros);
}

std::int64_t cells(const float* values, std::int64_t count, float cells_per_unit, Signs /*signs*/,
                   std::int32_t* cells) {
  std::int64_t kept = 0;
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    Floats x;
    load(x, values + i);
    const Ints negative = x <= -kSmallestNormal;  // all ones, that is -1, where true
    const Ints counted = negative | (x >= kSmallestNormal);
    const Ints cell = __builtin_convertvector(x * cells_per_unit, Ints) + negative;
    for (std::int64_t lane = 0; lane < kLanes; ++lane) {
      cells[kept] = cell[lane];  // no branch: the next value overwrites the cell of a zero
      kept -= counted[lane];
    }
  }
  return kept + cells_of_rest(values + i, count - i, cells_per_unit, cells + kept);
}

}  // namespace

constexpr ObserveFunctions observe_portable = {accumulate, cells};

}  // namespace qtool

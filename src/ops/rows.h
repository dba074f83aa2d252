#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/parallel.h"
#include "base/stop.h"
#include "ops/strides.h"

// Loops over a whole tensor that check at intervals whether they must stop.
namespace qtool {

/// Calls `body(row)` for each row of `width` elements, in parallel when all rows together are
/// large.
template <typename Body>
void for_rows(std::int64_t rows, std::int64_t width, int threads, const Body& body) {
  if (rows * width < kParallelElements) threads = 1;
  parallel_ranges(rows, threads, [&](std::int64_t begin, std::int64_t end, int) {
    StopPace pace;
    for (std::int64_t row = begin; row < end; ++row) {
      pace.step(width);
      body(row);
    }
  });
}

/// Calls `body(begin, end)` for pieces of [0, count), in parallel when `count` is large. For work
/// on single elements, whose results do not depend on the division into pieces.
template <typename Body>
void for_pieces(std::int64_t count, int threads, const Body& body) {
  if (count < kParallelElements) threads = 1;
  parallel_ranges(count, threads, [&](std::int64_t begin, std::int64_t end, int) {
    in_pieces(end - begin,
              [&](std::int64_t from, std::int64_t to) { body(begin + from, begin + to); });
  });
}

/// Fills `count` elements.
template <typename T>
void fill_elements(T* out, std::int64_t count, T value) {
  in_pieces(count, [&](std::int64_t begin, std::int64_t end) {
    std::fill(out + begin, out + end, value);
  });
}

/// Copies `bytes` bytes; the pointers may be null when there are none.
inline void copy_bytes(std::byte* to, const std::byte* from, std::int64_t bytes) {
  in_pieces(bytes, [&](std::int64_t begin, std::int64_t end) {
    std::memcpy(to + begin, from + begin, static_cast<std::size_t>(end - begin));
  });
}

}  // namespace qtool

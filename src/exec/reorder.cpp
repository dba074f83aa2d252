#include "exec/reorder.h"

#include <algorithm>

#include "base/check.h"
#include "base/parallel.h"
#include "base/stop.h"

namespace qtool {
namespace {

// Transposes `rows` x `columns` in square blocks, so that both sides stay in the cache.
template <typename T>
void transpose(const T* in, T* out, std::int64_t rows, std::int64_t columns, std::int64_t begin,
               std::int64_t end) {
  constexpr std::int64_t kBlock = 16;
  StopPace pace;
  for (std::int64_t r0 = begin; r0 < end; r0 += kBlock) {
    const std::int64_t r1 = std::min(end, r0 + kBlock);
    pace.step((r1 - r0) * columns);
    in_pieces(columns, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t c0 = first; c0 < last; c0 += kBlock) {
        const std::int64_t c1 = std::min(last, c0 + kBlock);
        for (std::int64_t r = r0; r < r1; ++r) {
          for (std::int64_t c = c0; c < c1; ++c) out[c * rows + r] = in[r * columns + c];
        }
      }
    });
  }
}

template <typename T>
std::unique_ptr<Operator> make_typed(std::int64_t images, std::int64_t rows, std::int64_t columns) {
  return make_operator([=](const Operands& o) {
    const T* in = o.in<T>(0);
    T* out = o.out<T>(0);
    for (std::int64_t image = 0; image < images; ++image) {
      const std::int64_t offset = image * rows * columns;
      parallel_ranges(rows, rows * columns < 32768 ? 1 : o.threads(),
                      [&](std::int64_t begin, std::int64_t end, int) {
                        transpose(in + offset, out + offset, rows, columns, begin, end);
                      });
    }
  });
}

}  // namespace

std::unique_ptr<Operator> make_reorder(const ValueInfo& info, Layout to) {
  QTOOL_CHECK(info.shape.rank() == 4);
  const std::int64_t channels = info.shape[1];
  const std::int64_t pixels = info.shape[2] * info.shape[3];
  const std::int64_t rows = to == Layout::kChannelsLast ? channels : pixels;
  const std::int64_t columns = to == Layout::kChannelsLast ? pixels : channels;
  switch (size_of(info.dtype)) {
    case 1:
      return make_typed<std::uint8_t>(info.shape[0], rows, columns);
    case 2:
      return make_typed<std::uint16_t>(info.shape[0], rows, columns);
    case 4:
      return make_typed<std::uint32_t>(info.shape[0], rows, columns);
    default:
      return make_typed<std::uint64_t>(info.shape[0], rows, columns);
  }
}

}  // namespace qtool

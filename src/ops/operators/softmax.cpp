#include <algorithm>
#include <cmath>

#include "base/round_up.h"
#include "base/stop.h"
#include "kernels/elementary/elementary.h"
#include "ops/infer_rules.h"
#include "ops/operator.h"
#include "ops/strides.h"

namespace qtool {
namespace {

enum class SoftmaxKind : std::uint8_t { kPlain, kLog };

std::int64_t softmax_axis(const OpContext& op) {
  return axis_of(op, op.node.get_int("axis", -1), op.input(0).shape.rank());
}

std::vector<ValueInfo> infer_softmax(const OpContext& op) {
  require_type(op, 0, FloatType{});
  static_cast<void>(softmax_axis(op));
  return {op.input(0)};
}

constexpr std::int64_t kColumns = 64;

// Normalizes adjacent columns of `extent` rows that are `step` floats apart. The highest value of a
// column is first subtracted from its values, so that nothing overflows.
void normalize_columns(const ElementaryFunctions& functions, SoftmaxKind kind, const float* in,
                       float* out, std::int64_t extent, std::int64_t step, std::int64_t columns) {
  float highest[kColumns];
  double sum[kColumns];
  std::copy_n(in, columns, highest);
  std::fill_n(sum, columns, 0.0);
  in_pieces(extent, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      const float* x = in + row * step;
      for (std::int64_t c = 0; c < columns; ++c) highest[c] = std::max(highest[c], x[c]);
    }
  });
  in_pieces(extent, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      const float* x = in + row * step;
      float* y = out + row * step;
      float power[kColumns];
      for (std::int64_t c = 0; c < columns; ++c) y[c] = x[c] - highest[c];
      functions.exp(y, power, columns);
      for (std::int64_t c = 0; c < columns; ++c) sum[c] += static_cast<double>(power[c]);
      if (kind == SoftmaxKind::kPlain) std::copy_n(power, columns, y);
    }
  });
  float factor[kColumns];
  for (std::int64_t c = 0; c < columns; ++c) {
    factor[c] = static_cast<float>(kind == SoftmaxKind::kLog ? std::log(sum[c]) : 1.0 / sum[c]);
  }
  in_pieces(extent, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      float* y = out + row * step;
      if (kind == SoftmaxKind::kLog) {
        for (std::int64_t c = 0; c < columns; ++c) y[c] -= factor[c];
      } else {
        for (std::int64_t c = 0; c < columns; ++c) y[c] *= factor[c];
      }
    }
  });
}

// Rows shorter than this are normalized as columns, many at once.
constexpr std::int64_t kShort = 32;

// As normalize_columns(), for up to kColumns rows of fewer than kShort elements.
void normalize_short_rows(const ElementaryFunctions& functions, SoftmaxKind kind, const float* in,
                          float* out, std::int64_t extent, std::int64_t rows) {
  float columns[kShort * kColumns] = {};
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t i = 0; i < extent; ++i) columns[i * kColumns + r] = in[r * extent + i];
  }
  normalize_columns(functions, kind, columns, columns, extent, kColumns, rows);
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t i = 0; i < extent; ++i) out[r * extent + i] = columns[i * kColumns + r];
  }
}

// As normalize_columns(), for one column of contiguous elements. Eight lanes fill the vectors.
void normalize_row(const ElementaryFunctions& functions, SoftmaxKind kind, const float* in,
                   float* out, std::int64_t extent) {
  constexpr std::int64_t kLanes = 8;
  const std::int64_t whole = extent / kLanes * kLanes;
  float highest[kLanes];
  std::fill_n(highest, kLanes, in[0]);
  in_pieces(whole, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; i += kLanes) {
      for (std::int64_t lane = 0; lane < kLanes; ++lane) {
        highest[lane] = std::max(highest[lane], in[i + lane]);
      }
    }
  });
  float top = *std::max_element(highest, highest + kLanes);
  for (std::int64_t i = whole; i < extent; ++i) top = std::max(top, in[i]);

  in_pieces(extent, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) out[i] = in[i] - top;
    functions.exp(out + begin, out + begin, end - begin);
  });
  double sums[kLanes] = {};
  in_pieces(whole, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; i += kLanes) {
      for (std::int64_t lane = 0; lane < kLanes; ++lane) {
        sums[lane] += static_cast<double>(out[i + lane]);
      }
    }
  });
  double sum = 0;
  for (const double part : sums) sum += part;
  for (std::int64_t i = whole; i < extent; ++i) sum += static_cast<double>(out[i]);

  if (kind == SoftmaxKind::kLog) {
    const auto shift = static_cast<float>(std::log(sum));
    for (std::int64_t i = 0; i < extent; ++i) out[i] = (in[i] - top) - shift;
  } else {
    const auto factor = static_cast<float>(1.0 / sum);
    for (std::int64_t i = 0; i < extent; ++i) out[i] *= factor;
  }
}

std::unique_ptr<Operator> make_softmax(const OpContext& op, SoftmaxKind kind) {
  const Shape& shape = op.input(0).shape;
  const std::int64_t axis = softmax_axis(op);
  const std::int64_t elements = shape.elements();
  const std::int64_t extent = shape[axis];
  const std::int64_t inner =
      std::max<std::int64_t>(1, strides_of(shape, Layout::kPlain)[static_cast<std::size_t>(axis)]);
  const std::int64_t blocks = ceil_div(inner, kColumns);
  const std::int64_t rows = elements == 0 ? 0 : elements / (extent * inner);
  const bool short_rows = inner == 1 && extent < kShort;
  const std::int64_t items = short_rows ? ceil_div(rows, kColumns) : rows * blocks;
  return make_operator([=, kernel = ElementaryKernel()](const Operands& o) {
    const auto body = [&](std::int64_t begin, std::int64_t end, int) {
      StopPace pace;
      for (std::int64_t item = begin; item < end; ++item) {
        if (short_rows) {
          const std::int64_t at = item * kColumns * extent;
          pace.step(kColumns * extent);
          normalize_short_rows(kernel.functions(), kind, o.in<float>(0) + at, o.out<float>(0) + at,
                               extent, std::min(kColumns, rows - item * kColumns));
          continue;
        }
        const std::int64_t column = item % blocks * kColumns;
        const std::int64_t position = item / blocks * extent * inner + column;
        if (inner == 1) {
          pace.step(extent);
          normalize_row(kernel.functions(), kind, o.in<float>(0) + position,
                        o.out<float>(0) + position, extent);
          continue;
        }
        pace.step(extent * std::min(kColumns, inner - column));
        normalize_columns(kernel.functions(), kind, o.in<float>(0) + position,
                          o.out<float>(0) + position, extent, inner,
                          std::min(kColumns, inner - column));
      }
    };
    if (elements < kParallelElements) return body(0, items, 0);
    parallel_ranges(items, o.threads(), body);
  });
}

}  // namespace

OpDef op_Softmax() {
  return {infer_softmax, [](const OpContext& op) { return make_softmax(op, SoftmaxKind::kPlain); }};
}
OpDef op_LogSoftmax() {
  return {infer_softmax, [](const OpContext& op) { return make_softmax(op, SoftmaxKind::kLog); }};
}

}  // namespace qtool

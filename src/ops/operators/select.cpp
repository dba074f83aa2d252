// Operators that select elements by values, so that the values decide the output shape: NonZero,
// Compress, Unique.
#include <algorithm>
#include <cstring>
#include <functional>
#include <numeric>

#include "base/stop.h"
#include "ops/columns.h"
#include "ops/computed.h"
#include "ops/infer_rules.h"
#include "ops/operator.h"
#include "ops/strides.h"

namespace qtool {
namespace {

Tensor ints_tensor(const std::vector<std::int64_t>& values) {
  return Tensor::of<std::int64_t>({std::ssize(values)}, std::span<const std::int64_t>(values));
}

// Calls use(index) for the elements that are not 0.
template <typename Use>
void for_nonzeros(const Tensor& in, const Use& use) {
  const std::int64_t size = size_of(in.dtype());
  for (std::int64_t i = 0; i < in.elements(); ++i) {
    const std::byte* element = in.data() + i * size;
    bool zero = std::all_of(element, element + size, [](std::byte b) { return b == std::byte{0}; });
    // Negative zero: only the sign bit is set.
    const bool real = in.dtype() == DType::kFloat32 || in.dtype() == DType::kFloat64;
    if (real && element[size - 1] == std::byte{0x80}) {
      zero =
          std::all_of(element, element + size - 1, [](std::byte b) { return b == std::byte{0}; });
    }
    if (!zero) use(i);
  }
}

// NonZero: the coordinates of elements that are not 0, one row per axis. The result may be much
// larger than the input, so its shape is counted before the result is made.
std::vector<ValueInfo> infer_nonzero(const OpContext& op) {
  const Tensor& in = deciding_constant(op, 0);
  std::int64_t count = 0;
  for_nonzeros(in, [&](std::int64_t) { ++count; });
  return {{DType::kInt64, shape_of(op, {in.shape().rank(), count})}};
}

std::unique_ptr<Operator> make_nonzero(const OpContext& op) {
  return make_operator(
      [in = op.shared_constant(0), count = op.output(0).shape[1]](const Operands& o) {
        std::int64_t* out = o.out<std::int64_t>(0);
        for_nonzeros(*in, [&](std::int64_t rest) {
          for (std::int64_t axis = in->shape().rank(); axis-- > 0;) {
            out[axis * count] = rest % in->shape()[axis];
            rest /= in->shape()[axis];
          }
          ++out;
        });
      });
}

// Compress: the positions along the axis, or in the flattened input, that are selected.
struct Compression {
  Columns columns;
  Shape output;
  std::vector<std::int64_t> places;
};

Compression compression_of(const OpContext& op) {
  require_dtype_in(op, 1, {DType::kBool});
  const Shape& in = op.input(0).shape;
  const Tensor& condition = deciding_constant(op, 1);
  op.require(condition.shape().rank() == 1, "the condition is no list");
  const bool flat = !op.node.has("axis");
  const Shape source = flat ? Shape{in.elements()} : in;
  const std::int64_t axis = axis_of(op, flat ? 0 : op.node.get_int("axis", 0), source.rank());
  op.require(condition.elements() <= source[axis],
             to_text("the condition has ", condition.elements(), " elements, expected at most ",
                     source[axis]));
  Compression compression;
  for (std::int64_t i = 0; i < condition.elements(); ++i) {
    if (condition.data()[i] != std::byte{0}) compression.places.push_back(i);
  }
  std::vector<std::int64_t> dims = source.dims();
  dims[static_cast<std::size_t>(axis)] = std::ssize(compression.places);
  compression.columns = columns_of(source, axis);
  compression.output = Shape(std::move(dims));
  return compression;
}

std::unique_ptr<Operator> make_compress(const OpContext& op) {
  return make_operator(
      [compression = compression_of(op), size = size_of(op.input(0).dtype)](const Operands& o) {
        const Columns& columns = compression.columns;
        const std::int64_t bytes = columns.inner * size;
        std::byte* out = o.out<std::byte>(0);
        for (std::int64_t outer = 0; outer < columns.outer; ++outer) {
          for (const std::int64_t place : compression.places) {
            std::memcpy(out, o.in<std::byte>(0) + (outer * columns.extent + place) * bytes,
                        static_cast<std::size_t>(bytes));
            out += bytes;
          }
        }
      });
}

// Compares slices a and b of a tensor along an axis: -1 when a comes first, 0 when they are equal,
// 1 when b comes first.
using CompareSlices = std::function<int(std::int64_t a, std::int64_t b)>;

template <typename T>
CompareSlices compare_slices(const Tensor& in, const Columns& columns) {
  const auto element = [data = reinterpret_cast<const T*>(in.data()), columns](std::int64_t slice,
                                                                               std::int64_t i) {
    return data[i / std::max<std::int64_t>(1, columns.inner) * columns.extent * columns.inner +
                slice * columns.inner + i % std::max<std::int64_t>(1, columns.inner)];
  };
  return [element, width = columns.count()](std::int64_t a, std::int64_t b) {
    StopPace pace;
    for (std::int64_t i = 0; i < width; ++i) {
      pace.step();
      const T x = element(a, i);
      const T y = element(b, i);
      if (x < y || (x == x && y != y)) return -1;  // NaN is larger than every number
      if (y < x || (y == y && x != x)) return 1;
    }
    return 0;
  };
}

// Unique keeps one slice of each kind. The slices lie along an axis, or are single elements.
struct Slices {
  const Tensor& in;
  Shape source;  // `in` or its flat form
  std::int64_t axis = 0;

  [[nodiscard]] std::int64_t count() const { return source[axis]; }
  // Slices without elements are all equal, so the first one stands for all of them. They are not
  // listed, because there may be so many that a list does not fit into memory. Source: ONNX Runtime
  // and NumPy.
  [[nodiscard]] bool are_empty() const { return source.elements() == 0; }
  [[nodiscard]] Shape shape_of_kinds(std::int64_t kinds) const {
    std::vector<std::int64_t> dims = source.dims();
    dims[static_cast<std::size_t>(axis)] = kinds;
    return Shape(std::move(dims));
  }
};

Slices slices_of(const OpContext& op) {
  require_type(op, 0, NumberTypes{});
  const Tensor& in = deciding_constant(op, 0);
  const bool flat = !op.node.has("axis");
  Shape source = flat ? Shape{in.elements()} : in.shape();
  const std::int64_t axis = axis_of(op, flat ? 0 : op.node.get_int("axis", 0), source.rank());
  return {in, std::move(source), axis};
}

std::vector<Tensor> unique_slices(const OpContext& op, const Slices& slices,
                                  const CompareSlices& compare) {
  const Tensor& in = slices.in;
  const Columns columns = columns_of(slices.source, slices.axis);
  const std::int64_t count = slices.count();
  constexpr std::size_t kLists = 14;  // at most; growing lists count twice
  op.claim(count, kLists * sizeof(std::int64_t));
  std::vector<std::int64_t> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::int64_t a, std::int64_t b) { return compare(a, b) < 0; });
  std::vector<std::int64_t> first;  // index of the first slice of each kind; kinds are ascending
  std::vector<std::int64_t> counts;
  std::vector<std::int64_t> kind_of(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (i == 0 || compare(order[i - 1], order[i]) != 0) {
      first.push_back(order[i]);
      counts.push_back(0);
    }
    ++counts.back();
    kind_of[static_cast<std::size_t>(order[i])] = std::ssize(first) - 1;
  }
  if (op.node.get_int("sorted", 1) == 0) {  // in the order of their first slices
    std::vector<std::size_t> kinds(first.size());
    std::iota(kinds.begin(), kinds.end(), std::size_t{0});
    std::ranges::sort(kinds, {}, [&](std::size_t kind) { return first[kind]; });
    std::vector<std::int64_t> new_first(first.size());
    std::vector<std::int64_t> new_counts(first.size());
    std::vector<std::int64_t> renamed(first.size());
    for (std::size_t i = 0; i < kinds.size(); ++i) {
      new_first[i] = first[kinds[i]];
      new_counts[i] = counts[kinds[i]];
      renamed[kinds[i]] = static_cast<std::int64_t>(i);
    }
    first = std::move(new_first);
    counts = std::move(new_counts);
    for (std::int64_t& kind : kind_of) kind = renamed[static_cast<std::size_t>(kind)];
  }
  Tensor values(in.dtype(), slices.shape_of_kinds(std::ssize(first)));
  const std::int64_t bytes = columns.inner * size_of(in.dtype());
  std::byte* out = values.data();
  StopPace pace;
  for (std::int64_t outer = 0; outer < columns.outer; ++outer) {
    for (const std::int64_t slice : first) {
      pace.step(columns.inner);
      out = std::copy_n(in.data() + (outer * columns.extent + slice) * bytes, bytes, out);
    }
  }
  std::vector<Tensor> results;
  results.push_back(std::move(values));
  for (const auto* list : {&first, &kind_of, &counts}) results.push_back(ints_tensor(*list));
  return results;
}

std::vector<Tensor> unique(const OpContext& op, const Slices& slices) {
  CompareSlices compare;
  with_type(NumberTypes{}, slices.in.dtype(), [&](auto element) {
    compare = compare_slices<decltype(element)>(slices.in, columns_of(slices.source, slices.axis));
  });
  return unique_slices(op, slices, compare);
}

std::vector<ValueInfo> infer_unique(const OpContext& op) {
  const Slices slices = slices_of(op);
  if (!slices.are_empty()) return infos_of(unique(op, slices));
  const std::int64_t kinds = std::min<std::int64_t>(1, slices.count());
  const std::int64_t kind_of = op.node.has_output(2) ? slices.count() : 0;
  return {{slices.in.dtype(), slices.shape_of_kinds(kinds)},
          {DType::kInt64, Shape{kinds}},
          {DType::kInt64, shape_of(op, {kind_of})},
          {DType::kInt64, Shape{kinds}}};
}

std::unique_ptr<Operator> make_unique_slices(const OpContext& op) {
  const Slices slices = slices_of(op);
  if (!slices.are_empty()) return make_copies(unique(op, slices));
  return make_operator([count = slices.count()](const Operands& o) {
    const auto fill = [&](std::size_t output, std::int64_t value) {
      if (!o.has_output(output)) return;
      std::fill_n(o.out<std::int64_t>(output), o.output(output).shape.elements(), value);
    };
    fill(1, 0);
    fill(2, 0);
    fill(3, count);
  });
}

}  // namespace

OpDef op_NonZero() { return {infer_nonzero, make_nonzero}; }
OpDef op_Unique() { return {infer_unique, make_unique_slices}; }
OpDef op_Compress() {
  return {[](const OpContext& op) {
            return std::vector<ValueInfo>{{op.input(0).dtype, compression_of(op).output}};
          },
          make_compress};
}

}  // namespace qtool

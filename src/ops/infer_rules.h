#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/check.h"
#include "base/text.h"
#include "ops/operator.h"

// Shared by the `infer` functions of the operators: checks that throw one sentence about the node,
// and the choice of the element type.
namespace qtool {

/// A list of element types an operator is written for.
template <typename... Ts>
struct TypeList {};
using FloatType = TypeList<float>;
using FloatingTypes = TypeList<float, double>;
using IntegerTypes = TypeList<std::int32_t, std::int64_t, std::int8_t, std::uint8_t, std::int16_t,
                              std::uint16_t, std::uint32_t, std::uint64_t>;
using NumberTypes = TypeList<float, std::int32_t, std::int64_t, double, std::int8_t, std::uint8_t,
                             std::int16_t, std::uint16_t, std::uint32_t, std::uint64_t>;
using IndexTypes = TypeList<std::int32_t, std::int64_t>;

void require_dtype_in(const OpContext& op, std::size_t input, std::initializer_list<DType> allowed);

/// Throws unless input `input` has one of the listed types.
template <typename... Ts>
void require_type(const OpContext& op, std::size_t input, TypeList<Ts...> /*types*/) {
  require_dtype_in(op, input, {dtype_of<Ts>()...});
}

/// Calls use(T{}) for the type T of the list that equals `dtype`; a QTOOL_CHECK fails when none
/// does.
template <typename... Ts, typename Use>
void with_type(TypeList<Ts...> /*types*/, DType dtype, const Use& use) {
  const bool found = ((dtype == dtype_of<Ts>() && (use(Ts{}), true)) || ...);
  QTOOL_CHECK(found);
}

/// The operator that `make(T{})` builds for the type T of the list that equals `dtype`.
template <typename Types, typename Make>
std::unique_ptr<Operator> make_for_type(Types types, DType dtype, const Make& make) {
  std::unique_ptr<Operator> made;
  with_type(types, dtype, [&](auto element) { made = make(element); });
  return made;
}

/// Throws unless inputs `a` and `b` have the same element type.
void require_same_type(const OpContext& op, std::size_t a, std::size_t b);

/// Throws unless the node has at most `most` outputs in use.
void require_outputs(const OpContext& op, std::size_t most);

/// Throws when the first of several outputs is left out; the others may be left out.
void require_first_output(const OpContext& op);

/// `axis` counted from the front; a negative one counts from the end. Throws when it is outside the
/// rank.
std::int64_t axis_of(const OpContext& op, std::int64_t axis, std::int64_t rank);

/// Axes counted from the front, ascending; throws when one occurs twice.
std::vector<std::int64_t> axes_of(const OpContext& op, std::vector<std::int64_t> axes,
                                  std::int64_t rank);

/// The integers of a constant int32 or int64 input of rank 0 or 1.
std::vector<std::int64_t> ints_of(const OpContext& op, std::size_t input, std::string_view what);

/// The shape with these extents; throws when one is negative or the tensor is absurdly large.
Shape shape_of(const OpContext& op, std::vector<std::int64_t> dims);

/// The shape both shapes are broadcast to by NumPy's rules.
Shape broadcast(const OpContext& op, const Shape& a, const Shape& b);

/// Type and shape of the concatenation of all inputs along the attribute `axis`; throws unless all
/// other extents are equal.
ValueInfo concatenated(const OpContext& op);

/// Throws unless `shape` can be broadcast to `target` without changing `target`.
void require_broadcastable(const OpContext& op, const Shape& shape, const Shape& target,
                           std::string_view what);

/// Throws unless input `input` holds one element.
void require_single(const OpContext& op, std::size_t input, std::string_view what);

}  // namespace qtool

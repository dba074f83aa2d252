// Operators on the bits of integers.
#include <limits>

#include "ops/elementwise.h"
#include "ops/operator.h"

namespace qtool {
namespace {

using UnsignedTypes = TypeList<std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t>;

template <typename Types>
std::vector<ValueInfo> infer_bits(const OpContext& op) {
  require_type(op, 0, Types{});
  require_same_type(op, 0, 1);
  return {{op.input(0).dtype, broadcast(op, op.input(0).shape, op.input(1).shape)}};
}

template <typename F>
OpDef bitwise_row(F /*f*/) {
  return {infer_bits<IntegerTypes>,
          [](const OpContext& op) {
            return make_for_type(IntegerTypes{}, op.input(0).dtype, [&](auto element) {
              using T = decltype(element);
              return make_binary<T, T, T>(op, [](T a, T b) { return static_cast<T>(F{}(a, b)); });
            });
          },
          LayoutRule::kAny};
}

bool shifts_left(const OpContext& op) {
  const std::string direction = op.node.get_string("direction", "");
  op.require(direction == "LEFT" || direction == "RIGHT",
             to_text("attribute 'direction' is '", direction, "', expected LEFT or RIGHT"));
  return direction == "LEFT";
}

// Bits that are shifted out of the type are lost. A distance of at least the width of the type
// gives 0.
template <typename T>
T shift(T value, T distance, bool left) {
  if (distance >= std::numeric_limits<T>::digits) return 0;
  const auto wide = static_cast<std::uint64_t>(value);
  return static_cast<T>(left ? wide << distance : wide >> distance);
}

}  // namespace

OpDef op_BitShift() {
  return {[](const OpContext& op) {
            static_cast<void>(shifts_left(op));
            return infer_bits<UnsignedTypes>(op);
          },
          [](const OpContext& op) {
            return make_for_type(UnsignedTypes{}, op.input(0).dtype, [&](auto element) {
              using T = decltype(element);
              return make_binary<T, T, T>(
                  op, [left = shifts_left(op)](T a, T b) { return shift(a, b, left); });
            });
          },
          LayoutRule::kAny};
}

OpDef op_BitwiseAnd() {
  return bitwise_row([](auto a, auto b) { return a & b; });
}
OpDef op_BitwiseOr() {
  return bitwise_row([](auto a, auto b) { return a | b; });
}
OpDef op_BitwiseXor() {
  return bitwise_row([](auto a, auto b) { return a ^ b; });
}
OpDef op_BitwiseNot() {
  return unary_row<IntegerTypes>(
      [](const OpContext&) { return [](auto x) { return static_cast<decltype(x)>(~x); }; });
}

}  // namespace qtool

#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "qtool/tensor/tensor.h"

// Conversions between element types, as Cast defines them.
namespace qtool {

/// Booleans are read as bytes: a model may store any byte for "true".
struct Bool {
  std::uint8_t byte;
};

template <typename T>
auto widen(T x) {
  if constexpr (std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>) {
    return to_float(x);
  } else if constexpr (std::is_same_v<T, Bool>) {
    return static_cast<std::int32_t>(x.byte != 0 ? 1 : 0);
  } else {
    return x;
  }
}

/// Converts one value. The ONNX specification leaves floats outside the range of an integer type
/// undefined; here they saturate, and NaN becomes 0.
template <typename To, typename From>
To convert(From raw) {
  const auto x = widen(raw);
  using Wide = decltype(x);
  if constexpr (std::is_same_v<To, Bool>) {
    return {static_cast<std::uint8_t>(x != 0 ? 1 : 0)};
  } else if constexpr (std::is_same_v<To, Float16>) {
    return to_float16(static_cast<float>(x));
  } else if constexpr (std::is_integral_v<To> &&
                       std::is_floating_point_v<std::remove_const_t<Wide>>) {
    if (std::isnan(x)) return To{0};
    // Both limits are compared as floats. The upper limit may round up by one as a float, hence >=.
    if (x <= static_cast<Wide>(std::numeric_limits<To>::min())) {
      return std::numeric_limits<To>::min();
    }
    if (x >= static_cast<Wide>(std::numeric_limits<To>::max())) {
      return std::numeric_limits<To>::max();
    }
    return static_cast<To>(x);
  } else {
    return static_cast<To>(x);
  }
}

/// Calls `use` with a value of the C++ type that stores `dtype`; false when Cast cannot handle it.
template <typename Use>
bool with_cast_type(DType dtype, const Use& use) {
  switch (dtype) {
    case DType::kFloat32:
      return use(float{}), true;
    case DType::kFloat64:
      return use(double{}), true;
    case DType::kFloat16:
      return use(Float16{}), true;
    case DType::kInt8:
      return use(std::int8_t{}), true;
    case DType::kUInt8:
      return use(std::uint8_t{}), true;
    case DType::kInt16:
      return use(std::int16_t{}), true;
    case DType::kUInt16:
      return use(std::uint16_t{}), true;
    case DType::kInt32:
      return use(std::int32_t{}), true;
    case DType::kUInt32:
      return use(std::uint32_t{}), true;
    case DType::kUInt64:
      return use(std::uint64_t{}), true;
    case DType::kInt64:
      return use(std::int64_t{}), true;
    case DType::kBool:
      return use(Bool{}), true;
    default:
      return false;
  }
}

}  // namespace qtool

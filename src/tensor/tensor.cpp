#include "qtool/tensor/tensor.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <new>

#include "base/check.h"
#include "base/memory.h"
#include "base/round_up.h"
#include "base/text.h"
#include "qtool/base/error.h"

namespace qtool {
namespace {

void require_dtype(const Shape& shape, DType found, DType expected) {
  if (found == expected) return;
  throw Error(ErrorCode::kInvalidArgument,
              to_text("tensor ", shape.to_string(), ": found ", name_of(found), ", expected ",
                      name_of(expected)));
}

constexpr std::int64_t kMaxElements = std::int64_t{1} << 40;

struct DTypeRow {
  std::int64_t bytes;
  std::string_view name;
};

constexpr DTypeRow kDTypes[] = {
    {4, "float32"}, {2, "float16"}, {2, "bfloat16"}, {8, "float64"}, {1, "int8"},
    {1, "uint8"},   {2, "int16"},   {2, "uint16"},   {4, "int32"},   {4, "uint32"},
    {8, "int64"},   {8, "uint64"},  {1, "bool"},
};

const DTypeRow& row_of(DType dtype) noexcept { return kDTypes[static_cast<std::size_t>(dtype)]; }

// Calls `use` with a span of the tensor's own element type.
template <typename Use>
void visit(const Tensor& tensor, const Use& use) {
  switch (tensor.dtype()) {
    case DType::kFloat32:
      return use(tensor.values<float>());
    case DType::kFloat16:
      return use(tensor.values<Float16>());
    case DType::kBFloat16:
      return use(tensor.values<BFloat16>());
    case DType::kFloat64:
      return use(tensor.values<double>());
    case DType::kInt8:
      return use(tensor.values<std::int8_t>());
    case DType::kUInt8:
      return use(tensor.values<std::uint8_t>());
    case DType::kInt16:
      return use(tensor.values<std::int16_t>());
    case DType::kUInt16:
      return use(tensor.values<std::uint16_t>());
    case DType::kInt32:
      return use(tensor.values<std::int32_t>());
    case DType::kUInt32:
      return use(tensor.values<std::uint32_t>());
    case DType::kInt64:
      return use(tensor.values<std::int64_t>());
    case DType::kUInt64:
      return use(tensor.values<std::uint64_t>());
    case DType::kBool:
      return use(tensor.values<bool>());
  }
  QTOOL_CHECK(false);
}

}  // namespace

std::int64_t size_of(DType dtype) noexcept { return row_of(dtype).bytes; }
std::string_view name_of(DType dtype) noexcept { return row_of(dtype).name; }
bool is_float(DType dtype) noexcept {
  return dtype == DType::kFloat32 || dtype == DType::kFloat16 || dtype == DType::kBFloat16 ||
         dtype == DType::kFloat64;
}

float to_float(Float16 half) noexcept {
  const auto bits = static_cast<std::uint32_t>(half);
  const std::uint32_t sign = (bits & 0x8000U) << 16U;
  const std::uint32_t exponent = (bits >> 10U) & 0x1fU;
  const std::uint32_t mantissa = bits & 0x3ffU;
  if (exponent == 0) {  // zero or subnormal: mantissa times 2^-24, exact in float
    const float magnitude = std::ldexp(static_cast<float>(mantissa), -24);
    return sign != 0 ? -magnitude : magnitude;
  }
  const std::uint32_t wide = exponent == 31 ? 255U : exponent + 112U;
  return std::bit_cast<float>(sign | (wide << 23U) | (mantissa << 13U));
}

float to_float(BFloat16 half) noexcept {
  return std::bit_cast<float>(static_cast<std::uint32_t>(half) << 16U);
}

Float16 to_float16(float value) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits >> 16U) & 0x8000U;
  const std::uint32_t magnitude = bits & 0x7fffffffU;
  if (magnitude > 0x7f800000U) return static_cast<Float16>(sign | 0x7e00U);
  if (magnitude >= 0x477ff000U) return static_cast<Float16>(sign | 0x7c00U);  // rounds past 65504
  if (magnitude < 0x38800000U) {  // subnormal half: the grid of 2^-24
    const float scaled = std::ldexp(std::bit_cast<float>(magnitude), 24);
    return static_cast<Float16>(sign | static_cast<std::uint32_t>(std::nearbyint(scaled)));
  }
  const std::uint32_t rounded = magnitude + 0xfffU + ((magnitude >> 13U) & 1U);
  return static_cast<Float16>(sign | ((rounded - 0x38000000U) >> 13U));
}

Shape::Shape(std::vector<std::int64_t> dims) : dims_(std::move(dims)) {
  for (const std::int64_t dim : dims_) {
    if (dim < 0) {
      throw Error(ErrorCode::kInvalidArgument,
                  to_text("shape ", to_string(), ": found a negative extent"));
    }
  }
}

std::int64_t Shape::elements() const {
  if (std::find(dims_.begin(), dims_.end(), 0) != dims_.end()) return 0;
  std::int64_t product = 1;
  for (const std::int64_t dim : dims_) {
    if (product > kMaxElements / dim) {
      throw Error(ErrorCode::kInvalidArgument,
                  to_text("shape ", to_string(), ": more than ", kMaxElements, " elements"));
    }
    product *= dim;
  }
  return product;
}

std::string Shape::to_string() const {
  std::string text = "[";
  for (std::size_t axis = 0; axis < dims_.size(); ++axis) {
    text += to_text(axis == 0 ? "" : ", ", dims_[axis]);
  }
  return text + "]";
}

std::int64_t normalize_axis(std::int64_t axis, std::int64_t rank, std::string_view what) {
  if (axis < -rank || axis >= rank) {
    throw Error(ErrorCode::kInvalidArgument,
                to_text(what, ": axis ", axis, " is outside a tensor of rank ", rank));
  }
  return axis < 0 ? axis + rank : axis;
}

namespace {

/// Whole cache lines, so that vector loads of the last line stay inside the allocation.
std::int64_t allocated_bytes(std::int64_t bytes) { return align_up(bytes); }

std::byte* allocated(const Shape& shape, std::int64_t size) {
  void* memory =
      ::operator new[](static_cast<std::size_t>(size), std::align_val_t{kAlignment}, std::nothrow);
  if (memory == nullptr) {
    throw Error(ErrorCode::kInvalidArgument,
                to_text("tensor ", shape.to_string(), ": cannot allocate ", size, " bytes"));
  }
  populate(memory, size);
  return static_cast<std::byte*>(memory);
}

}  // namespace

void Tensor::Release::operator()(std::byte* data) const noexcept {
  ::operator delete[](data, std::align_val_t{kAlignment});
}

Tensor::Tensor(DType dtype, Shape shape) : dtype_(dtype), shape_(std::move(shape)) {
  elements_ = shape_.elements();
  const std::int64_t size = allocated_bytes(bytes());
  if (size == 0) return;
  data_.reset(allocated(shape_, size));
  std::memset(data_.get(), 0, static_cast<std::size_t>(size));
}

Tensor Tensor::clone() const {
  Tensor copy;
  copy.dtype_ = dtype_;
  copy.shape_ = shape_;
  copy.elements_ = elements_;
  const std::int64_t size = allocated_bytes(bytes());
  if (size == 0) return copy;
  copy.data_.reset(allocated(shape_, size));
  std::memcpy(copy.data(), data(),
              static_cast<std::size_t>(size));  // with the end of the last line
  return copy;
}

Tensor Tensor::reshaped(Shape shape) && {
  if (shape.elements() != elements_) {
    throw Error(ErrorCode::kInvalidArgument,
                to_text("cannot view shape ", shape_.to_string(), " as ", shape.to_string()));
  }
  shape_ = std::move(shape);
  return std::move(*this);
}

void Tensor::require(DType dtype) const { require_dtype(shape_, dtype_, dtype); }
void TensorView::require(DType wanted) const { require_dtype(shape, dtype, wanted); }

Tensor to_float32(const Tensor& tensor) {
  Tensor result(DType::kFloat32, tensor.shape());
  const std::span<float> out = result.values<float>();
  visit(tensor, [&](auto values) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      using T = std::remove_const_t<typename decltype(values)::element_type>;
      if constexpr (std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>) {
        out[i] = to_float(values[i]);
      } else {
        out[i] = static_cast<float>(values[i]);
      }
    }
  });
  return result;
}

std::vector<std::int64_t> to_int64s(const Tensor& tensor) {
  std::vector<std::int64_t> out;
  out.reserve(static_cast<std::size_t>(tensor.elements()));
  visit(tensor, [&](auto values) {
    using T = std::remove_const_t<typename decltype(values)::element_type>;
    if constexpr (std::is_integral_v<T>) {
      for (const T value : values) out.push_back(static_cast<std::int64_t>(value));
    } else {
      throw Error(ErrorCode::kInvalidArgument,
                  to_text("tensor ", tensor.shape().to_string(), ": found ",
                          name_of(tensor.dtype()), ", expected an integer type"));
    }
  });
  return out;
}

bool identical(const Tensor& a, const Tensor& b) noexcept {
  return a.dtype() == b.dtype() && a.shape() == b.shape() &&
         (a.bytes() == 0 ||
          std::memcmp(a.data(), b.data(), static_cast<std::size_t>(a.bytes())) == 0);
}

Tensor to_tensor(const TensorView& view) {
  Tensor result(view.dtype, view.shape);
  if (result.bytes() == 0) return result;
  if (view.layout == Layout::kPlain) {
    std::memcpy(result.data(), view.data, static_cast<std::size_t>(result.bytes()));
    return result;
  }
  QTOOL_CHECK(view.shape.rank() == 4);
  const auto size = static_cast<std::size_t>(size_of(view.dtype));
  const std::int64_t channels = view.shape[1];
  const std::int64_t pixels = view.shape[2] * view.shape[3];
  std::byte* out = result.data();
  for (std::int64_t n = 0; n < view.shape[0]; ++n) {
    for (std::int64_t c = 0; c < channels; ++c) {
      const std::byte* in = view.data + static_cast<std::size_t>(n * pixels * channels + c) * size;
      for (std::int64_t p = 0; p < pixels; ++p) {
        std::memcpy(out, in, size);
        out += size;
        in += static_cast<std::size_t>(channels) * size;
      }
    }
  }
  return result;
}

}  // namespace qtool

#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace qtool {

/// Element types of ONNX that qtool stores.
enum class DType : std::uint8_t {
  kFloat32,
  kFloat16,
  kBFloat16,
  kFloat64,
  kInt8,
  kUInt8,
  kInt16,
  kUInt16,
  kInt32,
  kUInt32,
  kInt64,
  kUInt64,
  kBool,
};

/// Bytes of one element.
std::int64_t size_of(DType dtype) noexcept;
/// The name ONNX documents: `float32`, `uint8`, ...
std::string_view name_of(DType dtype) noexcept;
/// Whether values of this type are floating-point numbers, of any width.
bool is_float(DType dtype) noexcept;

/// A float16 or bfloat16 bit pattern; values are converted to and from float32, and nothing is
/// computed in these types.
enum class Float16 : std::uint16_t {};
enum class BFloat16 : std::uint16_t {};
float to_float(Float16 half) noexcept;
float to_float(BFloat16 half) noexcept;
Float16 to_float16(float value) noexcept;  ///< nearest, ties to even; overflow gives infinity

/// The DType of a C++ element type.
template <typename T>
constexpr DType dtype_of() {
  if constexpr (std::is_same_v<T, float>)
    return DType::kFloat32;
  else if constexpr (std::is_same_v<T, Float16>)
    return DType::kFloat16;
  else if constexpr (std::is_same_v<T, BFloat16>)
    return DType::kBFloat16;
  else if constexpr (std::is_same_v<T, double>)
    return DType::kFloat64;
  else if constexpr (std::is_same_v<T, std::int8_t>)
    return DType::kInt8;
  else if constexpr (std::is_same_v<T, std::uint8_t>)
    return DType::kUInt8;
  else if constexpr (std::is_same_v<T, std::int16_t>)
    return DType::kInt16;
  else if constexpr (std::is_same_v<T, std::uint16_t>)
    return DType::kUInt16;
  else if constexpr (std::is_same_v<T, std::int32_t>)
    return DType::kInt32;
  else if constexpr (std::is_same_v<T, std::uint32_t>)
    return DType::kUInt32;
  else if constexpr (std::is_same_v<T, std::int64_t>)
    return DType::kInt64;
  else if constexpr (std::is_same_v<T, std::uint64_t>)
    return DType::kUInt64;
  else {
    static_assert(std::is_same_v<T, bool>, "no DType stores this type");
    return DType::kBool;
  }
}

/// Extents of a tensor, outermost axis first; rank 0 is a scalar. Every extent is >= 0.
class Shape {
 public:
  Shape() = default;
  Shape(std::initializer_list<std::int64_t> dims) : Shape(std::vector<std::int64_t>(dims)) {}
  /// Throws Error(kInvalidArgument) when an extent is negative.
  explicit Shape(std::vector<std::int64_t> dims);

  [[nodiscard]] std::int64_t rank() const noexcept {
    return static_cast<std::int64_t>(dims_.size());
  }
  [[nodiscard]] std::int64_t operator[](std::int64_t axis) const {
    return dims_[static_cast<std::size_t>(axis)];
  }
  [[nodiscard]] const std::vector<std::int64_t>& dims() const noexcept { return dims_; }

  /// Product of the extents. Throws Error(kInvalidArgument) above 2^40 elements: no tensor of a
  /// real model is larger, and products of accepted extents then never overflow.
  [[nodiscard]] std::int64_t elements() const;

  [[nodiscard]] std::string to_string() const;  ///< `[1, 3, 224, 224]`

  friend bool operator==(const Shape&, const Shape&) = default;

 private:
  std::vector<std::int64_t> dims_;
};

/// Returns `axis` counted from the front. Throws Error(kInvalidArgument) when it is outside [-rank,
/// rank).
std::int64_t normalize_axis(std::int64_t axis, std::int64_t rank, std::string_view what);

/// An owning dense row-major array, 64-byte aligned, initialized to zero. Move-only: clone() makes
/// a copy explicit.
class Tensor {
 public:
  Tensor() = default;  ///< float32, one extent of 0
  Tensor(DType dtype, Shape shape);
  template <typename T>
  static Tensor of(Shape shape, std::span<const T> values);
  template <typename T>
  static Tensor of(Shape shape, std::initializer_list<T> values) {
    return of<T>(std::move(shape), std::span<const T>(values.begin(), values.size()));
  }
  template <typename T>
  static Tensor scalar(T value) {
    return of<T>({}, {value});
  }

  Tensor(Tensor&&) noexcept = default;
  Tensor& operator=(Tensor&&) noexcept = default;
  Tensor(const Tensor&) = delete;
  Tensor& operator=(const Tensor&) = delete;
  ~Tensor() = default;

  [[nodiscard]] Tensor clone() const;
  /// The elements of this tensor under another shape. Throws Error(kInvalidArgument) when the
  /// number of elements differs.
  [[nodiscard]] Tensor reshaped(Shape shape) &&;

  [[nodiscard]] DType dtype() const noexcept { return dtype_; }
  [[nodiscard]] const Shape& shape() const noexcept { return shape_; }
  [[nodiscard]] std::int64_t elements() const noexcept { return elements_; }
  [[nodiscard]] std::int64_t bytes() const noexcept { return elements_ * size_of(dtype_); }
  // A temporary gives out no pointer and no span: they would dangle.
  [[nodiscard]] std::byte* data() & noexcept { return data_.get(); }
  [[nodiscard]] const std::byte* data() const& noexcept { return data_.get(); }
  const std::byte* data() const&& = delete;

  /// The elements, row-major. Throws Error(kInvalidArgument) when T is not the element type.
  template <typename T>
  [[nodiscard]] std::span<T> values() & {
    require(dtype_of<T>());
    return {reinterpret_cast<T*>(data_.get()), static_cast<std::size_t>(elements_)};
  }
  template <typename T>
  [[nodiscard]] std::span<const T> values() const& {
    require(dtype_of<T>());
    return {reinterpret_cast<const T*>(data_.get()), static_cast<std::size_t>(elements_)};
  }
  template <typename T>
  std::span<const T> values() const&& = delete;

 private:
  struct Release {
    void operator()(std::byte* data) const noexcept;
  };
  void require(DType dtype) const;

  DType dtype_ = DType::kFloat32;
  Shape shape_{0};
  std::int64_t elements_ = 0;
  std::unique_ptr<std::byte[], Release> data_;
};

template <typename T>
Tensor Tensor::of(Shape shape, std::span<const T> values) {
  Tensor tensor(dtype_of<T>(), std::move(shape));
  const std::span<T> target = tensor.values<T>();
  if (target.size() != values.size()) {
    tensor = std::move(tensor).reshaped(Shape{static_cast<std::int64_t>(values.size())});
  }
  for (std::size_t i = 0; i < values.size(); ++i) target[i] = values[i];
  return tensor;
}

/// A copy of any numeric tensor as float32 (float16 weights, integer constants).
Tensor to_float32(const Tensor& tensor);
/// The values of an integer tensor (int32, int64, ...). Throws Error(kInvalidArgument) for floats.
std::vector<std::int64_t> to_int64s(const Tensor& tensor);
/// Whether type, shape and bytes are equal.
bool identical(const Tensor& a, const Tensor& b) noexcept;

/// The order of the elements of a rank-4 array in memory: N, C, H, W as in ONNX, or N, H, W, C. The
/// shape of the array always lists N, C, H, W.
enum class Layout : std::uint8_t { kPlain, kChannelsLast };

/// A read-only view of elements owned elsewhere, with the shape in ONNX's axis order.
struct TensorView {
  const std::byte* data = nullptr;
  DType dtype = DType::kFloat32;
  Shape shape;
  Layout layout = Layout::kPlain;

  TensorView() = default;
  TensorView(const std::byte* data_, DType dtype_, Shape shape_, Layout layout_ = Layout::kPlain)
      : data(data_), dtype(dtype_), shape(std::move(shape_)), layout(layout_) {}
  // A tensor converts to a view implicitly, unless it is a temporary, which would end before the
  // view.
  TensorView(const Tensor& tensor)  // NOLINT(google-explicit-constructor)
      : data(tensor.data()), dtype(tensor.dtype()), shape(tensor.shape()) {}
  TensorView(Tensor&&) = delete;  // NOLINT(google-explicit-constructor)

  /// Throws Error(kInvalidArgument) when the elements have another type.
  template <typename T>
  [[nodiscard]] std::span<const T> values() const {
    require(dtype_of<T>());
    return {reinterpret_cast<const T*>(data), static_cast<std::size_t>(shape.elements())};
  }

 private:
  void require(DType wanted) const;
};

/// Copies the viewed elements into an owning tensor, in ONNX's element order.
Tensor to_tensor(const TensorView& view);

}  // namespace qtool

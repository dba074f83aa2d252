#include "graph/onnx/tensor.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/text.h"
#include "graph/onnx/dtype.h"
#include "graph/rank.h"
#include "qtool/base/error.h"
#include "qtool/graph/onnx.h"

namespace qtool {
namespace {

static_assert(std::endian::native == std::endian::little,
              "raw_data is little-endian and copied as it is");

using onnx::TensorProto;

// Values of TensorProto.DataType since ONNX 1.16. The ONNX library that qtool is built with is
// older.
constexpr std::int32_t kUInt4 = 21;
constexpr std::int32_t kInt4 = 22;

[[noreturn]] void refuse_tensor(std::string_view what, std::string_view message,
                                ErrorCode code = ErrorCode::kInvalidModel) {
  throw Error(code, to_text(what, ": ", message));
}

Shape read_shape(const TensorProto& proto, std::string_view what) {
  if (proto.dims_size() > kMaxRank) {
    refuse_tensor(what, too_many_axes(proto.dims_size()), ErrorCode::kUnsupported);
  }
  std::vector<std::int64_t> dims(proto.dims().begin(), proto.dims().end());
  try {
    Shape shape(std::move(dims));
    static_cast<void>(shape.elements());
    return shape;
  } catch (const Error& error) {
    refuse_tensor(what, error.what());
  }
}

// Copies a typed field whose entries are at least as wide as the tensor's elements.
template <typename To, typename Field>
void copy_field(const Field& field, std::string_view what, Tensor& out) {
  const std::span<To> target = out.values<To>();
  for (std::size_t i = 0; i < target.size(); ++i) {
    const auto value = field.Get(static_cast<int>(i));
    if constexpr (std::is_integral_v<To>) {
      if (!std::in_range<To>(value)) {
        refuse_tensor(what,
                      to_text("found the value ", value, " in a tensor of ", name_of(out.dtype())));
      }
    }
    target[i] = static_cast<To>(value);
  }
}

// float16 and bfloat16 are kept as bit patterns in int32_data.
template <typename To>
void copy_bits(const TensorProto& proto, std::string_view what, Tensor& out) {
  const std::span<To> target = out.values<To>();
  for (std::size_t i = 0; i < target.size(); ++i) {
    const std::int32_t value = proto.int32_data(static_cast<int>(i));
    if (!std::in_range<std::uint16_t>(value)) {
      refuse_tensor(what,
                    to_text("found the bits ", value, " in a tensor of ", name_of(out.dtype())));
    }
    target[i] = static_cast<To>(value);
  }
}

std::int64_t typed_count(const TensorProto& proto, DType dtype) {
  switch (dtype) {
    case DType::kFloat32:
      return proto.float_data_size();
    case DType::kFloat64:
      return proto.double_data_size();
    case DType::kInt64:
      return proto.int64_data_size();
    case DType::kUInt32:
    case DType::kUInt64:
      return proto.uint64_data_size();
    default:
      return proto.int32_data_size();
  }
}

void read_typed(const TensorProto& proto, std::string_view what, Tensor& out) {
  switch (out.dtype()) {
    case DType::kFloat32:
      return copy_field<float>(proto.float_data(), what, out);
    case DType::kFloat64:
      return copy_field<double>(proto.double_data(), what, out);
    case DType::kInt64:
      return copy_field<std::int64_t>(proto.int64_data(), what, out);
    case DType::kUInt64:
      return copy_field<std::uint64_t>(proto.uint64_data(), what, out);
    case DType::kUInt32:
      return copy_field<std::uint32_t>(proto.uint64_data(), what, out);
    case DType::kInt32:
      return copy_field<std::int32_t>(proto.int32_data(), what, out);
    case DType::kInt16:
      return copy_field<std::int16_t>(proto.int32_data(), what, out);
    case DType::kUInt16:
      return copy_field<std::uint16_t>(proto.int32_data(), what, out);
    case DType::kInt8:
      return copy_field<std::int8_t>(proto.int32_data(), what, out);
    case DType::kUInt8:
      return copy_field<std::uint8_t>(proto.int32_data(), what, out);
    case DType::kFloat16:
      return copy_bits<Float16>(proto, what, out);
    case DType::kBFloat16:
      return copy_bits<BFloat16>(proto, what, out);
    case DType::kBool: {
      const std::span<bool> target = out.values<bool>();
      for (std::size_t i = 0; i < target.size(); ++i) {
        target[i] = proto.int32_data(static_cast<int>(i)) != 0;
      }
      return;
    }
  }
  QTOOL_CHECK(false);
}

// A bool of C++ must be 0 or 1, so every other byte becomes 1.
void normalize_bools(Tensor& tensor) {
  if (tensor.dtype() != DType::kBool) return;
  auto* bytes = reinterpret_cast<std::uint8_t*>(tensor.data());
  for (std::int64_t i = 0; i < tensor.elements(); ++i) bytes[i] = bytes[i] != 0 ? 1 : 0;
}

}  // namespace

Tensor TensorReader::read(const TensorProto& proto, std::string_view what) {
  if (proto.data_type() == TensorProto::STRING) {
    refuse_tensor(what, "holds strings, which are not supported", ErrorCode::kUnsupported);
  }
  if (holds_4_bits(proto)) return read_4_bits(proto, what);
  const std::optional<DType> dtype = dtype_of_onnx(proto.data_type());
  if (!dtype) {
    refuse_tensor(
        what, to_text("has element type ", proto.data_type(), " of ONNX, which is not supported"),
        ErrorCode::kUnsupported);
  }
  return read_as(proto, what, *dtype, read_shape(proto, what));
}

// Source: ONNX TensorProto: the first of two integers lies in the lower bits of a byte.
Tensor TensorReader::read_4_bits(const TensorProto& proto, std::string_view what) {
  Shape shape = read_shape(proto, what);
  const std::int64_t elements = shape.elements();
  const Tensor packed = read_as(proto, what, DType::kUInt8, {(elements + 1) / 2});
  const auto bytes = packed.values<std::uint8_t>();
  const bool is_signed = proto.data_type() == kInt4;
  Tensor out(is_signed ? DType::kInt8 : DType::kUInt8, std::move(shape));
  for (std::int64_t i = 0; i < elements; ++i) {
    const int half = bytes[static_cast<std::size_t>(i / 2)] >> (i % 2 * 4) & 15;
    out.data()[i] = static_cast<std::byte>(is_signed && half > 7 ? half - 16 : half);
  }
  return out;
}

Tensor TensorReader::read_as(const TensorProto& proto, std::string_view what, DType dtype,
                             Shape shape) {
  if (proto.has_segment()) refuse_tensor(what, "is split into segments", ErrorCode::kUnsupported);
  const std::int64_t elements = shape.elements();
  const std::int64_t bytes = elements * size_of(dtype);

  if (proto.data_location() == TensorProto::EXTERNAL) {
    Tensor out = external_.read(proto, what, dtype, std::move(shape));
    normalize_bools(out);
    return out;
  }
  if (!proto.raw_data().empty()) {
    if (static_cast<std::int64_t>(proto.raw_data().size()) != bytes) {
      refuse_tensor(what, to_text("found ", proto.raw_data().size(), " bytes, expected ", bytes,
                                  " for shape ", shape.to_string(), " of ", name_of(dtype)));
    }
    Tensor out(dtype, std::move(shape));
    std::memcpy(out.data(), proto.raw_data().data(), static_cast<std::size_t>(bytes));
    normalize_bools(out);
    return out;
  }
  if (typed_count(proto, dtype) != elements) {
    refuse_tensor(what, to_text("found ", typed_count(proto, dtype), " values, expected ", elements,
                                " for shape ", shape.to_string(), " of ", name_of(dtype)));
  }
  Tensor out(dtype, std::move(shape));
  if (elements > 0) read_typed(proto, what, out);
  return out;
}

Tensor read_tensor_proto(std::string_view bytes, std::string_view what) try {
  TensorProto proto;
  if (std::ssize(bytes) > std::numeric_limits<std::int32_t>::max() ||
      !proto.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    refuse_tensor(what, "is not a TensorProto of ONNX");
  }
  if (proto.data_location() == TensorProto::EXTERNAL) {
    refuse_tensor(what, "keeps its data in another file", ErrorCode::kUnsupported);
  }
  return TensorReader({}).read(proto, what);
} catch (const Error& error) {
  if (error.code() != ErrorCode::kInvalidModel) throw;
  throw Error(ErrorCode::kInvalidArgument, error.what());
}

bool holds_4_bits(const TensorProto& proto) {
  return proto.data_type() == kUInt4 || proto.data_type() == kInt4;
}

void write_4_bits(const Tensor& tensor, TensorProto& proto) {
  proto.set_data_type(tensor.dtype() == DType::kInt8 ? kInt4 : kUInt4);
  for (const std::int64_t extent : tensor.shape().dims()) proto.add_dims(extent);
  std::string packed(static_cast<std::size_t>((tensor.elements() + 1) / 2), '\0');
  for (std::int64_t i = 0; i < tensor.elements(); ++i) {
    const int half = std::to_integer<int>(tensor.data()[i]) & 15;
    char& byte = packed[static_cast<std::size_t>(i / 2)];
    byte = static_cast<char>(static_cast<unsigned char>(byte) | half << (i % 2 * 4));
  }
  proto.set_raw_data(std::move(packed));
}

void write_tensor(const Tensor& tensor, TensorProto& proto) {
  proto.set_data_type(onnx_of_dtype(tensor.dtype()));
  for (const std::int64_t extent : tensor.shape().dims()) proto.add_dims(extent);
  proto.set_raw_data(tensor.data(), static_cast<std::size_t>(tensor.bytes()));
}

}  // namespace qtool

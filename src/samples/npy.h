#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "qtool/tensor/tensor.h"
#include "samples/byte_source.h"

namespace qtool {

/// The order of the elements of an array in a file.
enum class AxisOrder : std::uint8_t { kRowMajor, kColumnMajor };

/// The facts about an array that are known before its elements are read.
struct ArrayHeader {
  DType dtype = DType::kFloat32;
  Shape shape;
  AxisOrder order = AxisOrder::kRowMajor;
  std::int64_t data_offset = 0;  ///< bytes before the first element
};

/// The header of an .npy file of format 1.0 to 3.0. `what` names the file in messages. The size
/// that the header states is compared with the number of bytes in the file. Throws
/// Error(kInvalidArgument) for bytes that are not such a file, and Error(kUnsupported) for element
/// types other than ONNX's and for big-endian elements. Source: NumPy's format documentation
/// (numpy.lib.format).
ArrayHeader read_npy_header(ByteSource& bytes, std::string_view what);

/// The bytes of an .npy file of format 1.0 with `tensor`: little-endian, in C order, with the
/// elements at a multiple of 64 bytes. NumPy has no bfloat16, so bfloat16 elements are written as
/// float32, which represents them exactly. Throws Error(kUnsupported) for more than 32 axes. Cost:
/// one copy of the elements. Source: NumPy's format documentation (numpy.lib.format).
std::string npy_bytes(const Tensor& tensor);

}  // namespace qtool

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "qtool/tensor/tensor.h"
#include "samples/byte_source.h"

namespace qtool {

/// How the elements of an array lie in a file.
enum class AxisOrder : std::uint8_t { kRowMajor, kColumnMajor };

/// What is known of an array before its elements are read.
struct ArrayHeader {
  DType dtype = DType::kFloat32;
  Shape shape;
  AxisOrder order = AxisOrder::kRowMajor;
  std::int64_t data_offset = 0;  ///< bytes before the first element
};

/// The header of an .npy file of format 1.0 to 3.0. `what` names the file in messages. What the
/// header says is compared with the number of bytes that are there. Throws Error(kInvalidArgument)
/// for bytes that are no such file, Error(kUnsupported) for element types other than ONNX's and
/// for big-endian ones. Source: NumPy's format documentation (numpy.lib.format).
ArrayHeader read_npy_header(ByteSource& bytes, std::string_view what);

/// `tensor` as an .npy file of format 1.0: little-endian, in C order, elements at a multiple of 64
/// bytes. NumPy has no bfloat16: these elements are written as float32, which holds each of them
/// exactly. Throws Error(kUnsupported) for more axes than NumPy has. Cost: one copy of the
/// elements. Source: NumPy's format documentation (numpy.lib.format).
std::string npy_bytes(const Tensor& tensor);

}  // namespace qtool

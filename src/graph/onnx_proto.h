#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string_view>

// The variant of ONNX's message classes that Debian's library is built with.
#ifndef ONNX_NAMESPACE
#define ONNX_NAMESPACE onnx
#endif
#ifndef ONNX_ML
#define ONNX_ML 1
#endif

// Only files named onnx_*.cpp include this header: protobuf stays in them.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wall"
#pragma GCC diagnostic ignored "-Wextra"
#pragma GCC diagnostic ignored "-Wpedantic"
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wold-style-cast"
#include <onnx/onnx_pb.h>
#pragma GCC diagnostic pop

#include "qtool/tensor/tensor.h"

namespace qtool {

/// Converts TensorProtos of one model; knows where their external data lies.
class TensorReader {
 public:
  explicit TensorReader(std::filesystem::path folder) : folder_(std::move(folder)) {}

  /// `what` names the tensor in messages. Throws Error(kInvalidModel) when the bytes present do
  /// not fill the shape, before memory is taken; Error(kUnsupported) for types qtool lacks.
  Tensor read(const onnx::TensorProto& proto, std::string_view what);

  /// The files that external data were read from.
  [[nodiscard]] const std::set<std::filesystem::path>& data_files() const { return data_files_; }

 private:
  Tensor read_external(const onnx::TensorProto& proto, std::string_view what, DType dtype,
                       Shape shape);

  std::filesystem::path folder_;
  std::int64_t external_bytes_ = 0;
  std::set<std::filesystem::path> data_files_;
};

void write_tensor(const Tensor& tensor, onnx::TensorProto& proto);

}  // namespace qtool

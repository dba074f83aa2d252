#pragma once

#include <cstdint>
#include <filesystem>
#include <set>
#include <string_view>

#include "graph/onnx_proto.h"
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

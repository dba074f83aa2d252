#pragma once

#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <string_view>

#include "graph/onnx/external_data.h"
#include "graph/onnx/proto.h"
#include "qtool/tensor/tensor.h"

namespace qtool {

/// Converts TensorProtos of one model; knows where their external data lies.
class TensorReader {
 public:
  explicit TensorReader(std::filesystem::path folder) : external_(std::move(folder)) {}
  /// For external data in memory: `data` is the content of the only external file, which is called
  /// `name`.
  TensorReader(std::string_view name, std::string_view data) : external_(name, data) {}

  /// `what` names the tensor in messages. Throws Error(kInvalidModel) when the bytes do not fill
  /// the shape, before memory is allocated, and Error(kUnsupported) for types that qtool does not
  /// have. Integers of 4 bits become int8 or uint8.
  Tensor read(const onnx::TensorProto& proto, std::string_view what);

  /// The files that external data were read from.
  [[nodiscard]] const std::set<std::filesystem::path>& data_files() const {
    return external_.files();
  }

 private:
  Tensor read_4_bits(const onnx::TensorProto& proto, std::string_view what);
  Tensor read_as(const onnx::TensorProto& proto, std::string_view what, DType dtype, Shape shape);

  ExternalDataReader external_;
};

/// Whether the elements of a tensor are int4 or uint4. Two such elements share a byte.
bool holds_4_bits(const onnx::TensorProto& proto);

void write_tensor(const Tensor& tensor, onnx::TensorProto& proto);

/// Writes int8 as int4 and uint8 as uint4. The values must fit.
void write_4_bits(const Tensor& tensor, onnx::TensorProto& proto);

}  // namespace qtool

#pragma once

#include <cstdint>
#include <string>

#include "graph/onnx/proto.h"

namespace qtool {

/// Assigns positions to tensors in the second file of a model. It only counts bytes, so that files
/// larger than the memory can be laid out.
class DataLayout {
 public:
  /// Reserves `bytes` bytes and returns the position where they begin.
  std::int64_t place(std::int64_t bytes);
  [[nodiscard]] std::int64_t size() const { return size_; }

 private:
  std::int64_t size_ = 0;
};

/// The second file of a model while the model is written.
class DataFile {
 public:
  explicit DataFile(std::string name) : name_(std::move(name)) {}

  /// Moves the raw data of a tensor into this file if they have at least kMinDataBytes.
  void take(onnx::TensorProto& tensor);
  std::string bytes() && { return std::move(bytes_); }

 private:
  std::string name_;
  DataLayout layout_;
  std::string bytes_;
};

}  // namespace qtool

#pragma once

#include <cstdint>
#include <string>

#include "graph/onnx/proto.h"

namespace qtool {

/// Positions of tensors in the second file of a model. Counts only, so that files beyond any
/// memory can be laid out.
class DataLayout {
 public:
  /// Where the next `bytes` begin.
  std::int64_t place(std::int64_t bytes);
  [[nodiscard]] std::int64_t size() const { return size_; }

 private:
  std::int64_t size_ = 0;
};

/// The second file of a model while that is written.
class DataFile {
 public:
  explicit DataFile(std::string name) : name_(std::move(name)) {}

  /// Moves the raw data of a tensor here, where they are worth it.
  void take(onnx::TensorProto& tensor);
  std::string bytes() && { return std::move(bytes_); }

 private:
  std::string name_;
  DataLayout layout_;
  std::string bytes_;
};

}  // namespace qtool

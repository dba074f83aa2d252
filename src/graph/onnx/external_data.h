#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "graph/onnx/proto.h"
#include "qtool/tensor/tensor.h"

namespace qtool {

/// Reads tensors that a model keeps in other files. Paths that leave the folder of the model are
/// refused. All tensors of a model together may have 8 GiB.
class ExternalDataReader {
 public:
  explicit ExternalDataReader(std::filesystem::path folder) : folder_(std::move(folder)) {}
  /// For data in memory: `data` is the content of the only external file, which is called `name`.
  ExternalDataReader(std::string_view name, std::string_view data) : memory_(Memory{name, data}) {}

  /// `what` names the tensor in messages. Throws Error(kInvalidModel) when the file does not hold
  /// the bytes of `shape` at the offset, before memory is allocated, and Error(kIo) when there is
  /// no such file.
  Tensor read(const onnx::TensorProto& proto, std::string_view what, DType dtype, Shape shape);

  /// The files that were read.
  [[nodiscard]] const std::set<std::filesystem::path>& files() const { return files_; }

 private:
  struct Memory {
    std::string_view name;
    std::string_view data;
  };

  Tensor read_from_file(const std::string& location, std::int64_t offset, std::string_view what,
                        DType dtype, Shape shape);
  Tensor read_from_memory(const std::string& location, std::int64_t offset, std::string_view what,
                          DType dtype, Shape shape) const;

  std::filesystem::path folder_;
  std::optional<Memory> memory_;
  std::int64_t bytes_ = 0;  // of all tensors that were read
  std::set<std::filesystem::path> files_;
};

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

#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "base/file.h"
#include "base/text.h"
#include "qtool/tensor/tensor.h"
#include "samples/npy.h"

namespace qtool {

/// An .npy file of format 1.0 with any text as its header.
inline std::string npy_bytes(std::string_view header, std::string_view elements) {
  std::string bytes = "\x93NUMPY";
  bytes.push_back(1);
  bytes.push_back(0);
  bytes.push_back(static_cast<char>(header.size() % 256));
  bytes.push_back(static_cast<char>(header.size() / 256));
  return to_text(bytes, header, elements);
}

/// A folder for files of tensors, removed at the end.
class TensorFolder {
 public:
  TensorFolder() {
    static std::atomic<int> folders = 0;
    root_ = std::filesystem::path(testing::TempDir()) /
            to_text("qtool_tensors_", ::getpid(), "_", folders++);
    std::filesystem::create_directories(root_);
  }
  ~TensorFolder() { std::filesystem::remove_all(root_); }
  TensorFolder(const TensorFolder&) = delete;
  TensorFolder& operator=(const TensorFolder&) = delete;

  /// Returns the path of the file.
  std::filesystem::path add(const std::string& name, std::string_view bytes) const {
    std::filesystem::create_directories((root_ / name).parent_path());
    write_file(root_ / name, bytes);
    return root_ / name;
  }
  std::filesystem::path add(const std::string& name, const Tensor& tensor) const {
    return add(name, npy_bytes(tensor));
  }
  /// Adds a file of floats that count up from `first`.
  std::filesystem::path count(const std::string& name, const Shape& shape, float first = 0) const {
    Tensor tensor(DType::kFloat32, shape);
    for (float& value : tensor.values<float>()) value = first++;
    return add(name, tensor);
  }

  [[nodiscard]] const std::filesystem::path& path() const { return root_; }

 private:
  std::filesystem::path root_;
};

}  // namespace qtool

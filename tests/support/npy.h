#pragma once

#include <cstring>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/text.h"
#include "qtool/base/error.h"
#include "qtool/tensor/tensor.h"

namespace qtool::tests {

/// Reads a little-endian float32 array in C order. Source: NumPy's format 1.0.
inline Tensor read_npy(const std::filesystem::path& path) {
  const std::string bytes = read_file(path, std::int64_t{1} << 30);
  const std::size_t header =
      static_cast<unsigned char>(bytes.at(8)) + 256U * static_cast<unsigned char>(bytes.at(9));
  const std::string text = bytes.substr(10, header);
  if (text.find("'<f4'") == std::string::npos || text.find("False") == std::string::npos) {
    throw Error(ErrorCode::kInvalidArgument, "npy: expected float32 in C order");
  }
  const std::size_t open = text.find('(');
  std::vector<std::int64_t> dims;
  for (const std::string& part : split(text.substr(open + 1, text.find(')') - open - 1), ',')) {
    if (!trim(part).empty()) dims.push_back(parse_int(part, "npy shape"));
  }
  Tensor tensor(DType::kFloat32, Shape(std::move(dims)));
  if (bytes.size() != 10 + header + static_cast<std::size_t>(tensor.bytes())) {
    throw Error(ErrorCode::kInvalidArgument, "npy: wrong size");
  }
  std::memcpy(tensor.data(), bytes.data() + 10 + header, static_cast<std::size_t>(tensor.bytes()));
  return tensor;
}

}  // namespace qtool::tests

#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "qtool/tensor/tensor.h"

namespace qtool {

/// A folder that is removed when the test ends.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  std::filesystem::path path;
};

/// An input of a model: its name and its values.
struct NamedTensor {
  std::string name;
  const Tensor& values;
};

/// What run.mjs says about one run.
struct OtherRun {
  std::vector<std::vector<float>> outputs;
  std::vector<std::string> ops;
};

/// Runs a model with ONNX Runtime on float32 inputs; a failure of the test when it does not run.
OtherRun run_other(const std::filesystem::path& model, const std::vector<NamedTensor>& inputs,
                   const std::filesystem::path& folder);

/// Whether the package that run.mjs needs is installed.
bool other_is_installed();

/// ONNX Runtime's u8 x s8 products are exact only with VNNI; without it they may saturate.
bool other_is_exact();

}  // namespace qtool

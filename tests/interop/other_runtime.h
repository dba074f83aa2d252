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
  Shape shape = values.shape();  ///< of one run
};

/// What run.mjs says about one run.
struct OtherRun {
  std::vector<std::vector<float>> outputs;
  std::vector<std::string> ops;
};

/// Runs a model with ONNX Runtime on float32 inputs; a failure of the test when it does not run.
/// The values of an input may be those of several runs, one behind the other, whose shapes `shape`
/// gives; so are the outputs then.
OtherRun run_other(const std::filesystem::path& model, const std::vector<NamedTensor>& inputs,
                   const std::filesystem::path& folder);

/// Writes the model that ONNX Runtime's optimizer makes of `model`, at one of its levels: basic,
/// extended, all. False, and a failure of the test, when it does not.
bool optimize_other(const std::filesystem::path& model, const std::string& level,
                    const std::filesystem::path& optimized);

/// Whether run.mjs can run: node and the package are installed. The variable QTOOL_NO_OTHER_RUNTIME
/// in the environment makes it false.
bool other_is_installed();

/// Why a test is skipped where it is not; install.cmake and sweep.py say the same.
inline constexpr const char* kNoOtherRuntime = "ONNX Runtime is not installed";

/// ONNX Runtime's u8 x s8 products are exact only with VNNI; without it they may saturate.
bool other_is_exact();

}  // namespace qtool

#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "qtool/quantize/quantize.h"
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
  Shape shape = values.shape();  ///< the shape of one run
};

/// The results that run.mjs reports.
struct OtherRun {
  std::vector<std::vector<float>> outputs;
  std::vector<std::string> ops;
};

/// Runs a model with ONNX Runtime on float32 inputs; the test fails if it does not run. An input
/// may hold the values of several runs, one after the other; `shape` is then the shape of one run,
/// and the outputs hold the results of all runs.
OtherRun run_other(const std::filesystem::path& model, const std::vector<NamedTensor>& inputs,
                   const std::filesystem::path& folder);

/// Writes the model that ONNX Runtime's optimizer makes of `model`, at one of its levels: basic,
/// extended, all. If that fails, returns false and makes the test fail.
bool optimize_other(const std::filesystem::path& model, const std::string& level,
                    const std::filesystem::path& optimized);

/// Whether run.mjs can run: node and the package are installed. The variable QTOOL_NO_OTHER_RUNTIME
/// in the environment makes it false.
bool other_is_installed();

/// The reason for skipping a test without ONNX Runtime; install.cmake and sweep.py use the same
/// text.
inline constexpr const char* kNoOtherRuntime = "ONNX Runtime is not installed";

/// Whether ONNX Runtime's u8 x s8 products are exact. They need VNNI for that; without it they may
/// saturate.
bool other_is_exact();

/// The same for the products of a model that we quantized: without VNNI they are exact if no pair
/// of its weights saturates.
bool other_is_exact_for(const QuantizeReport& report);

}  // namespace qtool

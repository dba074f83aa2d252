#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "qtool/tensor/tensor.h"
#include "report/profile.h"

namespace qtool::tool {

/// What another runtime is to do.
struct OtherRuntimeJob {
  std::vector<std::string> models{};  ///< ONNX files: FP32 and, if there is one, INT8
  std::int64_t threads = 1;           ///< inside operators
  std::int64_t repeat = 1;            ///< timed runs of each model, after three that are not timed
  double seconds = 0.0;               ///< about what the runs take in qtool; limits the time
};

/// Times models in ONNX Runtime, in a process of its own, on the same inputs. The models take
/// turns. Python's onnxruntime is taken, or else node's onnxruntime-node, which node looks for from
/// the current folder on and in NODE_PATH. Throws Error(kUnsupported) that says what was looked for
/// if there is neither, or if ONNX Runtime does not run a model; and the errors of run_child().
RuntimeTimes time_in_onnxruntime(const OtherRuntimeJob& job, std::span<const Tensor> inputs);

/// Throws as time_in_onnxruntime() does if there is no ONNX Runtime, without running a model. Cost:
/// loads ONNX Runtime.
void require_onnxruntime();

}  // namespace qtool::tool

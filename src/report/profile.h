#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "qtool/compare/profile.h"
#include "report/text_table.h"

// The measurements of `bench`, and the times of whole runs that other commands show too.
namespace qtool {

/// A short list has the slowest steps.
std::string text_of(const ProfileResult& result, std::size_t width = kAnyWidth,
                    ListLength length = ListLength::kFull);

/// The times of whole runs in one runtime.
struct RuntimeTimes {
  std::string runtime;  ///< `qtool`, or `ONNX Runtime 1.20.1 (python3)`
  std::int64_t threads = 1;
  std::int64_t repeat = 1;               ///< timed runs of each model
  std::int64_t batch = 1;                ///< samples in each run
  std::vector<MedianInterval> models{};  ///< of runs, in seconds: FP32 and, if there is one, INT8
};

/// `runs`: the seconds of every run of FP32 and, if there is a model, of INT8. Of a batch of 1.
RuntimeTimes times_of_runs(std::string runtime, std::int64_t threads,
                           const std::vector<std::vector<double>>& runs);
RuntimeTimes times_in_qtool(const ProfileResult& result);

/// The medians with their intervals, and the speed-up in that runtime.
std::string text_of(const RuntimeTimes& times);
/// The medians alone: `in ONNX Runtime 1.20.1 (python3): FP32 22.700 ms, INT8 19.100 ms`.
std::string medians_text(const RuntimeTimes& times);
std::string json_of(const RuntimeTimes& times);
/// `other`: the times of the same models in another runtime; may be null.
std::string json_of(const ProfileResult& result, const RuntimeTimes* other = nullptr);

}  // namespace qtool

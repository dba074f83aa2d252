#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "qtool/compare/profile.h"
#include "report/text_table.h"

// The measurements of `bench`.
namespace qtool {

/// A short list has the slowest steps.
std::string text_of(const ProfileResult& result, std::size_t width = kAnyWidth,
                    ListLength length = ListLength::kFull);

/// The times of the same models in another runtime.
struct OtherTimes {
  std::string runtime;  ///< `ONNX Runtime 1.20.1 (python3)`
  std::int64_t threads = 1;
  std::vector<std::vector<double>> seconds{};  ///< FP32's runs and, if there is a model, INT8's
};

/// The medians, and the speed-up in that runtime.
std::string text_of(const OtherTimes& times);
/// `other`: may be null.
std::string json_of(const ProfileResult& result, const OtherTimes* other = nullptr);

}  // namespace qtool

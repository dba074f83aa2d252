#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "qtool/tensor/tensor.h"

namespace qtool {

/// Distance of the INT8 model's output from the FP32 model's, over one or many images. Images
/// without an answer of both models (see has_answer()) are left out. x is the FP32 model's output,
/// y the INT8 model's.
struct OutputError {
  std::string name;
  double cosine = 1.0;          ///< mean over images
  double sqnr_db = 0.0;         ///< mean over images of each one's, see sqnr_db()
  double pooled_sqnr_db = 0.0;  ///< 10 log10(sum of all x^2 / sum of all (x - y)^2)
  double lowest_sqnr_db = 0.0;  ///< of the worst image
  std::filesystem::path
      lowest_sqnr_image{};     ///< that image, the first of equal ones; evaluate() only
  double max_abs_error = 0.0;  ///< of the worst image
  /// Mean over images of 10 log10(peak^2 / mean (x - y)^2), where AnswerOptions name the peak.
  std::optional<double> psnr_db{};
  /// Of the output. Integers are positions or classes more often than amounts, of which an SQNR
  /// says little.
  DType dtype = DType::kFloat32;
};

}  // namespace qtool

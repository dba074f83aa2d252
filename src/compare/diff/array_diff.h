#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "qtool/base/progress.h"
#include "qtool/tensor/tensor.h"

namespace qtool {

/// The index file of a dump of `infer --dump`. It describes the other files.
inline constexpr std::string_view kDumpIndex = "tensors.json";

/// The difference between two arrays with the same number of elements.
struct ArrayDiff {
  std::string name;  ///< of the tensor, or of the file
  std::string kind;  ///< `fp32`, `int8` or `integers` of a dump; empty for other files
  Shape shape;
  DType dtype_a = DType::kFloat32;
  DType dtype_b = DType::kFloat32;
  std::int64_t equal = 0;                      ///< number of equal elements
  std::optional<std::int64_t> first_mismatch;  ///< index, in C order
  std::optional<std::int64_t> worst;           ///< index of the largest difference
  double value_a = 0.0;                        ///< value of A at `worst`
  double value_b = 0.0;                        ///< value of B at `worst`
  double max_abs_error = 0.0;
  double sqnr_db = 0.0;  ///< A is the reference
  double cosine = 1.0;
  double mean_a = 0.0;
  double mean_b = 0.0;
};

/// Compares two arrays as float32 numbers. Only equality is tested without conversion if both have
/// one type: integers by their bits, doubles as doubles. Two NaN with the same bits are equal.
/// Throws Error(kMismatch) when the shapes differ. A raw file has no shape and is read as one axis,
/// so if one array has one axis, only the numbers of elements must be equal. Cost: linear.
ArrayDiff diff_of(const Tensor& a, const Tensor& b);

/// The limits that the difference of an array must keep.
struct ArrayLimits {
  std::optional<double> min_sqnr_db;
  std::optional<double> max_abs_error;
  [[nodiscard]] bool accept(const ArrayDiff& diff) const noexcept;
};

struct ArraysDiff {
  std::vector<ArrayDiff> both;  ///< in the order of A; dumps are in execution order
  std::vector<std::string> only_a;
  std::vector<std::string> only_b;
  /// Arrays with the same name that cannot be compared, each with the reason.
  std::vector<std::string> not_compared;
  [[nodiscard]] const ArrayDiff* first_beyond(const ArrayLimits& limits) const noexcept;
  [[nodiscard]] bool within(const ArrayLimits& limits) const noexcept;
};

/// Whether the file may hold arrays: .npy, .npz, .pb, .bin or .raw (float32 as in memory).
bool holds_arrays(const std::filesystem::path& path);

/// Compares two files of arrays or two folders. The arrays of archives (.npz) are matched by their
/// names. In dumps of `infer --dump`, arrays are matched by the names of the tensors; in other
/// folders, by the names of the files. Throws Error(kUsage) for a file and a folder,
/// Error(kMismatch) when no array has a counterpart, and the errors of the readers. Memory: two
/// arrays.
ArraysDiff diff_arrays(const std::filesystem::path& a, const std::filesystem::path& b,
                       const Progress& progress = {});

}  // namespace qtool

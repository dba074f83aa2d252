#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "qtool/base/progress.h"
#include "qtool/tensor/tensor.h"
#include "report/text_table.h"

namespace qtool {

/// How one array differs from another of as many elements.
struct ArrayDiff {
  std::string name;  ///< of the tensor, or of the file
  std::string kind;  ///< `fp32`, `int8` or `integers` of a dump; empty for other files
  Shape shape;
  DType dtype_a = DType::kFloat32;
  DType dtype_b = DType::kFloat32;
  std::int64_t equal = 0;                      ///< elements
  std::optional<std::int64_t> first_mismatch;  ///< counted from the front, in C order
  std::optional<std::int64_t> worst;           ///< where the difference is largest
  double value_a = 0.0;                        ///< there
  double value_b = 0.0;
  double max_abs_error = 0.0;
  double sqnr_db = 0.0;  ///< A is the reference
  double cosine = 1.0;
  double mean_a = 0.0;
  double mean_b = 0.0;
};

/// Compares two arrays as float32 numbers; integers of one type are equal if all their bits are,
/// and so are two NaN of equal bits. Throws Error(kMismatch) when the shapes differ, unless one of
/// them is that of a raw file, which says none: there the numbers of elements count. Cost: linear.
ArrayDiff diff_of(const Tensor& a, const Tensor& b);

/// What differs by more than this is too much.
struct ArrayLimits {
  std::optional<double> min_sqnr_db;
  std::optional<double> max_abs_error;
  [[nodiscard]] bool accept(const ArrayDiff& diff) const noexcept;
};

struct ArraysDiff {
  std::vector<ArrayDiff> both;  ///< in the order of A: that of execution for dumps
  std::vector<std::string> only_a;
  std::vector<std::string> only_b;
  /// Arrays of one name that cannot be compared, and why.
  std::vector<std::string> not_compared;
  [[nodiscard]] const ArrayDiff* first_beyond(const ArrayLimits& limits) const noexcept;
  [[nodiscard]] bool within(const ArrayLimits& limits) const noexcept;
};

/// Whether the file may hold arrays: .npy, .npz, .pb, .bin or .raw (float32 as in memory).
bool holds_arrays(const std::filesystem::path& path);

/// Compares two files of arrays, those of archives by their names, or two folders: dumps of
/// `infer --dump` by the names of tensors, others by the names of their files. Throws Error(kUsage)
/// for a file beside a folder, Error(kMismatch) when nothing belongs together, and as the readers
/// do. Memory: two arrays.
ArraysDiff diff_arrays(const std::filesystem::path& a, const std::filesystem::path& b,
                       const Progress& progress = {});

std::string text_of(const ArraysDiff& diff, const ArrayLimits& limits,
                    std::size_t width = kAnyWidth);
std::string json_of(const ArraysDiff& diff, const ArrayLimits& limits);

}  // namespace qtool

#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "qtool/compare/infer.h"

namespace qtool {

/// The file of a dump that says what the others hold.
inline constexpr std::string_view kDumpIndex = "tensors.json";

/// Where the tensors of a dump come from.
struct DumpOrigin {
  std::string fp32;    ///< file of the model
  std::string int8;    ///< the same, or empty
  std::string sample;  ///< image or array
};

/// A file name for each tensor, without its ending: letters, digits, `.`, `_` and `-` of the name,
/// `_` for others, no dot in front, at most 100 characters. Names that would become one, upper and
/// lower case alike, get a number. Cost: linear.
std::vector<std::string> file_stems(std::span<const std::string> names);

/// Throws Error(kIo) when `bytes` do not fit on the disk of `folder`, which need not be there yet,
/// and Error(kUnsupported) when they do not fit in memory.
void require_room(std::int64_t bytes, const std::filesystem::path& folder);

/// The index of a dump, as JSON: for each tensor its files, types, scales and zero points, and how
/// far INT8 is from FP32.
std::string dump_index(std::span<const TensorPair> pairs, const DumpOrigin& origin);

/// Makes `folder` if it is not there and writes NAME.fp32.npy, NAME.int8.npy (reals) and
/// NAME.integers.npy of each pair; `tensors.json` comes last, so that a dump that was cut short has
/// none. Throws Error(kIo).
void write_dump(const std::filesystem::path& folder, std::span<const TensorPair> pairs,
                const DumpOrigin& origin);

}  // namespace qtool

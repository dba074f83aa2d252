#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compare/diff/array_diff.h"
#include "qtool/compare/infer.h"

namespace qtool {

/// The origin of the tensors of a dump.
struct DumpOrigin {
  std::string fp32;    ///< file of the FP32 model
  std::string int8;    ///< file of the INT8 model, or empty
  std::string sample;  ///< image or array
};

/// A file name without ending for each tensor, of at most 100 characters. It keeps the letters,
/// digits, `.`, `_` and `-` of the tensor's name and has `_` for other characters. It does not
/// begin with a dot. Names that would be equal, ignoring upper and lower case, get a number. Cost:
/// linear.
std::vector<std::string> file_stems(std::span<const std::string> names);

/// Throws Error(kIo) when `bytes` do not fit on the disk of `folder`, and Error(kUnsupported) when
/// they do not fit in memory. `folder` need not exist yet.
void require_room(std::int64_t bytes, const std::filesystem::path& folder);

/// The index of a dump as JSON: for each tensor its files, types, scales and zero points, and the
/// error of INT8 against FP32.
std::string dump_index(std::span<const TensorPair> pairs, const DumpOrigin& origin);

/// Creates `folder` if it does not exist and writes NAME.fp32.npy, NAME.int8.npy (reals) and
/// NAME.integers.npy for each pair. `tensors.json` is written last, so an incomplete dump has none.
/// Throws Error(kIo).
void write_dump(const std::filesystem::path& folder, std::span<const TensorPair> pairs,
                const DumpOrigin& origin);

}  // namespace qtool

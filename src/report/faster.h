#pragma once

#include <string>

#include "qtool/search/search.h"

namespace qtool {

/// The nodes that `quantize --faster-only` left in FP32 and the times with and without them, as
/// text. Each line ends with a line feed.
std::string text_of(const FasterResult& result);
/// The result of `quantize --faster-only` for programs, as a JSON object.
std::string json_of(const FasterResult& result);

}  // namespace qtool

#pragma once

#include <string>

#include "qtool/search/search.h"

namespace qtool {

/// What `quantize --faster-only` left in FP32, and what that changed; lines end with a line feed.
std::string text_of(const FasterResult& result);
/// The same for programs: a JSON object.
std::string json_of(const FasterResult& result);

}  // namespace qtool

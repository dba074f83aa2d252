#pragma once

#include <string>
#include <string_view>

#include "qtool/image/preprocess.h"

namespace qtool {

/// A preprocessing as a JSON object in one line, for files, tables and model metadata:
/// {"resize": {"mode": "shorter", "size": 256}, "crop": {"width": 224, "height": 224},
///  "channels": "rgb", "layout": "nchw", "mean": [123.675, ...], "std": [58.395, ...]}.
/// Squash and letterbox have "width" and "height" instead of "size", letterbox also "fill".
std::string to_json_text(const Preprocess& preprocess);

/// Reads to_json_text()'s form; what is left out keeps its default. Throws Error(kUsage) naming the
/// field for an unknown or missing one, for a value outside its domain, and as check().
Preprocess preprocess_from_json(std::string_view text);

}  // namespace qtool

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "qtool/image/preprocess.h"

namespace qtool {

/// The settings in a configuration of MNN's quantization tool, as options of qtool. What the file
/// leaves out is absent.
struct MnnConfig {
  std::optional<Preprocess> preprocess;  ///< when it says anything about images
  std::string images;                    ///< folder; empty: not given
  std::optional<std::int64_t> limit;     ///< images to use
  std::string method;                    ///< calibration method by name; empty: not given
  std::string weight_method;             ///< `absmax` or `admm`; empty: not given
  std::vector<std::string> exclude;      ///< nodes that stay in FP32
  std::optional<int> bits;               ///< 2 to 8
};

/// Reads the JSON that MNN's quantized.out takes: format, mean, normal (1 / std), width, height,
/// path, used_image_num, feature_quantize_method (KL, EMA, ADMM -> kl_mnn, ema, admm),
/// weight_quantize_method (MAX_ABS, ADMM), feature_clamp_value, weight_clamp_value,
/// skip_quant_op_names, quant_bits. Throws Error(kUsage) naming the field for any other key, a
/// value outside its domain, and a clamp value other than 2^(bits-1) - 1, which no other tool
/// knows. Source: MNN, tools/quantization, documentation of quantized.out.
MnnConfig read_mnn_config(std::string_view text);

}  // namespace qtool

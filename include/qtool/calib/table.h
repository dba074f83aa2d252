#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "qtool/calib/method.h"
#include "qtool/image/preprocess.h"
#include "qtool/quant/affine.h"
#include "qtool/tensor/tensor.h"

namespace qtool {

/// The reason why a tensor has no usable range. The scale of such a tensor is 1.
enum class Degenerate : std::uint8_t {
  kNo,
  kEmpty,     ///< no value was observed
  kAllZero,   ///< every observed value was zero
  kTooSmall,  ///< the scale would be below the smallest normal float
};

/// A phrase for reports: `no values`, `all zero`, `too small`; empty for kNo.
std::string_view name_of(Degenerate degenerate) noexcept;

/// The observed statistics of an activation tensor, without its histogram.
struct Observed {
  float min = 0.0F;
  float max = 0.0F;
  double mean = 0.0;
  double standard_deviation = 0.0;
  std::int64_t count = 0;
  std::int64_t zeros = 0;
  /// One per channel: per index of axis 1, or of the last axis where a MatMul reads the tensor.
  std::vector<float> channel_means;
  std::vector<float> channel_mins{};  ///< one per mean, or none
  std::vector<float> channel_maxs{};
  friend bool operator==(const Observed&, const Observed&) = default;
};

/// Who decided a range.
enum class Origin : std::uint8_t { kMethod, kUser };

/// How an activation tensor becomes integers: one affine map for all of it.
struct ActivationEntry {
  std::string tensor;
  std::string producer;  ///< name or first output of the node that writes it; empty: model input
  std::string method;    ///< method that chose the range; with `auto`, the one that it picked
  Range range;           ///< chosen by the method
  Affine affine;
  DType dtype = DType::kUInt8;
  Degenerate degenerate = Degenerate::kNo;
  Origin origin = Origin::kMethod;
  double saturated_share = 0.0;   ///< share of the counted values, 0 to 1
  std::optional<double> sqnr_db;  ///< of the counted values under `affine`; empty without noise
  Observed observed;
  friend bool operator==(const ActivationEntry&, const ActivationEntry&) = default;
};

/// How a weight tensor becomes integers: one affine map for each of its slices.
struct WeightEntry {
  std::string tensor;
  std::string consumer;  ///< node that reads it
  Affines affines;
  int bits = 8;  ///< bits of the integers that the scales are for
  /// The values of 1 / scale that ncnn wrote: one per scale, or none. They are more precise than
  /// the scales, which are rounded. 0 stands for infinity: such a channel is all zero.
  std::vector<float> reciprocals{};
  friend bool operator==(const WeightEntry&, const WeightEntry&) = default;
};

/// Another name of a tensor in the table: the name of a tensor that the preparation of the model
/// removed.
struct Alias {
  std::string name;
  std::string tensor;
  friend bool operator==(const Alias&, const Alias&) = default;
};

/// Changes of the graph and its ranges before quantization. They do not change the function that
/// the network computes. The ranges of a table are always for the network before the rewrites.
struct Rewrites {
  std::vector<std::string> names;  ///< in the order of execution
  std::uint64_t fingerprint = 0;   ///< of the rewritten graph; the weight scales are for it
  friend bool operator==(const Rewrites&, const Rewrites&) = default;
};

/// Everything needed to quantize a model, to check that the table belongs to it, and to repeat the
/// calibration.
struct CalibrationTable {
  std::uint64_t model_fingerprint = 0;
  std::uint64_t image_list_hash = 0;
  /// content_id() of each observed sample, sorted; none if they are not known, or more than
  /// kMaxImageIds. They tell whether other samples are copies of these.
  std::vector<std::uint64_t> image_ids;
  std::int64_t image_count = 0;          ///< images that were observed
  std::int64_t exact_bins = 0;           ///< bins of |x| in a second pass; 0: no second pass
  std::optional<Preprocess> preprocess;  ///< none: calibrated on tensors, not on images
  std::string method;
  MethodOptions method_options;
  TypeChoices types;                         ///< chosen by the user; the target gives the others
  Rewrites rewrites;                         ///< quantize() makes them too, unless told otherwise
  std::vector<ActivationEntry> activations;  ///< in the graph's order
  std::vector<WeightEntry> weights;          ///< in the graph's order
  std::vector<Alias> aliases;

  /// The entry of a tensor, by its name or an alias, or null. Cost: linear.
  [[nodiscard]] const ActivationEntry* find(std::string_view tensor) const& noexcept;
  const ActivationEntry* find(std::string_view tensor) const&& = delete;

  friend bool operator==(const CalibrationTable&, const CalibrationTable&) = default;
};

inline constexpr std::int64_t kTableSchema = 1;
inline constexpr std::int64_t kMaxTableBytes = std::int64_t{1} << 26;

/// The table as JSON, one entry per line: equal tables give equal bytes, and every number is read
/// back unchanged. Throws Error(kInvalidTable) when a name is not UTF-8 or a number is not finite.
std::string write_table(const CalibrationTable& table);

/// Reads write_table()'s text. Any bytes are safe: sizes and nesting are limited, and every field
/// is checked. Throws Error(kInvalidTable) that names the field, what was found and expected.
CalibrationTable read_table(std::string_view text);

}  // namespace qtool

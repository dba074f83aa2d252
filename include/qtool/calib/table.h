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

/// Why a tensor has no usable range; its scale is then 1.
enum class Degenerate : std::uint8_t {
  kNo,
  kEmpty,     ///< no value was observed
  kAllZero,   ///< every observed value was zero
  kTooSmall,  ///< the scale would be below the smallest normal float
};

/// A phrase for reports: `no values`, `all zero`, `too small`; empty for kNo.
std::string_view name_of(Degenerate degenerate) noexcept;

/// What was observed of an activation tensor, without its histogram.
struct Observed {
  float min = 0.0F;
  float max = 0.0F;
  double mean = 0.0;
  double standard_deviation = 0.0;
  std::int64_t count = 0;
  std::int64_t zeros = 0;
  std::vector<float> channel_means;   ///< one per index of axis 1
  std::vector<float> channel_mins{};  ///< as many as means, or none
  std::vector<float> channel_maxs{};
  friend bool operator==(const Observed&, const Observed&) = default;
};

/// Who decided a range.
enum class Origin : std::uint8_t { kMethod, kUser };

/// How an activation tensor becomes integers: one affine map for all of it.
struct ActivationEntry {
  std::string tensor;
  std::string producer;  ///< node that writes it, by its name or first output; empty: a model input
  std::string method;    ///< that chose the range: the table's, or what `auto` picked
  Range range;           ///< chosen by the method
  Affine affine;
  DType dtype = DType::kUInt8;
  Degenerate degenerate = Degenerate::kNo;
  Origin origin = Origin::kMethod;
  double saturated_share = 0.0;   ///< of the counted values, 0 to 1
  std::optional<double> sqnr_db;  ///< of the counted values under `affine`; none without noise
  Observed observed;
  friend bool operator==(const ActivationEntry&, const ActivationEntry&) = default;
};

/// How a weight tensor becomes integers: one affine map for each of its slices.
struct WeightEntry {
  std::string tensor;
  std::string consumer;  ///< node that reads it
  Affines affines;
  int bits = 8;  ///< of the integers that the scales are made for
  /// 1 / scale as ncnn wrote them, one per scale or none. They are more precise than the scales,
  /// which are rounded. 0 stands for infinity: the channel is all zero.
  std::vector<float> reciprocals{};
  friend bool operator==(const WeightEntry&, const WeightEntry&) = default;
};

/// Another name of a tensor in the table: that of a tensor which preparing the model removed.
struct Alias {
  std::string name;
  std::string tensor;
  friend bool operator==(const Alias&, const Alias&) = default;
};

/// Changes of graph and ranges, made before quantizing, that leave what the network computes as it
/// is. The ranges of a table are always those of the network as it was.
struct Rewrites {
  std::vector<std::string> names;  ///< in the order in which they are made
  std::uint64_t fingerprint = 0;   ///< of the graph after them, which the weight scales are for
  friend bool operator==(const Rewrites&, const Rewrites&) = default;
};

/// Everything needed to quantize a model, to check that it is the right one, and to repeat the
/// calibration.
struct CalibrationTable {
  std::uint64_t model_fingerprint = 0;
  std::uint64_t image_list_hash = 0;
  std::int64_t image_count = 0;          ///< images that were observed
  std::int64_t exact_bins = 0;           ///< of |x|, counted in a second pass; 0: there was none
  std::optional<Preprocess> preprocess;  ///< none: calibrated on tensors, not on images
  std::string method;
  MethodOptions method_options;
  TypeChoices types;                         ///< that the user chose; the rest is the target's
  Rewrites rewrites;                         ///< that quantize() makes too, unless told otherwise
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

/// The table as JSON, one entry per line: equal tables give equal bytes, and every number reads
/// back as it was. Throws Error(kInvalidTable) when a name is not UTF-8 or a number not finite.
std::string write_table(const CalibrationTable& table);

/// Reads write_table()'s text. Any bytes are safe: sizes and nesting are limited, and every field
/// is checked. Throws Error(kInvalidTable) that names the field, what was found and expected.
CalibrationTable read_table(std::string_view text);

}  // namespace qtool

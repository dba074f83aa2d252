#include "ops/recurrent/integers.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <span>
#include <string>
#include <utility>

#include "base/parallel.h"
#include "base/round_up.h"
#include "base/stop.h"
#include "base/text.h"
#include "ops/integer/packed_sums.h"

namespace qtool {
namespace {

constexpr std::size_t kScale = 8;  // inputs of QLSTM, QGRU and QRNN
constexpr std::size_t kZeroPoint = 9;

// Some rows of W or R in each direction, packed, with their scales.
class GateWeights {
 public:
  GateWeights(const OpContext& op, std::size_t input, const Range64& rows) {
    const auto& params = op.params<QRecurrentParams>();
    const GateAffines& affines = input == 1 ? params.w : params.r;
    const Shape& shape = op.input(input).shape;
    const std::int64_t depth = shape[2];
    const std::int64_t count = rows.end - rows.begin;
    const auto values = op.constant(input)->values<std::int8_t>();
    const auto part = [&](auto all, std::int64_t from, std::int64_t size) {
      return all.subspan(static_cast<std::size_t>(from), static_cast<std::size_t>(size));
    };
    for (std::int64_t direction = 0; direction < shape[0]; ++direction) {
      const std::int64_t first = direction * shape[1] + rows.begin;
      const auto scales = part(affines.scales->values<float>(), first, count);
      scales_.emplace_back(scales.begin(), scales.end());
      packed_.push_back(op.packed<PackedSums>(
          {to_text("gate sums ", first, " ", count),
           {op.shared_constant(input), affines.zero_points}},
          [&] {
            ConvWeights weights;
            weights.values =
                part(std::span<const std::int8_t>(values), first * depth, count * depth);
            weights.out_channels = count;
            weights.in_channels = depth;
            weights.weight_zero_points =
                part(std::span<const std::int32_t>(affines.zero_points->values<std::int32_t>()),
                     first, count);
            return std::make_shared<PackedSums>(pack_sums(weights));
          }));
    }
  }

  [[nodiscard]] std::size_t directions() const { return packed_.size(); }
  [[nodiscard]] const PackedSums& packed(std::size_t direction) const {
    return *packed_[direction];
  }
  /// One scale per output column.
  [[nodiscard]] const std::vector<float>& scales(std::size_t direction) const {
    return scales_[direction];
  }

 private:
  std::vector<std::shared_ptr<const PackedSums>> packed_;
  std::vector<std::vector<float>> scales_;
};

// A u8 matrix as an image with one pixel per row. Its zero point is known only at run time.
ConvShape rows_as_pixels(std::int64_t rows) {
  ConvShape shape;
  shape.in_w = shape.out_w = rows;
  shape.padding = std::uint8_t{0};
  return shape;
}

class IntegerInput final : public InputProduct {
 public:
  IntegerInput(const OpContext& op, const RecurrentSpec& spec)
      : weights_(op, 1, {0, spec.columns()}),
        shape_(rows_as_pixels(spec.steps * spec.batch)),
        columns_(spec.columns()) {
    sum_bytes_ = align_up(shape_.out_w * columns_ * 4);
    for (std::size_t d = 0; d < weights_.directions(); ++d) {
      kernel_bytes_ =
          std::max(kernel_bytes_, weights_.packed(d).conv.workspace_bytes(shape_, op.threads));
    }
  }

  [[nodiscard]] std::int64_t workspace_bytes() const override { return sum_bytes_ + kernel_bytes_; }
  [[nodiscard]] std::string_view kernel() const override {
    return weights_.packed(0).conv.kernel();
  }
  void run(const Operands& o, float* gates, std::byte* workspace) const override {
    const float scale = *o.in<float>(kScale);
    const std::int32_t zero_point = o.has_input(kZeroPoint) ? *o.in<std::uint8_t>(kZeroPoint) : 0;
    auto* sums = reinterpret_cast<std::int32_t*>(workspace);
    for (std::size_t d = 0; d < weights_.directions(); ++d) {
      const PackedSums& packed = weights_.packed(d);
      std::vector<float> scales = weights_.scales(d);
      for (float& s : scales) s *= scale;
      packed.conv.run(shape_, o.in<std::uint8_t>(0), sums, workspace + sum_bytes_, o.threads());
      parallel_ranges(shape_.out_w, o.threads(), [&](std::int64_t begin, std::int64_t end, int) {
        StopPace pace;
        for (std::int64_t row = begin; row < end; ++row) {
          pace.step(columns_);
          const std::int32_t* from = sums + row * columns_;
          float* to = gates + row * columns_;
          for (std::int64_t c = 0; c < columns_; ++c) {
            const auto at = static_cast<std::size_t>(c);
            to[c] = static_cast<float>(from[c] - zero_point * packed.sums[at]) * scales[at];
          }
        }
      });
      gates += shape_.out_w * columns_;
    }
  }

 private:
  GateWeights weights_;
  ConvShape shape_;
  std::int64_t columns_;
  std::int64_t sum_bytes_ = 0;
  std::int64_t kernel_bytes_ = 0;
};

class IntegerHidden final : public HiddenProduct {
 public:
  IntegerHidden(const OpContext& op, const RecurrentSpec& spec, std::int64_t sequences,
                const Range64& block)
      : weights_(op, 2, block),
        shape_(rows_as_pixels(2 * sequences)),
        sequences_(sequences),
        hidden_(spec.hidden),
        columns_(block.end - block.begin) {
    byte_bytes_ = align_up(2 * sequences * hidden_);
    scale_bytes_ = align_up(sequences * 4);
    sum_bytes_ = align_up(2 * sequences * columns_ * 4);
    for (std::size_t d = 0; d < weights_.directions(); ++d) {
      kernel_bytes_ = std::max(kernel_bytes_, weights_.packed(d).conv.workspace_bytes(shape_, 1));
    }
  }

  [[nodiscard]] std::int64_t workspace_bytes() const override {
    return byte_bytes_ + scale_bytes_ + sum_bytes_ + kernel_bytes_;
  }
  [[nodiscard]] std::function<void()> bind(const Operands& /*o*/, std::int64_t direction,
                                           const float* rows, float* out,
                                           std::byte* workspace) const override {
    return [=, this] { run(direction, rows, out, workspace); };
  }

 private:
  void run(std::int64_t direction, const float* rows, float* out, std::byte* workspace) const {
    auto* high = reinterpret_cast<std::uint8_t*>(workspace);
    std::uint8_t* low = high + sequences_ * hidden_;
    auto* row_scales = reinterpret_cast<float*>(workspace + byte_bytes_);
    auto* sums = reinterpret_cast<std::int32_t*>(workspace + byte_bytes_ + scale_bytes_);
    for (std::int64_t row = 0; row < sequences_; ++row) {
      const std::int64_t at = row * hidden_;
      row_scales[row] = split_row(rows + at, hidden_, high + at, low + at);
    }
    const auto d = static_cast<std::size_t>(direction);
    const PackedSums& packed = weights_.packed(d);
    packed.conv.run(shape_, high, sums, workspace + byte_bytes_ + scale_bytes_ + sum_bytes_, 1);
    const float* scales = weights_.scales(d).data();
    const std::int32_t* const ones = packed.sums.data();  // column sums of R, for q's offset
    for (std::int64_t row = 0; row < sequences_; ++row) {
      const std::int32_t* of_high = sums + row * columns_;
      const std::int32_t* of_low = of_high + sequences_ * columns_;
      float* to = out + row * columns_;
      const float scale = row_scales[row];
      for (std::int64_t c = 0; c < columns_; ++c) {
        const auto upper = static_cast<float>(of_high[c] - 128 * ones[c]);
        to[c] = (upper * 256.0F + static_cast<float>(of_low[c])) * (scale * scales[c]);
      }
    }
  }

  GateWeights weights_;
  ConvShape shape_;
  std::int64_t sequences_;
  std::int64_t hidden_;
  std::int64_t columns_;
  std::int64_t byte_bytes_ = 0;
  std::int64_t scale_bytes_ = 0;
  std::int64_t sum_bytes_ = 0;
  std::int64_t kernel_bytes_ = 0;
};

}  // namespace

float split_row(const float* row, std::int64_t count, std::uint8_t* high, std::uint8_t* low) {
  // Read as integers, the bits of magnitudes have the order of the floats, with NaN above infinity.
  std::uint32_t largest = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    largest = std::max(largest, std::bit_cast<std::uint32_t>(row[i]) & 0x7fffffffU);
  }
  const auto magnitude = std::bit_cast<float>(largest);
  if (!(magnitude >= 1e-30F) || largest >= 0x7f800000U) {
    std::fill_n(high, count, std::uint8_t{128});
    std::fill_n(low, count, std::uint8_t{0});
    return largest >= 0x7f800000U ? std::numeric_limits<float>::quiet_NaN() : 0.0F;
  }
  const float inverse = 32767.0F / magnitude;
  constexpr float kRound = 12582912.0F;  // 1.5 * 2^23: adding it rounds to an integer
  for (std::int64_t i = 0; i < count; ++i) {
    const auto rounded = std::bit_cast<std::uint32_t>(row[i] * inverse + kRound);
    const std::uint32_t q = rounded - 0x4b400000U + 32768U;
    high[i] = static_cast<std::uint8_t>(q >> 8U);
    low[i] = static_cast<std::uint8_t>(q);
  }
  return magnitude / 32767.0F;
}

std::unique_ptr<InputProduct> make_integer_input(const OpContext& op, const RecurrentSpec& spec) {
  return std::make_unique<IntegerInput>(op, spec);
}

std::unique_ptr<HiddenProduct> make_integer_hidden(const OpContext& op, const RecurrentSpec& spec,
                                                   std::int64_t sequences, const Range64& block) {
  return std::make_unique<IntegerHidden>(op, spec, sequences, block);
}

}  // namespace qtool

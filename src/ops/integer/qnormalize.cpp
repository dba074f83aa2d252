// Normalization of each channel of u8 images, made by lowering:
//   QInstanceNormalization(x u8 [N, C, ...], scale f32 [C], bias f32 [C]) with QAverageParams.
// Without a result it gives float32.
#include <algorithm>
#include <array>
#include <cmath>

#include "base/parallel.h"
#include "base/stop.h"
#include "kernels/lookup/lookup.h"
#include "ops/operator.h"
#include "ops/strides.h"

namespace qtool {
namespace {

constexpr std::int64_t kNormalizedBlock = 64;  // channels that are added up together
constexpr std::int64_t kPiece = 32768;         // pixels whose sum of squares fits into 32 bits
constexpr std::int64_t kIntegers = 256;        // u8 values; with fewer pixels no table is made

// Exact sums of the values of a channel and of their squares.
struct Sums {
  std::int64_t sum = 0;
  std::int64_t squares = 0;
};

// y = factor (q - mean) + bias, for the integers q of one channel.
struct Line {
  double factor = 0.0;
  double mean = 0.0;
  double bias = 0.0;

  [[nodiscard]] float at(std::int64_t q) const {
    return static_cast<float>(factor * (static_cast<double>(q) - mean) + bias);
  }
};

class QuantizedNormalization final : public Operator {
 public:
  explicit QuantizedNormalization(const OpContext& op)
      : params_(op.params<QAverageParams>()),
        epsilon_(static_cast<double>(op.node.get_float("epsilon", 1e-5F))),
        batch_(op.input(0).shape[0]),
        channels_(op.input(0).shape[1]),
        pixels_(op.input(0).shape.elements() / (batch_ * channels_)),
        channels_last_(op.input_layout(0) == Layout::kChannelsLast),
        tables_(params_.result && pixels_ >= kIntegers) {}

  [[nodiscard]] std::int64_t workspace_bytes() const override {
    return channels_ * (static_cast<std::int64_t>(sizeof(Line)) + (tables_ ? kIntegers : 0));
  }
  [[nodiscard]] std::string kernel() const override { return std::string(lookup_.kernel()); }

  void run(const Operands& o) const override {
    const int threads = channels_ * pixels_ < kParallelElements ? 1 : o.threads();
    for (std::int64_t n = 0; n < batch_; ++n) {
      const std::uint8_t* x = o.in<std::uint8_t>(0) + n * channels_ * pixels_;
      parallel_ranges((channels_ + kNormalizedBlock - 1) / kNormalizedBlock, threads,
                      [&](std::int64_t begin, std::int64_t end, int) {
                        for (std::int64_t block = begin; block < end; ++block) {
                          fit(o, x, block * kNormalizedBlock);
                        }
                      });
      const auto part = [&](std::int64_t begin, std::int64_t end, int) {
        if (params_.result) {
          write_bytes(o, x, n, begin, end);
        } else {
          write_reals(o, x, n, begin, end);
        }
      };
      parallel_ranges(channels_last_ ? pixels_ : channels_, threads, part);
    }
  }

 private:
  [[nodiscard]] Line* lines(const Operands& o) const {
    return reinterpret_cast<Line*>(o.workspace());
  }
  [[nodiscard]] std::uint8_t* tables(const Operands& o) const {
    return reinterpret_cast<std::uint8_t*>(o.workspace()) +
           channels_ * static_cast<std::int64_t>(sizeof(Line));
  }

  // Computes the lines and the tables of up to kNormalizedBlock channels from `first` on.
  void fit(const Operands& o, const std::uint8_t* x, std::int64_t first) const {
    const std::int64_t count = std::min(kNormalizedBlock, channels_ - first);
    std::array<Sums, kNormalizedBlock> sums;
    StopPace pace;
    for (std::int64_t start = 0; start < pixels_; start += kPiece) {
      pace.step(count * kPiece);
      add_up(x, first, count, start, std::min(pixels_, start + kPiece), sums);
    }
    for (std::int64_t c = first; c < first + count; ++c) {
      const Sums& channel = sums[static_cast<std::size_t>(c - first)];
      Line& line = lines(o)[c];
      const auto pixels = static_cast<double>(pixels_);
      const double scale = params_.input.scale;
      line.mean = static_cast<double>(channel.sum) / pixels;
      const double variance =
          std::max(0.0, static_cast<double>(channel.squares) / pixels - line.mean * line.mean);
      line.factor = static_cast<double>(o.in<float>(1)[c]) * scale /
                    std::sqrt(scale * scale * variance + epsilon_);
      line.bias = o.in<float>(2)[c];
      if (!tables_) continue;
      for (std::int64_t q = 0; q < kIntegers; ++q) tables(o)[c * kIntegers + q] = byte(line, q);
    }
  }

  void add_up(const std::uint8_t* x, std::int64_t first, std::int64_t count, std::int64_t begin,
              std::int64_t end, std::array<Sums, kNormalizedBlock>& sums) const {
    std::array<std::uint32_t, kNormalizedBlock> sum{};
    std::array<std::uint32_t, kNormalizedBlock> squares{};
    for (std::int64_t p = channels_last_ ? begin : 0; channels_last_ && p < end; ++p) {
      const std::uint8_t* row = x + p * channels_ + first;
      for (std::int64_t c = 0; c < count; ++c) {
        const std::uint32_t q = row[c];
        sum[static_cast<std::size_t>(c)] += q;
        squares[static_cast<std::size_t>(c)] += q * q;
      }
    }
    for (std::int64_t c = 0; c < count; ++c) {
      const auto i = static_cast<std::size_t>(c);
      const std::uint8_t* plane = x + (first + c) * pixels_;
      for (std::int64_t p = begin; !channels_last_ && p < end; ++p) {
        const std::uint32_t q = plane[p];
        sum[i] += q;
        squares[i] += q * q;
      }
      sums[i].sum += sum[i];
      sums[i].squares += squares[i];
    }
  }

  [[nodiscard]] std::uint8_t byte(const Line& line, std::int64_t q) const {
    const QuantizedResult& y = *params_.result;
    const std::int32_t value = quantize_value(line.at(q), y.affine, kU8Limits);
    return static_cast<std::uint8_t>(std::clamp(value, y.low, y.high));
  }

  // Writes the pixels from `begin` to `end` in channels-last layout, otherwise the planes.
  void write_bytes(const Operands& o, const std::uint8_t* x, std::int64_t n, std::int64_t begin,
                   std::int64_t end) const {
    std::uint8_t* y = o.out<std::uint8_t>(0) + n * channels_ * pixels_;
    if (!tables_) {
      return each(begin, end,
                  [&](std::int64_t c, std::int64_t at) { y[at] = byte(lines(o)[c], x[at]); });
    }
    if (channels_last_) {
      const std::span<const std::uint8_t> rows(tables(o),
                                               static_cast<std::size_t>(channels_ * kIntegers));
      return in_pieces(end - begin, [&](std::int64_t first, std::int64_t last) {
        const std::int64_t at = (begin + first) * channels_;
        lookup_by_channel(rows, channels_, x + at, y + at, last - first);
      });
    }
    StopPace pace;
    for (std::int64_t c = begin; c < end; ++c) {
      pace.step(pixels_);
      const std::span<const std::uint8_t, 256> table(tables(o) + c * kIntegers, 256);
      in_pieces(pixels_, [&](std::int64_t first, std::int64_t last) {
        lookup_.run(table, x + c * pixels_ + first, y + c * pixels_ + first, last - first);
      });
    }
  }
  void write_reals(const Operands& o, const std::uint8_t* x, std::int64_t n, std::int64_t begin,
                   std::int64_t end) const {
    float* y = o.out<float>(0) + n * channels_ * pixels_;
    each(begin, end, [&](std::int64_t c, std::int64_t at) { y[at] = lines(o)[c].at(x[at]); });
  }
  template <typename Use>
  void each(std::int64_t begin, std::int64_t end, const Use& use) const {
    const std::int64_t inner = channels_last_ ? channels_ : pixels_;
    StopPace pace;
    for (std::int64_t outer = begin; outer < end; ++outer) {
      pace.step(inner);
      in_pieces(inner, [&](std::int64_t from, std::int64_t to) {
        for (std::int64_t i = from; i < to; ++i) {
          use(channels_last_ ? i : outer, outer * inner + i);
        }
      });
    }
  }

  QAverageParams params_;
  double epsilon_;
  std::int64_t batch_;
  std::int64_t channels_;
  std::int64_t pixels_;
  bool channels_last_;
  bool tables_;  // whether each channel has a table of its 256 results
  LookupKernel lookup_;
};

std::vector<ValueInfo> infer_qnormalize(const OpContext& op) {
  const Shape& x = op.input(0).shape;
  op.require(x.rank() >= 3 && x.elements() > 0, "nothing to normalize");
  for (const std::size_t i : {std::size_t{1}, std::size_t{2}}) {
    op.require(op.input(i).dtype == DType::kFloat32 && op.input(i).shape == Shape{x[1]},
               "scale and bias have one number for each channel");
  }
  return {{op.params<QAverageParams>().result ? DType::kUInt8 : DType::kFloat32, x}};
}

std::unique_ptr<Operator> make_qnormalize(const OpContext& op) {
  return std::make_unique<QuantizedNormalization>(op);
}

}  // namespace

OpDef op_QInstanceNormalization() { return {infer_qnormalize, make_qnormalize, LayoutRule::kAny}; }

}  // namespace qtool

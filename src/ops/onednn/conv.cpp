// Convolution through oneDNN.
#include <algorithm>
#include <memory>

#include "base/round_up.h"
#include "base/saturate.h"
#include "ops/onednn/engine.h"
#include "ops/onednn/winograd.h"

namespace qtool::onednn {
namespace {

// Whether threads divide the output channels instead of pixels. This is better for small feature
// maps with many channels, where reading the weights is most of the work: each thread then reads
// only a part of the weights.
bool divides_channels(const ConvSpec& spec, int threads) {
  constexpr std::int64_t kChannelsPerThread = 2 * kVector;
  constexpr std::int64_t kCopy = 3;  // each result is written, read and written again
  return threads > 1 && spec.groups == 1 && spec.source[0] == 1 &&
         spec.layout == Layout::kChannelsLast && spec.weights[0] >= kChannelsPerThread * threads &&
         spec.weights.elements() > spec.source.elements() + kCopy * spec.destination.elements();
}

// Divides the output channels of a piece into parts, so that a long run can be stopped between
// them. Only a single image in plain layout is divided like that. A channels-last result is divided
// by rows instead.
std::vector<Range64> divide_long(const ConvSpec& spec, const WindowPiece& piece,
                                 std::int64_t products, std::int64_t longest) {
  const std::int64_t outputs = spec.weights[0];
  const std::int64_t each = products / std::max<std::int64_t>(spec.destination.elements(), 1);
  const std::int64_t parts =
      parts_of(saturating_product(piece.destination.elements(), each), longest);
  if (spec.layout == Layout::kChannelsLast || piece.source[0] != 1 || parts == 1) {
    return {{0, outputs}};
  }
  const std::int64_t per_group = outputs / spec.groups;
  if (parts <= spec.groups) return divide_evenly(outputs, parts, per_group);
  std::vector<Range64> ranges;
  for (std::int64_t first = 0; first < outputs; first += per_group) {
    for (const Range64& range : divide_evenly(per_group, ceil_div(parts, spec.groups), kVector)) {
      ranges.push_back({first + range.begin, first + range.end});
    }
  }
  return ranges;
}

// Adds the residual to a result and applies the clamp, as the primitive itself would.
void add_residual(const float* residual, std::int64_t count, const std::optional<Clamp>& clamp,
                  float* result) {
  for (std::int64_t i = 0; i < count; ++i) result[i] += residual[i];
  if (!clamp) return;
  for (std::int64_t i = 0; i < count; ++i) {
    result[i] = std::min(std::max(result[i], clamp->min), clamp->max);
  }
}

// Copies the result of one image for some channels to the columns of these channels in the whole
// result. With a residual, adds it there and applies the clamp. Without a residual, the primitive
// has already applied the clamp.
void place_columns(const float* part, std::int64_t pixels, const Range64& channels,
                   std::int64_t width, const float* residual, const std::optional<Clamp>& clamp,
                   float* destination) {
  const std::int64_t columns = channels.end - channels.begin;
  for (std::int64_t pixel = 0; pixel < pixels; ++pixel) {
    const std::int64_t at = pixel * width + channels.begin;
    std::copy_n(part + pixel * columns, columns, destination + at);
    if (residual != nullptr) add_residual(residual + at, columns, clamp, destination + at);
  }
}

// Whether the chosen implementation computes this window wrongly. The brgconv of oneDNN 2.6 leaves
// out taps of the middle column when the padding on the right reaches half of the result's width:
// seen in 64 of 91,000 random convolutions, all of stride 1. The 1x1 form of brgconv has no padding
// and is correct.
bool is_wrong(const dnnl::convolution_forward::primitive_desc& desc, const Window& window) {
  const bool padded = 2 * window.pads_end.back() >= window.output.back();
  return padded && std::string_view(desc.impl_info_str()).starts_with("brgconv:");
}

// Whether the chosen implementation adds the residual wrongly. In channels-last layout, the gemm
// implementation of oneDNN 2.6 reads the residual from wrong positions: seen in 560 of 564 random
// convolutions. Without AVX-512, oneDNN chooses it for most grouped convolutions.
bool adds_wrongly(const dnnl::convolution_forward::primitive_desc& desc, Layout layout) {
  return layout == Layout::kChannelsLast &&
         std::string_view(desc.impl_info_str()).find("gemm") != std::string_view::npos;
}

// By a primitive of oneDNN for each piece of the work.
class PlainConvolution final : public Convolution {
 public:
  PlainConvolution(const ConvSpec& spec, int threads);

  [[nodiscard]] std::string format() const override { return packs_.format(); }
  [[nodiscard]] PackedPtr pack(const float* weights, const float* bias) const override {
    return packs_.pack(weights, bias);
  }
  [[nodiscard]] std::int64_t workspace_bytes() const override { return scratch_; }
  [[nodiscard]] std::string implementation() const override {
    return pieces_.front().desc.impl_info_str();
  }
  void run(const float* source, const Packed& packed, const float* residual, float* destination,
           std::byte* workspace) const override {
    run_pieces(pieces_, threads_, [&](const Piece& piece) {
      run_piece(piece, source, packed.parts[piece.pack], residual, destination, workspace);
    });
  }

 private:
  struct Piece {
    dnnl::convolution_forward::primitive_desc desc;
    dnnl::convolution_forward primitive;
    std::size_t pack;
    std::int64_t source_offset;
    std::int64_t destination_offset;
    std::int64_t scratch_offset;
    Range64 channels;  // output channels
    bool adds;         // whether the primitive adds the residual
    std::int64_t elements;
  };

  void divide(std::int64_t longest);
  void add(const WindowPiece& window, const Range64& channels);
  void run_piece(const Piece& piece, const float* source, const Packed::Part& weights,
                 const float* residual, float* destination, std::byte* workspace) const;

  ConvSpec spec_;
  std::vector<Piece> pieces_;
  PackPlans packs_;
  std::int64_t scratch_ = 0;
  int threads_;
  bool by_channels_;
};

PlainConvolution::PlainConvolution(const ConvSpec& spec, int threads)
    : spec_(spec), threads_(std::max(threads, 1)), by_channels_(divides_channels(spec, threads)) {
  const OnThisThread alone;
  guarded("convolution", [&] {
    for (const std::int64_t longest : kLongestCalls) {
      divide(longest);
      if (!is_slow(pieces_.front().desc)) break;
    }
  });
  scratch_ = share_scratch(pieces_, threads_, scratch_);
}

void PlainConvolution::add(const WindowPiece& window, const Range64& channels) {
  check_stop_inside();
  const std::int64_t outputs = channels.end - channels.begin;
  // These output channels are some groups or a part of one group. They read only the input channels
  // of their groups.
  const std::int64_t groups = std::max<std::int64_t>(1, outputs * spec_.groups / spec_.weights[0]);
  const std::int64_t first_group = channels.begin * spec_.groups / spec_.weights[0];
  Dims source = window.source.dims();
  std::int64_t source_offset = window.source_offset;
  if (spec_.groups > 1) {
    source[1] = source[1] / spec_.groups * groups;
    source_offset += first_group * (window.source.elements() / spec_.groups);
  }
  Dims weights = spec_.weights.dims();
  Dims steps = strides_of(weights, spec_.weights_layout);
  weights[0] = outputs;
  const std::int64_t per_output = spec_.weights.elements() / spec_.weights[0];
  if (spec_.groups > 1) {
    weights[0] /= groups;
    steps.insert(steps.begin(), weights[0] * per_output);
    weights.insert(weights.begin(), groups);
  }
  Dims result = window.destination.dims();
  result[1] = outputs;
  const Desc destination = dense(result, spec_.layout);
  const dnnl::convolution_forward::desc desc(
      dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_direct,
      dense(source, spec_.layout), any(weights), spec_.bias ? dense({outputs}) : Desc(),
      destination, window.window.strides, skipped(window.window.dilations),
      window.window.pads_begin, window.window.pads_end);
  const auto choose = [&](bool adds) {
    const bool clamps = spec_.residual == adds;
    const dnnl::primitive_attr attr = attributes(
        clamps ? spec_.clamp : std::nullopt, adds ? &destination : nullptr, 1.0F, spec_.function);
    dnnl::convolution_forward::primitive_desc chosen(desc, attr, cpu());
    while (is_wrong(chosen, window.window)) {
      if (!chosen.next_impl()) throw Error(ErrorCode::kUnsupported, "oneDNN has no correct kernel");
    }
    return chosen;
  };
  bool adds = spec_.residual && !by_channels_;  // by channels, place_columns() adds it
  dnnl::convolution_forward::primitive_desc chosen = choose(adds);
  if (adds && adds_wrongly(chosen, spec_.layout)) {
    adds = false;
    chosen = choose(adds);
  }
  const std::size_t pack = packs_.add({Desc(weights, kF32, steps), chosen.weights_desc(),
                                       channels.begin * per_output, channels.begin, outputs});
  const std::int64_t plane = window.destination.elements() / window.destination[1];
  const std::int64_t skipped_planes = by_channels_ ? 0 : channels.begin * plane;
  pieces_.push_back({chosen, dnnl::convolution_forward(chosen), pack, source_offset,
                     window.destination_offset + skipped_planes, scratch_, channels, adds,
                     outputs * plane});
  scratch_ += scratch_bytes(chosen.scratchpad_desc());
  if (by_channels_) scratch_ += scratch_bytes(destination);
}

void PlainConvolution::run_piece(const Piece& piece, const float* source,
                                 const Packed::Part& weights, const float* residual,
                                 float* destination, std::byte* workspace) const {
  const auto& desc = piece.desc;
  std::byte* const scratchpad = at_bytes(workspace, piece.scratch_offset);
  float* result = destination + piece.destination_offset;
  if (by_channels_) {
    result = reinterpret_cast<float*>(scratchpad + scratch_bytes(desc.scratchpad_desc()));
  }
  Args args = weighted_args(desc, source + piece.source_offset, weights, result, scratchpad);
  if (piece.adds) {
    args.emplace(DNNL_ARG_ATTR_MULTIPLE_POST_OP(0) | DNNL_ARG_SRC_1,
                 memory_at(desc.dst_desc(), residual + piece.destination_offset));
  }
  execute(piece.primitive, args);
  if (!by_channels_) {
    if (spec_.residual && !piece.adds) {
      add_residual(residual + piece.destination_offset, piece.elements, spec_.clamp, result);
    }
    return;
  }
  place_columns(result, spec_.destination.elements() / spec_.destination[1], piece.channels,
                spec_.destination[1], residual, spec_.clamp, destination);
}

void PlainConvolution::divide(std::int64_t longest) {
  pieces_.clear();
  packs_ = {};
  scratch_ = 0;
  const std::int64_t outputs = spec_.weights[0];
  const std::int64_t products =
      saturating_product(spec_.destination.elements() / outputs, spec_.weights.elements());
  if (by_channels_) {
    const std::int64_t parts = std::max<std::int64_t>(threads_, parts_of(products, longest));
    for (const Range64& channels : divide_evenly(outputs, parts, kVector)) {
      add({spec_.source, spec_.destination, spec_.window, 0, 0}, channels);
    }
    return;
  }
  for (const WindowPiece& piece :
       divide_window(spec_.source, spec_.destination, spec_.window, spec_.layout, products,
                     threads_, WindowUse::kGather, longest)) {
    for (const Range64& channels : divide_long(spec_, piece, products, longest)) {
      add(piece, channels);
    }
  }
}

}  // namespace

std::unique_ptr<const Convolution> make_convolution(const ConvSpec& spec, int threads) {
  if (Winograd::suits(spec)) return std::make_unique<const Winograd>(spec, threads);
  return std::make_unique<const PlainConvolution>(spec, threads);
}

}  // namespace qtool::onednn

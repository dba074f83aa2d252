// Convolution through oneDNN.
#include <algorithm>
#include <memory>

#include "ops/onednn_engine.h"

namespace qtool::onednn {
namespace {

// Whether threads divide the output channels instead of pixels. Better for small feature maps with
// many channels, where reading the weights is most of the work: each thread then reads its own part
// of them.
bool divides_channels(const ConvSpec& spec, int threads) {
  constexpr std::int64_t kChannelsPerThread = 2 * kVector;
  constexpr std::int64_t kCopy = 3;  // each result is written, read and written again
  return threads > 1 && spec.groups == 1 && spec.source[0] == 1 &&
         spec.layout == Layout::kChannelsLast && spec.weights[0] >= kChannelsPerThread * threads &&
         spec.weights.elements() > spec.source.elements() + kCopy * spec.destination.elements();
}

// Copies one image's result for some channels to its columns of the whole result, adds the residual
// and applies the clamp as the primitive itself would.
void place_columns(const float* part, std::int64_t pixels, const Range64& channels,
                   std::int64_t width, const float* residual, const std::optional<Clamp>& clamp,
                   float* destination) {
  const std::int64_t columns = channels.end - channels.begin;
  for (std::int64_t pixel = 0; pixel < pixels; ++pixel) {
    const float* const from = part + pixel * columns;
    float* const to = destination + pixel * width + channels.begin;
    if (residual == nullptr) {  // the primitive has applied the clamp already
      std::copy_n(from, columns, to);
      continue;
    }
    const float* const added = residual + pixel * width + channels.begin;
    for (std::int64_t c = 0; c < columns; ++c) to[c] = from[c] + added[c];
    if (!clamp) continue;
    for (std::int64_t c = 0; c < columns; ++c) {
      to[c] = std::min(std::max(to[c], clamp->min), clamp->max);
    }
  }
}

// Whether an implementation computes such a window wrongly. The brgconv of oneDNN 2.6 leaves out
// taps of the middle column when the padding behind it reaches half of the result's width: seen in
// 64 of 91,000 random convolutions, all of stride 1. Its 1x1 form has no padding.
bool is_wrong(const dnnl::convolution_forward::primitive_desc& desc, const Window& window) {
  const bool padded = 2 * window.pads_end.back() >= window.output.back();
  return padded && std::string_view(desc.impl_info_str()).starts_with("brgconv:");
}

}  // namespace

struct Convolution::State {
  struct Piece {
    dnnl::convolution_forward::primitive_desc desc;
    dnnl::convolution_forward primitive;
    std::size_t pack;
    std::int64_t source_offset;
    std::int64_t destination_offset;
    std::int64_t scratch_offset;
    Range64 channels;  // of the result
  };

  ConvSpec spec;
  std::vector<Piece> pieces;
  PackPlans packs;
  std::int64_t scratch = 0;
  bool by_channels = false;

  void add(const WindowPiece& window, const Range64& channels);
  void run(const Piece& piece, const float* source, const Packed::Part& weights,
           const float* residual, float* destination, std::byte* workspace) const;
};

void Convolution::State::add(const WindowPiece& window, const Range64& channels) {
  const std::int64_t outputs = channels.end - channels.begin;
  Dims weights = spec.weights.dims();
  Dims steps = strides_of(weights, spec.weights_layout);
  weights[0] = outputs;
  const std::int64_t per_output = spec.weights.elements() / spec.weights[0];
  if (spec.groups > 1) {
    weights[0] /= spec.groups;
    steps.insert(steps.begin(), weights[0] * per_output);
    weights.insert(weights.begin(), spec.groups);
  }
  Dims result = window.destination.dims();
  result[1] = outputs;
  const Desc destination = dense(result, spec.layout);
  const bool adds = spec.residual && !by_channels;  // otherwise place_columns() does
  const dnnl::convolution_forward::desc desc(
      dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_direct,
      dense(window.source.dims(), spec.layout), any(weights), spec.bias ? dense({outputs}) : Desc(),
      destination, window.window.strides, skipped(window.window.dilations),
      window.window.pads_begin, window.window.pads_end);
  const bool clamps = spec.residual == adds;
  dnnl::convolution_forward::primitive_desc chosen(
      desc, attributes(clamps ? spec.clamp : std::nullopt, adds ? &destination : nullptr), cpu());
  while (is_wrong(chosen, window.window)) {
    if (!chosen.next_impl()) throw Error(ErrorCode::kUnsupported, "oneDNN has no correct kernel");
  }
  const std::size_t pack = packs.add({Desc(weights, kF32, steps), chosen.weights_desc(),
                                      channels.begin * per_output, channels.begin, outputs});
  pieces.push_back({chosen, dnnl::convolution_forward(chosen), pack, window.source_offset,
                    window.destination_offset, scratch, channels});
  scratch += scratch_bytes(chosen.scratchpad_desc());
  if (by_channels) scratch += scratch_bytes(destination);
}

void Convolution::State::run(const Piece& piece, const float* source, const Packed::Part& weights,
                             const float* residual, float* destination,
                             std::byte* workspace) const {
  const auto& desc = piece.desc;
  std::byte* const scratchpad = at_bytes(workspace, piece.scratch_offset);
  float* result = destination + piece.destination_offset;
  if (by_channels) {
    result = reinterpret_cast<float*>(scratchpad + scratch_bytes(desc.scratchpad_desc()));
  }
  Args args = weighted_args(desc, source + piece.source_offset, weights, result, scratchpad);
  if (residual != nullptr && !by_channels) {
    args.emplace(DNNL_ARG_ATTR_MULTIPLE_POST_OP(0) | DNNL_ARG_SRC_1,
                 memory_at(desc.dst_desc(), residual + piece.destination_offset));
  }
  execute(piece.primitive, args);
  if (!by_channels) return;
  place_columns(result, spec.destination.elements() / spec.destination[1], piece.channels,
                spec.destination[1], residual, spec.clamp, destination);
}

Convolution::Convolution(const ConvSpec& spec, int threads) : state_(std::make_unique<State>()) {
  const OnThisThread alone;
  state_->spec = spec;
  state_->by_channels = divides_channels(spec, threads);
  const std::int64_t outputs = spec.weights[0];
  const std::int64_t products = spec.destination.elements() / outputs * spec.weights.elements();
  guarded("convolution", [&] {
    if (state_->by_channels) {
      for (const Range64& channels : divide_evenly(outputs, threads, kVector)) {
        state_->add({spec.source, spec.destination, spec.window, 0, 0}, channels);
      }
      return;
    }
    for (const WindowPiece& piece : divide_window(spec.source, spec.destination, spec.window,
                                                  spec.layout, products, threads)) {
      state_->add(piece, {0, outputs});
    }
  });
}

Convolution::~Convolution() = default;

std::string Convolution::format() const { return state_->packs.format(); }

PackedPtr Convolution::pack(const float* weights, const float* bias) const {
  return state_->packs.pack(weights, bias);
}

std::int64_t Convolution::workspace_bytes() const { return state_->scratch; }

std::string Convolution::implementation() const {
  return state_->pieces.front().desc.impl_info_str();
}

void Convolution::run(const float* source, const Packed& packed, const float* residual,
                      float* destination, std::byte* workspace) const {
  run_pieces(state_->pieces, [&](const State::Piece& piece) {
    state_->run(piece, source, packed.parts[piece.pack], residual, destination, workspace);
  });
}

}  // namespace qtool::onednn

// Transposed convolution through oneDNN.
#include <algorithm>
#include <memory>
#include <utility>

#include "base/saturate.h"
#include "ops/onednn/engine.h"

namespace qtool::onednn {
namespace {

// ONNX's weights [C, M / groups, kernel...], described with oneDNN's axes: [groups,] M / groups, C
// / groups, kernel...
Desc stored_weights(const WeightedSpec& spec) {
  const Dims& stored = spec.weights.dims();
  const Dims steps = strides_of(stored, spec.weights_layout);
  Dims dims{stored[1], stored[0] / spec.groups};
  Dims strides{steps[1], steps[0]};
  dims.insert(dims.end(), stored.begin() + 2, stored.end());
  strides.insert(strides.end(), steps.begin() + 2, steps.end());
  if (spec.groups > 1) {
    dims.insert(dims.begin(), spec.groups);
    strides.insert(strides.begin(), stored[0] / spec.groups * steps[0]);
  }
  return {dims, kF32, strides};
}

}  // namespace

struct Deconvolution::State {
  struct Piece {
    dnnl::deconvolution_forward::primitive_desc desc;
    dnnl::deconvolution_forward primitive;
    std::size_t pack;
    std::int64_t source_offset;
    std::int64_t destination_offset;
    std::int64_t scratch_offset;
  };

  std::vector<Piece> pieces;
  PackPlans packs;
  std::int64_t scratch = 0;
  int threads = 1;
  std::int64_t longest_call = 0;  // multiplications, including those of padding
};

bool Deconvolution::takes(const Window& window) {
  for (std::size_t axis = 0; axis < window.strides.size(); ++axis) {
    if (window.pads_end[axis] <= -window.strides[axis]) return false;
  }
  return true;
}

Deconvolution::Deconvolution(const WeightedSpec& spec, int threads)
    : state_(std::make_unique<State>()) {
  const OnThisThread alone;
  const Desc stored = stored_weights(spec);
  const std::int64_t outputs = spec.destination[1];
  const std::int64_t products =
      saturating_product(spec.source.elements() / spec.source[1], spec.weights.elements());
  state_->threads = std::max(threads, 1);
  const std::int64_t per_result = spec.weights.elements() / outputs;
  const auto divide = [&](std::int64_t longest) {
    state_->pieces.clear();
    state_->packs = {};
    state_->scratch = state_->longest_call = 0;
    for (const WindowPiece& piece :
         divide_window(spec.source, spec.destination, spec.window, spec.layout, products, threads,
                       WindowUse::kScatter, longest)) {
      check_stop_inside();
      const dnnl::deconvolution_forward::desc desc(
          dnnl::prop_kind::forward_inference, dnnl::algorithm::deconvolution_direct,
          dense(piece.source.dims(), spec.layout), any(stored.dims()),
          spec.bias ? dense({outputs}) : Desc(), dense(piece.destination.dims(), spec.layout),
          piece.window.strides, skipped(piece.window.dilations), piece.window.pads_begin,
          piece.window.pads_end);
      const dnnl::deconvolution_forward::primitive_desc chosen(
          desc, attributes(std::nullopt, nullptr), cpu());
      const std::size_t pack = state_->packs.add({stored, chosen.weights_desc(), 0, 0, outputs});
      state_->pieces.push_back({chosen, dnnl::deconvolution_forward(chosen), pack,
                                piece.source_offset, piece.destination_offset, state_->scratch});
      state_->scratch += scratch_bytes(chosen.scratchpad_desc());
      state_->longest_call = std::max(state_->longest_call,
                                      saturating_product(piece.destination.elements(), per_result));
    }
  };
  guarded("transposed convolution", [&] {
    for (const std::int64_t longest : kLongestCalls) {
      divide(longest);
      if (!is_slow(state_->pieces.front().desc)) break;
    }
  });
  state_->scratch = share_scratch(state_->pieces, state_->threads, state_->scratch);
}

Deconvolution::~Deconvolution() = default;

bool Deconvolution::ends_soon() const {
  return state_->longest_call <= kLongestCalls[1] || !is_slow(state_->pieces.front().desc);
}

std::string Deconvolution::format() const { return state_->packs.format(); }

PackedPtr Deconvolution::pack(const float* weights, const float* bias) const {
  return state_->packs.pack(weights, bias);
}

std::int64_t Deconvolution::workspace_bytes() const { return state_->scratch; }

std::string Deconvolution::implementation() const {
  return state_->pieces.front().desc.impl_info_str();
}

void Deconvolution::run(const float* source, const Packed& packed, float* destination,
                        std::byte* workspace) const {
  run_pieces(state_->pieces, state_->threads, [&](const State::Piece& piece) {
    execute(piece.primitive,
            weighted_args(piece.desc, source + piece.source_offset, packed.parts[piece.pack],
                          destination + piece.destination_offset,
                          at_bytes(workspace, piece.scratch_offset)));
  });
}

}  // namespace qtool::onednn

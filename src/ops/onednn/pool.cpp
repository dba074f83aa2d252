// Pooling through oneDNN.
#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "base/saturate.h"
#include "ops/onednn/engine.h"

namespace qtool::onednn {
namespace {

constexpr std::int64_t kLongestPooling = std::int64_t{1} << 30;  // reads

// The largest number of elements under a window.
std::int64_t window_taps(const WindowedSpec& spec) {
  std::int64_t taps = 1;
  for (std::size_t axis = 0; axis < spec.window.kernel.size(); ++axis) {
    taps *= std::min(spec.window.kernel[axis], spec.source[static_cast<std::int64_t>(axis) + 2]);
  }
  return taps;
}

std::vector<WindowPiece> divide_pooling(const PoolSpec& spec, int threads) {
  const std::int64_t reads = saturating_product(spec.destination.elements(), window_taps(spec));
  if (spec.layout == Layout::kChannelsLast || reads / kLongestPooling < std::max(threads, 1)) {
    return divide_window(spec.source, spec.destination, spec.window, spec.layout, reads, threads,
                         WindowUse::kGather, kLongestPooling);
  }
  // Treats each plane as an image of one channel, so that the work is divided by rows.
  const auto planes_of = [](const Shape& shape) {
    std::vector<std::int64_t> dims = shape.dims();
    dims[0] *= std::exchange(dims[1], 1);
    return Shape(std::move(dims));
  };
  return divide_window(planes_of(spec.source), planes_of(spec.destination), spec.window,
                       Layout::kChannelsLast, reads, threads, WindowUse::kGather, kLongestPooling);
}

}  // namespace

bool Pooling::takes(const PoolSpec& spec, int threads) {
  const std::int64_t taps = window_taps(spec);
  return std::ranges::all_of(divide_pooling(spec, threads), [&](const WindowPiece& piece) {
    return saturating_product(piece.destination.elements(), taps) <= 2 * kLongestPooling;
  });
}

struct Pooling::State {
  struct Piece {
    dnnl::pooling_v2_forward::primitive_desc desc;
    dnnl::pooling_v2_forward primitive;
    std::int64_t source_offset;
    std::int64_t destination_offset;
    std::int64_t scratch_offset;
  };

  std::vector<Piece> pieces;
  std::int64_t scratch = 0;
  int threads = 1;
};

Pooling::Pooling(const PoolSpec& spec, int threads) {
  const OnThisThread alone;
  dnnl::algorithm algorithm = dnnl::algorithm::pooling_max;
  if (spec.kind == PoolKind::kAverageIncludingPadding) {
    algorithm = dnnl::algorithm::pooling_avg_include_padding;
  } else if (spec.kind == PoolKind::kAverageExcludingPadding) {
    algorithm = dnnl::algorithm::pooling_avg_exclude_padding;
  }
  state_ = std::make_unique<State>();
  state_->threads = std::max(threads, 1);
  guarded("pooling", [&] {
    for (const WindowPiece& piece : divide_pooling(spec, threads)) {
      check_stop_inside();
      const dnnl::pooling_v2_forward::desc desc(
          dnnl::prop_kind::forward_inference, algorithm, dense(piece.source.dims(), spec.layout),
          dense(piece.destination.dims(), spec.layout), piece.window.strides, piece.window.kernel,
          skipped(piece.window.dilations), piece.window.pads_begin, piece.window.pads_end);
      const dnnl::pooling_v2_forward::primitive_desc chosen(desc, attributes(std::nullopt, nullptr),
                                                            cpu());
      state_->pieces.push_back({chosen, dnnl::pooling_v2_forward(chosen), piece.source_offset,
                                piece.destination_offset, state_->scratch});
      state_->scratch += scratch_bytes(chosen.scratchpad_desc());
    }
  });
  state_->scratch = share_scratch(state_->pieces, state_->threads, state_->scratch);
}

Pooling::~Pooling() = default;

std::int64_t Pooling::workspace_bytes() const { return state_->scratch; }

void Pooling::run(const float* source, float* destination, std::byte* workspace) const {
  run_pieces(state_->pieces, state_->threads, [&](const State::Piece& piece) {
    const auto& desc = piece.desc;
    execute(piece.primitive,
            {{DNNL_ARG_SRC, memory_at(desc.src_desc(), source + piece.source_offset)},
             {DNNL_ARG_DST, memory_at(desc.dst_desc(), destination + piece.destination_offset)},
             {DNNL_ARG_SCRATCHPAD,
              memory_at(desc.scratchpad_desc(), at_bytes(workspace, piece.scratch_offset))}});
  });
}

}  // namespace qtool::onednn

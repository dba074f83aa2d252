// Pooling through oneDNN.
#include <functional>
#include <memory>
#include <numeric>

#include "ops/onednn_engine.h"

namespace qtool::onednn {

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
};

Pooling::Pooling(const PoolSpec& spec, int threads) {
  const OnThisThread alone;
  dnnl::algorithm algorithm = dnnl::algorithm::pooling_max;
  if (spec.kind == PoolKind::kAverageIncludingPadding) {
    algorithm = dnnl::algorithm::pooling_avg_include_padding;
  } else if (spec.kind == PoolKind::kAverageExcludingPadding) {
    algorithm = dnnl::algorithm::pooling_avg_exclude_padding;
  }
  const std::int64_t reads = std::accumulate(spec.window.kernel.begin(), spec.window.kernel.end(),
                                             spec.destination.elements(), std::multiplies<>());
  state_ = std::make_unique<State>();
  guarded("pooling", [&] {
    for (const WindowPiece& piece :
         divide_window(spec.source, spec.destination, spec.window, spec.layout, reads, threads)) {
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
}

Pooling::~Pooling() = default;

std::int64_t Pooling::workspace_bytes() const { return state_->scratch; }

void Pooling::run(const float* source, float* destination, std::byte* workspace) const {
  run_pieces(state_->pieces, [&](const State::Piece& piece) {
    const auto& desc = piece.desc;
    execute(piece.primitive,
            {{DNNL_ARG_SRC, memory_at(desc.src_desc(), source + piece.source_offset)},
             {DNNL_ARG_DST, memory_at(desc.dst_desc(), destination + piece.destination_offset)},
             {DNNL_ARG_SCRATCHPAD,
              memory_at(desc.scratchpad_desc(), at_bytes(workspace, piece.scratch_offset))}});
  });
}

}  // namespace qtool::onednn

// Matrix products through oneDNN.
#include <algorithm>
#include <memory>
#include <utility>

#include "base/saturate.h"
#include "ops/onednn/engine.h"

namespace qtool::onednn {
namespace {

// A stored operand of a product: [batch..., rows, columns], possibly with the last two axes swapped
// in memory.
struct Matrices {
  Dims dims;
  Dims strides;

  Matrices(const Shape& shape, bool transposed) : dims(shape.dims()) {
    const std::size_t rank = dims.size();
    Dims stored = dims;
    if (transposed) std::swap(stored[rank - 1], stored[rank - 2]);
    strides = strides_of(stored, Layout::kPlain);
    if (transposed) std::swap(strides[rank - 1], strides[rank - 2]);
  }
  [[nodiscard]] Desc desc() const { return {dims, kF32, strides}; }
};

// Part of an operand along one axis, and the offset where it begins. An axis of extent 1
// broadcasts, so all parts read it as a whole.
struct MatricesPart {
  Matrices part;
  std::int64_t offset = 0;

  MatricesPart(const Matrices& whole, std::size_t axis, const Range64& range) : part(whole) {
    if (whole.dims[axis] == 1) return;
    part.dims[axis] = range.end - range.begin;
    offset = range.begin * whole.strides[axis];
  }

  /// The part of this part along another axis.
  [[nodiscard]] MatricesPart along(std::size_t axis, const Range64& range) const {
    MatricesPart inner(part, axis, range);
    inner.offset += offset;
    return inner;
  }
};

// The axis of the result [batch..., M, N] that threads divide among themselves.
std::size_t divided_axis(const Shape& destination, int threads) {
  const auto rank = static_cast<std::size_t>(destination.rank());
  constexpr std::int64_t kRowsPerThread = 4;  // fewer do not pay
  if (rank > 2 && destination[0] >= threads) return 0;
  const std::int64_t rows = destination[destination.rank() - 2];
  return rows >= kRowsPerThread * threads ? rank - 2 : rank - 1;
}

}  // namespace

struct Matmul::State {
  struct Piece {
    dnnl::matmul::primitive_desc desc;
    dnnl::matmul primitive;
    std::size_t pack;
    std::int64_t a_offset;
    std::int64_t destination_offset;
    std::int64_t scratch_offset;

    [[nodiscard]] Args args(const float* a, const Packed& b, float* destination,
                            std::byte* workspace) const {
      return weighted_args(desc, a + a_offset, b.parts[pack], destination + destination_offset,
                           at_bytes(workspace, scratch_offset));
    }
  };

  std::vector<Piece> pieces;
  PackPlans packs;
  std::int64_t scratch = 0;
  int threads = 1;
};

Matmul::Matmul(const MatmulSpec& spec, int threads) {
  const OnThisThread alone;
  constexpr std::int64_t kWorthDividing = 1 << 15;  // products; fewer take at most a microsecond
  const Matrices a(spec.a, spec.transposed_a);
  const Matrices b(spec.b, spec.transposed_b);
  const Matrices destination(spec.destination, false);
  const std::size_t rank = destination.dims.size();
  const std::size_t axis = divided_axis(spec.destination, threads);
  const bool of_columns = axis == rank - 1;
  const bool of_rows = axis == rank - 2;
  const std::int64_t products = saturating_product(spec.destination.elements(), a.dims.back());
  if (products < kWorthDividing) threads = 1;
  // There are more parts than threads when the work is long. If whole matrices are divided among
  // the threads, the rows of large matrices are divided too.
  const std::int64_t parts = std::max<std::int64_t>(threads, parts_of(products));
  const auto ranges = divide_evenly(destination.dims[axis], parts, of_columns ? kVector : 1);
  const std::int64_t rows = destination.dims[rank - 2];
  const bool of_matrices = !of_columns && !of_rows;
  const std::int64_t row_parts =
      of_matrices ? parts_of(products / std::max<std::int64_t>(std::ssize(ranges), 1)) : 1;
  const auto row_ranges = divide_evenly(rows, row_parts);
  const auto whole_of = [](const Matrices& operand) {
    return MatricesPart(operand, 0, {0, operand.dims[0]});
  };
  state_ = std::make_unique<State>();
  state_->threads = std::max(threads, 1);
  const auto add = [&](const Range64& range, const Range64& some_rows) {
    check_stop_inside();
    const MatricesPart a_all = of_columns ? whole_of(a) : MatricesPart(a, axis, range);
    const MatricesPart b_part = of_rows ? whole_of(b) : MatricesPart(b, axis, range);
    const MatricesPart all(destination, axis, range);
    const MatricesPart a_part = row_parts == 1 ? a_all : a_all.along(rank - 2, some_rows);
    const MatricesPart result = row_parts == 1 ? all : all.along(rank - 2, some_rows);
    const std::int64_t columns = result.part.dims.back();
    Dims bias_dims(rank, 1);
    bias_dims.back() = columns;
    const Desc a_desc = a_part.part.desc();
    const Desc b_desc = any(b_part.part.dims);
    const Desc result_desc = result.part.desc();
    const dnnl::matmul::desc desc =
        spec.bias ? dnnl::matmul::desc(a_desc, b_desc, dense(bias_dims), result_desc)
                  : dnnl::matmul::desc(a_desc, b_desc, result_desc);
    const dnnl::matmul::primitive_desc chosen(desc, attributes(spec.clamp, nullptr, spec.alpha),
                                              cpu());
    const std::size_t pack =
        state_->packs.add({b_part.part.desc(), chosen.weights_desc(), b_part.offset,
                           of_columns ? range.begin : 0, columns});
    state_->pieces.push_back(
        {chosen, dnnl::matmul(chosen), pack, a_part.offset, result.offset, state_->scratch});
    state_->scratch += scratch_bytes(chosen.scratchpad_desc());
  };
  guarded("matrix product", [&] {
    for (const Range64& range : ranges) {
      for (const Range64& some_rows : row_ranges) add(range, some_rows);
    }
  });
  state_->scratch = share_scratch(state_->pieces, state_->threads, state_->scratch);
}

Matmul::~Matmul() = default;

std::string Matmul::format() const { return state_->packs.format(); }

PackedPtr Matmul::pack(const float* b, const float* bias) const {
  return state_->packs.pack(b, bias);
}

std::int64_t Matmul::workspace_bytes() const { return state_->scratch; }

std::function<void()> Matmul::bind(const float* a, const PackedPtr& b, float* destination,
                                   std::byte* workspace) const {
  std::vector<Args> args;
  for (const State::Piece& piece : state_->pieces) {
    args.push_back(piece.args(a, *b, destination, workspace));
  }
  return [state = state_.get(), args = std::move(args), b] {
    run_pieces(state->pieces, state->threads, [&](const State::Piece& piece) {
      execute(piece.primitive, args[static_cast<std::size_t>(&piece - state->pieces.data())]);
    });
  };
}

void Matmul::run(const float* a, const Packed& b, float* destination, std::byte* workspace) const {
  run_pieces(state_->pieces, state_->threads, [&](const State::Piece& piece) {
    execute(piece.primitive, piece.args(a, b, destination, workspace));
  });
}

void add_gram(const float* x, std::int64_t rows, std::int64_t columns, float* gram) {
  const OnThisThread alone;
  const dnnl_status_t status = dnnl_sgemm('T', 'N', columns, columns, rows, 1.0F, x, columns, x,
                                          columns, 1.0F, gram, columns);
  QTOOL_CHECK(status == dnnl_success);
}

}  // namespace qtool::onednn

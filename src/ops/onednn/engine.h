#pragma once

// Shared by the .cpp files of this folder only (see onednn.h).
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <oneapi/dnnl/dnnl.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/parallel.h"
#include "base/stop.h"
#include "base/text.h"
#include "ops/onednn/onednn.h"
#include "ops/pieces.h"
#include "qtool/base/error.h"

namespace qtool::onednn {

using Dims = dnnl::memory::dims;
using Desc = dnnl::memory::desc;
using Args = std::unordered_map<int, dnnl::memory>;
/// The channels or columns of a piece are a multiple of this, so that few vectors are partly empty.
inline constexpr std::int64_t kVector = 16;
inline constexpr auto kF32 = dnnl::memory::data_type::f32;

const dnnl::engine& cpu();

/// While this lives, oneDNN runs on the calling thread only. We divide the work among the threads
/// of our pool; OpenMP's threads would spin on the cores that ours need.
class OnThisThread {
 public:
  OnThisThread() noexcept;
  ~OnThisThread();
  OnThisThread(const OnThisThread&) = delete;
  OnThisThread& operator=(const OnThisThread&) = delete;

 private:
  int saved_;
};

/// Runs `call` and turns oneDNN's exception into ours.
template <typename Call>
auto guarded(std::string_view what, const Call& call) {
  try {
    return call();
  } catch (const dnnl::error& error) {
    throw Error(ErrorCode::kUnsupported, to_text("oneDNN refuses this ", what, ": ", error.what()));
  }
}

dnnl::memory memory_at(const Desc& desc, const void* data);

/// Strides of a dense array in `layout`: plain, or with the channels (axis 1) innermost.
Dims strides_of(const Dims& dims, Layout layout);
Desc dense(const Dims& dims, Layout layout = Layout::kPlain);
/// A descriptor that lets the primitive choose the format.
Desc any(const Dims& dims);

/// Dilations as oneDNN counts them: the number of elements that are skipped.
Dims skipped(const Dims& dilations);

/// The operations fused behind a primitive: its result is multiplied by `alpha`, then a residual of
/// the result's format is added, then the clamp or the function is applied.
dnnl::primitive_attr attributes(const std::optional<Clamp>& clamp, const Desc* residual,
                                float alpha = 1.0F,
                                const std::optional<FusedFunction>& function = {});

/// Bytes of a scratchpad, rounded up so that a scratchpad behind it is aligned.
std::int64_t scratch_bytes(const Desc& scratchpad);
std::byte* at_bytes(std::byte* base, std::int64_t offset);

void execute(const dnnl::primitive& primitive, const Args& args);

/// The most multiplications of one call of oneDNN: first for its fast implementations, then for its
/// plain loops (is_slow()).
inline constexpr std::int64_t kLongestCalls[] = {kLongestCall, kLongestCall >> 3};
template <typename PrimitiveDesc>
bool is_slow(const PrimitiveDesc& desc) {
  return std::string_view(desc.impl_info_str()).starts_with("ref");
}

/// The number of threads that run `pieces` pieces: one thread per piece, or `threads` when there
/// are many pieces because a long run must be stoppable between them.
inline int workers_for(std::int64_t pieces, int threads) {
  return pieces <= 2 * std::int64_t{threads} ? static_cast<int>(pieces) : threads;
}

/// Calls `run(piece)` for each piece, in parallel.
template <typename Piece, typename Run>
void run_pieces(const std::vector<Piece>& pieces, int threads, const Run& run) {
  const auto count = static_cast<std::int64_t>(pieces.size());
  parallel_ranges(count, workers_for(count, threads), [&](std::int64_t from, std::int64_t to, int) {
    const OnThisThread alone;
    for (std::int64_t i = from; i < to; ++i) {
      check_stop_inside();
      run(pieces[static_cast<std::size_t>(i)]);
    }
  });
}

/// The pieces come with one scratchpad each, one behind the other, of `bytes` bytes together. Lets
/// all pieces that one thread runs share one scratchpad. Returns the bytes that are needed then.
template <typename Piece>
std::int64_t share_scratch(std::vector<Piece>& pieces, int threads, std::int64_t bytes) {
  const auto count = static_cast<std::int64_t>(pieces.size());
  const std::int64_t workers = workers_for(count, threads);
  if (workers == count) return bytes;
  std::int64_t largest = 0;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const std::int64_t end = i + 1 < pieces.size() ? pieces[i + 1].scratch_offset : bytes;
    largest = std::max(largest, end - pieces[i].scratch_offset);
  }
  for (std::int64_t worker = 0; worker < workers; ++worker) {
    for (std::int64_t i = count * worker / workers; i < count * (worker + 1) / workers; ++i) {
      pieces[static_cast<std::size_t>(i)].scratch_offset = worker * largest;
    }
  }
  return workers * largest;
}

/// The part of the weights and of the bias that a piece reads, and the format in which it reads
/// them.
struct PackPlan {
  Desc plain;
  Desc wanted;
  std::int64_t offset = 0;  ///< where the part begins in the plain weights, elements
  std::int64_t bias_offset = 0;
  std::int64_t bias_count = 0;
};

/// The packs of an operation. Pieces that read the same part in the same format share a pack.
class PackPlans {
 public:
  /// Returns the index of the pack.
  std::size_t add(PackPlan plan);
  [[nodiscard]] PackedPtr pack(const float* weights, const float* bias) const;
  /// Identifies what pack() reads and the format it writes, for sharing packed weights between
  /// primitives.
  [[nodiscard]] std::string format() const;

 private:
  std::vector<PackPlan> plans_;
};

class Packed {
 public:
  struct Part {
    Tensor weights;
    Tensor bias;
  };
  std::vector<Part> parts;
  /// Of the matrix products that Winograd consists of; its only part has the bias alone.
  std::vector<PackedPtr> products;
};

/// The memory that a primitive with weights reads and writes, including a bias if the pack has one.
template <typename PrimitiveDesc>
Args weighted_args(const PrimitiveDesc& desc, const float* source, const Packed::Part& weights,
                   float* destination, std::byte* scratchpad) {
  Args args{{DNNL_ARG_SRC, memory_at(desc.src_desc(), source)},
            {DNNL_ARG_WEIGHTS, memory_at(desc.weights_desc(), weights.weights.data())},
            {DNNL_ARG_DST, memory_at(desc.dst_desc(), destination)},
            {DNNL_ARG_SCRATCHPAD, memory_at(desc.scratchpad_desc(), scratchpad)}};
  if (weights.bias.elements() > 0) {
    args.emplace(DNNL_ARG_BIAS, memory_at(desc.bias_desc(), weights.bias.data()));
  }
  return args;
}

}  // namespace qtool::onednn

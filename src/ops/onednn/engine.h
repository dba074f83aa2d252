#pragma once

// Shared by the onednn_*.cpp files only (see onednn.h).
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
/// Channels or columns of a piece are multiples of this, so that few vectors are partly empty.
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
    throw Error(ErrorCode::kUnsupported, concat("oneDNN refuses this ", what, ": ", error.what()));
  }
}

dnnl::memory memory_at(const Desc& desc, const void* data);

/// Strides of a dense array with the channels (axis 1) innermost, or of a plain one.
Dims strides_of(const Dims& dims, Layout layout);
Desc dense(const Dims& dims, Layout layout = Layout::kPlain);
/// A descriptor that lets the primitive choose the format.
Desc any(const Dims& dims);

/// Dilations as oneDNN counts them: the elements that are skipped.
Dims skipped(const Dims& dilations);

/// What is fused behind the operation: times `alpha`, plus a residual of the result's format, then
/// the clamp or the function.
dnnl::primitive_attr attributes(const std::optional<Clamp>& clamp, const Desc* residual,
                                float alpha = 1.0F,
                                const std::optional<FusedFunction>& function = {});

/// Bytes of a scratchpad, such that the next one after it is aligned.
std::int64_t scratch_bytes(const Desc& scratchpad);
std::byte* at_bytes(std::byte* base, std::int64_t offset);

void execute(const dnnl::primitive& primitive, const Args& args);

/// What a call of oneDNN may multiply, by whether its plain loops compute it.
inline constexpr std::int64_t kLongestCalls[] = {kLongestCall, kLongestCall >> 3};
template <typename PrimitiveDesc>
bool is_slow(const PrimitiveDesc& desc) {
  return std::string_view(desc.impl_info_str()).starts_with("ref");
}

/// Threads that run so many pieces: one for each, or `threads` when they were divided further to be
/// stopped between them.
inline int workers_for(std::int64_t pieces, int threads) {
  return pieces <= 2 * std::int64_t{threads} ? static_cast<int>(pieces) : threads;
}

/// Runs `run(piece)` for each of the pieces.
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

/// Pieces have scratchpads one behind the other, `bytes` together. Lets those that one thread runs
/// share one. Returns the bytes that are left.
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

/// Which part of the weights and bias a piece reads, and in which format.
struct PackPlan {
  Desc plain;
  Desc wanted;
  std::int64_t offset = 0;  ///< of the part in the plain weights, elements
  std::int64_t bias_offset = 0;
  std::int64_t bias_count = 0;
};

/// The packs of an operation. Pieces that read the same part in the same format share one.
class PackPlans {
 public:
  /// Index of the pack.
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
};

/// The memory that a primitive with weights, and a bias where the pack has one, reads and writes.
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

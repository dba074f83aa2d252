#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "ops/lowered.h"
#include "ops/spatial.h"
#include "qtool/tensor/tensor.h"

// The only interface to oneDNN: FP32 convolution, its transpose, matrix product and pooling. A port
// to its 3.x interface changes onednn_*.cpp only. oneDNN itself runs on one thread; `threads`
// threads of our pool divide an operation among themselves.
namespace qtool::onednn {

/// Weights and bias in the memory format a primitive asked for.
class Packed;
using PackedPtr = std::shared_ptr<const Packed>;

/// What convolution and pooling have in common.
struct WindowedSpec {
  Shape source;       ///< [N, C, spatial...]
  Shape destination;  ///< [N, M, spatial...]
  Window window;
  Layout layout = Layout::kPlain;
};

/// What a convolution and its transpose have in common.
struct WeightedSpec : WindowedSpec {
  Shape weights;  ///< [M, C / groups, kernel...], of a transpose [C, M / groups, kernel...]
  Layout weights_layout = Layout::kPlain;
  std::int64_t groups = 1;
  bool bias = false;  ///< one value per output channel
};

struct ConvSpec : WeightedSpec {
  bool residual = false;  ///< adds a tensor of the destination's shape and layout before the clamp
  std::optional<Clamp> clamp;
  std::optional<FusedFunction> function;  ///< instead of residual and clamp
};

/// dst = clamp(conv(src, weights) + bias + residual), or dst = function(conv(src, weights) + bias).
class Convolution {
 public:
  Convolution(const ConvSpec& spec, int threads);
  ~Convolution();
  Convolution(const Convolution&) = delete;
  Convolution& operator=(const Convolution&) = delete;

  /// Identifies how pack() reads weights and the format it writes, for sharing packed weights
  /// between primitives. Opaque bytes, to be compared only.
  [[nodiscard]] std::string format() const;
  [[nodiscard]] PackedPtr pack(const float* weights, const float* bias) const;
  [[nodiscard]] std::int64_t workspace_bytes() const;
  [[nodiscard]] std::string implementation() const;
  void run(const float* source, const Packed& packed, const float* residual, float* destination,
           std::byte* workspace) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// The transposed convolution of ONNX's ConvTranspose, dst = conv^T(src, weights) + bias, window as
/// resolve_conv_transpose() makes it. oneDNN fuses no clamp behind it at a useful speed.
class Deconvolution {
 public:
  /// Whether oneDNN takes such a window: it knows outputs behind the last tap only as far as the
  /// next input element would begin.
  [[nodiscard]] static bool takes(const Window& window);

  Deconvolution(const WeightedSpec& spec, int threads);
  /// Whether a run ends soon when it is asked to: no call of oneDNN's plain loops takes long.
  [[nodiscard]] bool ends_soon() const;
  ~Deconvolution();
  Deconvolution(const Deconvolution&) = delete;
  Deconvolution& operator=(const Deconvolution&) = delete;

  [[nodiscard]] std::string format() const;  ///< as Convolution::format()
  [[nodiscard]] PackedPtr pack(const float* weights, const float* bias) const;
  [[nodiscard]] std::int64_t workspace_bytes() const;
  [[nodiscard]] std::string implementation() const;
  void run(const float* source, const Packed& packed, float* destination,
           std::byte* workspace) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

struct MatmulSpec {
  Shape a;  ///< [batch..., M, K]
  Shape b;  ///< [batch..., K, N], same rank
  Shape destination;
  bool transposed_a = false;  ///< memory holds [..., K, M]
  bool transposed_b = false;  ///< memory holds [..., N, K]
  bool bias = false;          ///< one value per column
  float alpha = 1.0F;
  std::optional<Clamp> clamp;
};

/// dst = clamp(alpha * a b + bias); batch extents of 1 broadcast.
class Matmul {
 public:
  Matmul(const MatmulSpec& spec, int threads);
  ~Matmul();
  Matmul(const Matmul&) = delete;
  Matmul& operator=(const Matmul&) = delete;

  [[nodiscard]] std::string format() const;  ///< as Convolution::format()
  [[nodiscard]] PackedPtr pack(const float* b, const float* bias) const;
  [[nodiscard]] std::int64_t workspace_bytes() const;
  void run(const float* a, const Packed& b, float* destination, std::byte* workspace) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// gram[i, j] += the sum over rows r of x[r, i] x[r, j], with x [rows, columns] and a symmetric
/// gram [columns, columns]. On one thread: the same input gives the same bits.
void add_gram(const float* x, std::int64_t rows, std::int64_t columns, float* gram);

enum class PoolKind : std::uint8_t { kMax, kAverageIncludingPadding, kAverageExcludingPadding };

struct PoolSpec : WindowedSpec {
  PoolKind kind = PoolKind::kMax;
};

class Pooling {
 public:
  /// Whether a run ends soon when it is asked to: no row of the result takes long.
  [[nodiscard]] static bool takes(const PoolSpec& spec, int threads);

  Pooling(const PoolSpec& spec, int threads);
  ~Pooling();
  Pooling(const Pooling&) = delete;
  Pooling& operator=(const Pooling&) = delete;

  [[nodiscard]] std::int64_t workspace_bytes() const;
  void run(const float* source, float* destination, std::byte* workspace) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace qtool::onednn

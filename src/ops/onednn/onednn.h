#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "ops/lowered.h"
#include "ops/spatial.h"
#include "qtool/tensor/tensor.h"

// The only interface to oneDNN: FP32 convolution, its transpose, matrix product and pooling. A port
// to its 3.x interface changes engine.h and the .cpp files of this folder only. oneDNN itself runs
// on one thread; `threads` threads of our pool divide an operation among themselves.
namespace qtool::onednn {

/// Weights and bias in the memory format a primitive asked for.
class Packed;
using PackedPtr = std::shared_ptr<const Packed>;

/// The common fields of convolution and pooling.
struct WindowedSpec {
  Shape source;       ///< [N, C, spatial...]
  Shape destination;  ///< [N, M, spatial...]
  Window window;
  Layout layout = Layout::kPlain;
};

/// The common fields of a convolution and a transposed convolution.
struct WeightedSpec : WindowedSpec {
  Shape weights;  ///< [M, C / groups, kernel...]; transposed: [C, M / groups, kernel...]
  Layout weights_layout = Layout::kPlain;
  std::int64_t groups = 1;
  bool bias = false;  ///< one value per output channel
};

struct ConvSpec : WeightedSpec {
  bool residual = false;  ///< adds a tensor of the destination's shape and layout before the clamp
  std::optional<Clamp> clamp;
  std::optional<FusedFunction> function;  ///< instead of residual and clamp
  bool packs_once = true;                 ///< weights and bias are constants
};

/// dst = clamp(conv(src, weights) + bias + residual), or dst = function(conv(src, weights) + bias).
class Convolution {
 public:
  Convolution() = default;
  virtual ~Convolution() = default;
  Convolution(const Convolution&) = delete;
  Convolution& operator=(const Convolution&) = delete;

  /// Identifies how pack() reads weights and the format it writes, for sharing packed weights
  /// between primitives. Opaque bytes, to be compared only.
  [[nodiscard]] virtual std::string format() const = 0;
  [[nodiscard]] virtual PackedPtr pack(const float* weights, const float* bias) const = 0;
  [[nodiscard]] virtual std::int64_t workspace_bytes() const = 0;
  [[nodiscard]] virtual std::string implementation() const = 0;
  virtual void run(const float* source, const Packed& packed, const float* residual,
                   float* destination, std::byte* workspace) const = 0;
};

/// The convolution by the method that suits `spec`; the choice does not depend on `threads`.
std::unique_ptr<const Convolution> make_convolution(const ConvSpec& spec, int threads);

/// The transposed convolution of ONNX's ConvTranspose, dst = conv^T(src, weights) + bias, with a
/// window made by resolve_conv_transpose(). oneDNN cannot fuse a clamp behind it at a useful speed.
class Deconvolution {
 public:
  /// Whether oneDNN accepts this window. It accepts outputs behind the last tap only up to the
  /// position where the next input element would begin.
  [[nodiscard]] static bool takes(const Window& window);

  Deconvolution(const WeightedSpec& spec, int threads);
  /// Whether a run can be stopped quickly: no call of oneDNN's plain loops takes long.
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
  /// A function that does the same as run() with these arguments. A product that runs many times
  /// with the same memory saves the time that oneDNN takes to describe it, about a microsecond. The
  /// product and the memory must outlive the function.
  [[nodiscard]] std::function<void()> bind(const float* a, const PackedPtr& b, float* destination,
                                           std::byte* workspace) const;

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
  /// Whether a run can be stopped quickly: no piece of the result takes long to compute.
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

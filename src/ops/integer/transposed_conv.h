#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ops/integer/packed_product.h"
#include "ops/spatial.h"

// Integer transposed convolution on the kernels of QConv. Outputs whose positions have the same
// residues modulo the strides read adjacent inputs with the same taps: together they are an
// ordinary convolution of stride 1. So the operator runs one such convolution for each pair of
// residues. It needs no intermediate result, and all sums are exact.
namespace qtool {

/// The outputs r + stride q, q in [0, count), along one axis. Tap taps[t] reads input
/// q - pad + t dilation.
struct Residue {
  std::int64_t count = 0;
  std::int64_t pad = 0;
  std::int64_t dilation = 1;
  std::vector<std::int64_t> taps;  ///< none: the outputs hold the bias
};

/// Residue `r` of the axis `axis` of the window of a ConvTranspose.
Residue residue_of(const Window& window, std::size_t axis, std::int64_t r);

/// `each` weights of real value 0 for each output channel of the node.
std::vector<std::int8_t> zero_weights(const OpContext& op, std::int64_t each);

/// The geometry of a QConvTranspose, whose weights are [M, C / groups, kernel...].
ConvGeometry integer_conv_transpose(const OpContext& op);

/// A transposed convolution of one channels-last image. Immutable.
class TransposedConv {
 public:
  /// The extents of the image. Its rows and columns are the axes `first` and `first + 1` of the
  /// window.
  struct Image {
    std::int64_t channels = 1;
    std::int64_t groups = 1;
    std::int64_t height = 1;
    std::int64_t width = 1;
    std::int64_t out_channels = 1;
    std::size_t first = 0;
  };
  /// `filters`: [out_channels][channels / groups][kernel of both axes]. `part` tells their packs
  /// apart from other packs that are made of the same weights of the node.
  TransposedConv(const OpContext& op, const Image& image, const Window& window,
                 std::span<const std::int8_t> filters, const std::string& part);

  /// Writes row `y` of the result: out_width() pixels of element_bytes() bytes. `scratch`:
  /// scratch_bytes() bytes.
  void run_row(const std::uint8_t* image, std::int64_t y, std::byte* out, std::byte* scratch) const;
  [[nodiscard]] std::int64_t out_height() const { return out_h_; }
  [[nodiscard]] std::int64_t out_width() const { return out_w_; }
  /// Bytes of all channels of an output pixel. The kernel writes u8, float32 or int32 sums.
  [[nodiscard]] std::int64_t element_bytes() const { return element_; }
  [[nodiscard]] std::int64_t scratch_bytes() const { return scratch_bytes_; }
  [[nodiscard]] std::string_view kernel() const { return phases_.front().conv->kernel(); }

 private:
  // The convolution of one pair of residues, for one row of output.
  struct Phase {
    std::shared_ptr<const PackedConv> conv;
    ConvShape shape;  // pad_top is that of q = 0
    bool one_row;     // whether there is one row of taps
  };
  void add(const OpContext& op, const Image& image, const std::array<std::int64_t, 2>& kernel,
           std::span<const std::int8_t> filters, const Residue& rows, const Residue& columns,
           const std::string& part);

  std::array<std::int64_t, 2> strides_;
  std::int64_t row_bytes_;  // bytes of a row of the input
  std::int64_t out_h_;
  std::int64_t out_w_;
  std::int64_t element_;
  std::vector<Phase> phases_;  // by residue of the row, then of the column
  std::int64_t scratch_bytes_ = 0;
};

}  // namespace qtool

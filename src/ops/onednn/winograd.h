#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kernels/winograd/winograd.h"
#include "ops/onednn/onednn.h"

namespace qtool::onednn {

/// A 3x3 convolution of stride 1 by Winograd's method: tiles of 4x4 results need 36 products for
/// each pair of channels instead of 144. oneDNN multiplies the matrices. The work is cut in the
/// same way for every number of threads and images, so the results are the same bits. They are less
/// exact than plain sums: the error of a result is some 1e-6 of the largest products of the 6x6
/// pixels that its tile reads, and an infinite pixel makes NaN of the whole tile.
class Winograd final : public Convolution {
 public:
  /// Whether the method applies and is faster than plain sums.
  [[nodiscard]] static bool suits(const ConvSpec& spec);

  Winograd(const ConvSpec& spec, int threads);

  [[nodiscard]] std::string format() const override;
  [[nodiscard]] PackedPtr pack(const float* weights, const float* bias) const override;
  [[nodiscard]] std::int64_t workspace_bytes() const override;
  [[nodiscard]] std::string implementation() const override;
  void run(const float* source, const Packed& packed, const float* residual, float* destination,
           std::byte* workspace) const override;

 private:
  // What a run reads and writes, for one image.
  struct Image {
    const float* source;
    const float* bias;
    const float* residual;  // null: none
    float* destination;
  };
  // Where one or several threads compute a chunk of tiles.
  struct Scratch {
    float* source;         // [places][chunk][channels]
    float* result;         // [places][chunk][output channels]
    std::byte* of_thread;  // thread_bytes() for each thread
  };

  [[nodiscard]] std::int64_t chunk_bytes() const;
  [[nodiscard]] std::int64_t thread_bytes() const;
  void run_chunk(const Image& image, std::int64_t first_tile, const Packed& packed,
                 const Scratch& scratch, int threads) const;
  void read_tile(const Image& image, std::int64_t tile, float* places) const;
  void write_tile(const Image& image, std::int64_t tile, const float* places, float* outside) const;

  ConvSpec spec_;
  int threads_;
  WinogradKernel kernel_;
  std::int64_t columns_ = 0;         // tiles
  std::int64_t tiles_ = 0;           // per image
  std::int64_t chunk_ = 0;           // tiles in one product
  std::int64_t chunks_ = 0;          // per image
  int slots_ = 1;                    // chunks at a time: one, or one for each thread
  std::unique_ptr<Matmul> product_;  // [kPlacesPerProduct] matrices
  std::vector<float> zeros_;
};

}  // namespace qtool::onednn

#pragma once

#include <cstdint>

#include "kernels/winograd/contract.h"

// The code of all kernels of the family: loops over blocks of channels, which the compiler
// vectorizes for the instruction set of the file that includes it.
namespace qtool {
namespace {  // NOLINT(google-build-namespaces): an ISA file must not emit functions that other
             // files could use

constexpr std::int64_t kBlock = 16;  // channels

/// B^T d for one column d of six numbers; `step` numbers lie between the elements of `to`.
[[gnu::always_inline]] inline void source_column(const float* const (&d)[kWinogradSide], float* to,
                                                 std::int64_t step) {
  constexpr float kSum = kWinogradNear2 + kWinogradFar2;
  constexpr float kProduct = kWinogradNear2 * kWinogradFar2;
  for (std::int64_t c = 0; c < kBlock; ++c) {
    const float even = d[4][c] - kWinogradFar2 * d[2][c];
    const float odd = kWinogradNear * (d[3][c] - kWinogradFar2 * d[1][c]);
    const float even_far = d[4][c] - kWinogradNear2 * d[2][c];
    const float odd_far = kWinogradFar * (d[3][c] - kWinogradNear2 * d[1][c]);
    to[c] = kProduct * d[0][c] - kSum * d[2][c] + d[4][c];
    to[step + c] = even + odd;
    to[2 * step + c] = even - odd;
    to[3 * step + c] = even_far + odd_far;
    to[4 * step + c] = even_far - odd_far;
    to[5 * step + c] = kProduct * d[1][c] - kSum * d[3][c] + d[5][c];
  }
}

/// B^T d B for kBlock channels; place k goes to[k * step].
[[gnu::always_inline]] inline void source_block(const float* const* pixels, std::int64_t at,
                                                float* to, std::int64_t step) {
  float half[kWinogradPlaces * kBlock];  // (B^T d)^T: column by column
  for (int j = 0; j < kWinogradSide; ++j) {
    const float* column[kWinogradSide];
    for (int i = 0; i < kWinogradSide; ++i) column[i] = pixels[i * kWinogradSide + j] + at;
    source_column(column, half + j * kWinogradSide * kBlock, kBlock);
  }
  float row[kWinogradSide * kBlock];
  for (int i = 0; i < kWinogradSide; ++i) {
    const float* column[kWinogradSide];
    for (int j = 0; j < kWinogradSide; ++j) column[j] = half + (j * kWinogradSide + i) * kBlock;
    source_column(column, row, kBlock);
    for (int j = 0; j < kWinogradSide; ++j) {
      __builtin_memcpy(to + (i * kWinogradSide + j) * step, row + j * kBlock,
                       sizeof(float) * kBlock);
    }
  }
}

inline void source_tile(const WinogradSource& tile) {
  std::int64_t at = 0;
  for (; at + kBlock <= tile.channels; at += kBlock) {
    source_block(tile.pixels, at, tile.places + at, tile.step);
  }
  if (at == tile.channels) return;
  const auto bytes = static_cast<std::uint64_t>(tile.channels - at) * sizeof(float);
  float pixels[kWinogradPlaces * kBlock] = {};
  float places[kWinogradPlaces * kBlock];
  const float* rest[kWinogradPlaces];
  for (int k = 0; k < kWinogradPlaces; ++k) {
    __builtin_memcpy(pixels + k * kBlock, tile.pixels[k] + at, bytes);
    rest[k] = pixels + k * kBlock;
  }
  source_block(rest, 0, places, kBlock);
  for (int k = 0; k < kWinogradPlaces; ++k) {
    __builtin_memcpy(tile.places + k * tile.step + at, places + k * kBlock, bytes);
  }
}

/// A^T m for one column m of six numbers.
[[gnu::always_inline]] inline void result_column(const float* const (&m)[kWinogradSide], float* to,
                                                 std::int64_t step) {
  for (std::int64_t c = 0; c < kBlock; ++c) {
    const float sum = m[1][c] + m[2][c];
    const float difference = kWinogradNear * (m[1][c] - m[2][c]);
    const float sum_far = m[3][c] + m[4][c];
    const float difference_far = kWinogradFar * (m[3][c] - m[4][c]);
    to[c] = m[0][c] + sum + sum_far;
    to[step + c] = difference + difference_far;
    to[2 * step + c] = kWinogradNear2 * sum + kWinogradFar2 * sum_far;
    to[3 * step + c] = kWinogradNear2 * difference + kWinogradFar2 * difference_far + m[5][c];
  }
}

/// A^T m A for kBlock channels: [pixel][kBlock].
[[gnu::always_inline]] inline void result_block(const float* places, std::int64_t step, float* to) {
  float half[kWinogradSide * kWinogradTile * kBlock];  // (A^T m)^T: column by column
  for (int j = 0; j < kWinogradSide; ++j) {
    const float* column[kWinogradSide];
    for (int i = 0; i < kWinogradSide; ++i) column[i] = places + (i * kWinogradSide + j) * step;
    result_column(column, half + j * kWinogradTile * kBlock, kBlock);
  }
  for (int i = 0; i < kWinogradTile; ++i) {
    const float* column[kWinogradSide];
    for (int j = 0; j < kWinogradSide; ++j) column[j] = half + (j * kWinogradTile + i) * kBlock;
    result_column(column, to + i * kWinogradTile * kBlock, kBlock);
  }
}

/// Adds the bias and the residual, which may be null, to one pixel and applies the clamp.
[[gnu::always_inline]] inline void finish_pixel(const WinogradResult& tile, const float* bias,
                                                const float* residual, float* y) {
  for (std::int64_t c = 0; c < kBlock; ++c) y[c] += bias[c];
  if (residual != nullptr) {
    for (std::int64_t c = 0; c < kBlock; ++c) y[c] += residual[c];
  }
  const float low = tile.low;
  const float high = tile.high;
  for (std::int64_t c = 0; c < kBlock; ++c) {
    y[c] = y[c] < low ? low : y[c];
    y[c] = y[c] > high ? high : y[c];
  }
}

inline void result_tile(const WinogradResult& tile) {
  float results[kWinogradTile * kWinogradTile * kBlock];
  std::int64_t at = 0;
  for (; at + kBlock <= tile.channels; at += kBlock) {
    result_block(tile.places + at, tile.step, results);
    for (int pixel = 0; pixel < kWinogradTile * kWinogradTile; ++pixel) {
      const float* residual = tile.residuals[pixel];
      float* y = results + pixel * kBlock;
      finish_pixel(tile, tile.bias + at, residual == nullptr ? nullptr : residual + at, y);
      __builtin_memcpy(tile.pixels[pixel] + at, y, sizeof(float) * kBlock);
    }
  }
  if (at == tile.channels) return;
  const auto bytes = static_cast<std::uint64_t>(tile.channels - at) * sizeof(float);
  float places[kWinogradPlaces * kBlock] = {};
  for (int k = 0; k < kWinogradPlaces; ++k) {
    __builtin_memcpy(places + k * kBlock, tile.places + k * tile.step + at, bytes);
  }
  float bias[kBlock] = {};
  __builtin_memcpy(bias, tile.bias + at, bytes);
  result_block(places, kBlock, results);
  for (int pixel = 0; pixel < kWinogradTile * kWinogradTile; ++pixel) {
    float residual[kBlock] = {};
    const bool adds = tile.residuals[pixel] != nullptr;
    if (adds) __builtin_memcpy(residual, tile.residuals[pixel] + at, bytes);
    float* y = results + pixel * kBlock;
    finish_pixel(tile, bias, adds ? residual : nullptr, y);
    __builtin_memcpy(tile.pixels[pixel] + at, y, bytes);
  }
}

constexpr WinogradFunctions kWinograd = {source_tile, result_tile};

}  // namespace
}  // namespace qtool

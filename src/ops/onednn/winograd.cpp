#include "ops/onednn/winograd.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/parallel.h"
#include "base/round_up.h"
#include "base/text.h"
#include "ops/onednn/engine.h"

namespace qtool::onednn {
namespace {

constexpr std::int64_t kPlaces = kWinogradPlaces;
constexpr std::int64_t kPlacesPerProduct = 3;  // 12 products for the threads
constexpr std::int64_t kProducts = kPlaces / kPlacesPerProduct;

std::int64_t float_bytes(std::int64_t count) {
  return align_up(count * static_cast<std::int64_t>(sizeof(float)));
}

std::int64_t tiles_of(const ConvSpec& spec) {
  return ceil_div(spec.destination[2], kWinogradTile) *
         ceil_div(spec.destination[3], kWinogradTile);
}

}  // namespace

bool Winograd::suits(const ConvSpec& spec) {
  // With fewer channels, the changes of numbers cost more than the products they save.
  constexpr std::int64_t kLeastChannels = 32;
  constexpr std::int64_t kLeastWeights = 2048;  // of one place
  // Reading the weights of all places must not cost more either.
  constexpr std::int64_t kMostWeights = 400'000;
  constexpr std::int64_t kLeastTiles = 12;
  constexpr std::int64_t kLeastUsed = kWinogradTile * kWinogradTile / 2;  // results of a tile
  const Window& window = spec.window;
  const auto ones = [](const std::vector<std::int64_t>& values) {
    return std::ranges::all_of(values, [](auto value) { return value == 1; });
  };
  const bool applies = spec.layout == Layout::kChannelsLast && spec.groups == 1 && !spec.function &&
                       spec.weights.rank() == 4 && spec.weights[2] == 3 && spec.weights[3] == 3 &&
                       ones(window.strides) && ones(window.dilations);
  if (!applies || !spec.packs_once || spec.source[0] == 0) return false;
  const std::int64_t weights = spec.weights[0] * spec.weights[1];
  const std::int64_t tiles = tiles_of(spec);
  return spec.weights[0] >= kLeastChannels && spec.weights[1] >= kLeastChannels &&
         weights >= kLeastWeights && weights <= kMostWeights && tiles >= kLeastTiles &&
         spec.destination[2] * spec.destination[3] >= kLeastUsed * tiles;
}

Winograd::Winograd(const ConvSpec& spec, int threads)
    : spec_(spec),
      threads_(std::max(threads, 1)),
      columns_(ceil_div(spec.destination[3], kWinogradTile)),
      tiles_(tiles_of(spec)) {
  // As many tiles as stay in the second-level cache, but enough to use the weights well.
  constexpr std::int64_t kCachedBytes = 1 << 20;
  constexpr std::int64_t kLeastChunk = 64;
  const std::int64_t channels = spec.weights[1];
  const std::int64_t outputs = spec.weights[0];
  const std::int64_t most =
      std::max(kLeastChunk, kCachedBytes / (kPlaces * (channels + outputs) * 4));
  chunks_ = ceil_div(tiles_, most);
  chunk_ = ceil_div(tiles_, chunks_);
  const std::int64_t items = spec.source[0] * chunks_;
  if (items % threads_ == 0 || items >= 4 * std::int64_t{threads_}) slots_ = threads_;
  MatmulSpec product;
  product.a = Shape{kPlacesPerProduct, chunk_, channels};
  product.b = Shape{kPlacesPerProduct, channels, outputs};
  product.destination = Shape{kPlacesPerProduct, chunk_, outputs};
  product_ = std::make_unique<Matmul>(product, 1);
  zeros_.resize(static_cast<std::size_t>(channels));
}

std::string Winograd::format() const {
  return to_text("winograd ", static_cast<int>(spec_.weights_layout), " ", product_->format());
}

PackedPtr Winograd::pack(const float* weights, const float* bias) const {
  const std::int64_t channels = spec_.weights[1];
  const std::int64_t outputs = spec_.weights[0];
  constexpr std::int64_t kBlock = 32;
  const Dims steps = strides_of(spec_.weights.dims(), spec_.weights_layout);
  Tensor places(DType::kFloat32, Shape{kPlaces, channels, outputs});
  float* const to = places.values<float>().data();
  parallel_ranges(channels, threads_, [&](std::int64_t begin, std::int64_t end, int) {
    for (std::int64_t c = begin; c < end; ++c) {
      check_stop_inside();
      for (std::int64_t first = 0; first < outputs; first += kBlock) {
        const std::int64_t count = std::min(kBlock, outputs - first);
        float block[kPlaces][kBlock];  // so that neighbours are written together
        for (std::int64_t m = 0; m < count; ++m) {
          const float* from = weights + (first + m) * steps[0] + c * steps[1];
          double filter[9];
          for (std::int64_t i = 0; i < 9; ++i) {
            filter[i] = double{from[i / 3 * steps[2] + i % 3 * steps[3]]};
          }
          double changed[kPlaces];
          winograd_weights(filter, changed);
          for (std::int64_t k = 0; k < kPlaces; ++k) block[k][m] = static_cast<float>(changed[k]);
        }
        for (std::int64_t k = 0; k < kPlaces; ++k) {
          std::copy_n(block[k], count, to + (k * channels + c) * outputs + first);
        }
      }
    }
  });
  auto packed = std::make_shared<Packed>();
  for (std::int64_t i = 0; i < kProducts; ++i) {
    packed->products.push_back(
        product_->pack(to + i * kPlacesPerProduct * channels * outputs, nullptr));
  }
  Tensor biases(DType::kFloat32, Shape{outputs});  // zeros
  if (bias != nullptr) std::copy_n(bias, outputs, biases.values<float>().data());
  packed->parts.push_back({{}, std::move(biases)});
  return packed;
}

std::int64_t Winograd::chunk_bytes() const {
  return float_bytes(kPlaces * chunk_ * spec_.weights[1]) +
         float_bytes(kPlaces * chunk_ * spec_.weights[0]);
}

std::int64_t Winograd::thread_bytes() const {
  return align_up(std::max(float_bytes(spec_.weights[0]), product_->workspace_bytes()));
}

std::int64_t Winograd::workspace_bytes() const {
  return slots_ * chunk_bytes() + threads_ * thread_bytes();
}

std::string Winograd::implementation() const { return to_text("winograd:", kernel_.kernel()); }

// Changes the pixels that a tile reads. Pixels outside the image are zeros.
void Winograd::read_tile(const Image& image, std::int64_t tile, float* places) const {
  const std::int64_t channels = spec_.weights[1];
  const std::int64_t height = spec_.source[2];
  const std::int64_t width = spec_.source[3];
  const std::int64_t top = tile / columns_ * kWinogradTile - spec_.window.pads_begin[0];
  const std::int64_t left = tile % columns_ * kWinogradTile - spec_.window.pads_begin[1];
  WinogradSource call;
  for (std::int64_t k = 0; k < kPlaces; ++k) {
    const std::int64_t y = top + k / kWinogradSide;
    const std::int64_t x = left + k % kWinogradSide;
    const bool inside = y >= 0 && y < height && x >= 0 && x < width;
    call.pixels[k] = inside ? image.source + (y * width + x) * channels : zeros_.data();
  }
  call.channels = channels;
  call.places = places;
  call.step = chunk_ * channels;
  kernel_.source(call);
}

// Writes the results of a tile. Those outside the result go to `outside`.
void Winograd::write_tile(const Image& image, std::int64_t tile, const float* places,
                          float* outside) const {
  const std::int64_t channels = spec_.weights[0];
  const std::int64_t height = spec_.destination[2];
  const std::int64_t width = spec_.destination[3];
  WinogradResult call;
  for (std::int64_t k = 0; k < kWinogradTile * kWinogradTile; ++k) {
    const std::int64_t y = tile / columns_ * kWinogradTile + k / kWinogradTile;
    const std::int64_t x = tile % columns_ * kWinogradTile + k % kWinogradTile;
    const bool inside = y < height && x < width;
    const std::int64_t at = (y * width + x) * channels;
    call.pixels[k] = inside ? image.destination + at : outside;
    call.residuals[k] = inside && image.residual != nullptr ? image.residual + at : nullptr;
  }
  call.places = places;
  call.step = chunk_ * channels;
  call.channels = channels;
  call.bias = image.bias;
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  call.low = spec_.clamp ? spec_.clamp->min : -kInfinity;
  call.high = spec_.clamp ? spec_.clamp->max : kInfinity;
  kernel_.result(call);
}

void Winograd::run_chunk(const Image& image, std::int64_t first_tile, const Packed& packed,
                         const Scratch& scratch, int threads) const {
  const std::int64_t channels = spec_.weights[1];
  const std::int64_t outputs = spec_.weights[0];
  const std::int64_t tiles = std::min(chunk_, tiles_ - first_tile);
  const auto memory_of = [&](int thread) { return scratch.of_thread + thread * thread_bytes(); };
  parallel_ranges(tiles, threads, [&](std::int64_t begin, std::int64_t end, int) {
    for (std::int64_t i = begin; i < end; ++i) {
      read_tile(image, first_tile + i, scratch.source + i * channels);
    }
  });
  parallel_ranges(kProducts, threads, [&](std::int64_t begin, std::int64_t end, int thread) {
    for (std::int64_t i = begin; i < end; ++i) {
      check_stop_inside();
      const std::int64_t rows = i * kPlacesPerProduct * chunk_;
      product_->run(scratch.source + rows * channels, *packed.products[static_cast<std::size_t>(i)],
                    scratch.result + rows * outputs, memory_of(thread));
    }
  });
  parallel_ranges(tiles, threads, [&](std::int64_t begin, std::int64_t end, int thread) {
    auto* outside = reinterpret_cast<float*>(memory_of(thread));
    for (std::int64_t i = begin; i < end; ++i) {
      write_tile(image, first_tile + i, scratch.result + i * outputs, outside);
    }
  });
}

void Winograd::run(const float* source, const Packed& packed, const float* residual,
                   float* destination, std::byte* workspace) const {
  const std::int64_t images = spec_.source[0];
  const std::int64_t read = spec_.source.elements() / images;
  const std::int64_t written = spec_.destination.elements() / images;
  const float* bias = packed.parts.front().bias.values<float>().data();
  std::byte* const of_threads = workspace + slots_ * chunk_bytes();
  const auto run_item = [&](std::int64_t item, int slot, int threads) {
    const std::int64_t i = item / chunks_;
    const Image image{source + i * read, bias,
                      residual == nullptr ? nullptr : residual + i * written,
                      destination + i * written};
    std::byte* memory = workspace + slot * chunk_bytes();
    const Scratch scratch{
        reinterpret_cast<float*>(memory),
        reinterpret_cast<float*>(memory + float_bytes(kPlaces * chunk_ * spec_.weights[1])),
        of_threads + slot * thread_bytes()};
    run_chunk(image, item % chunks_ * chunk_, packed, scratch, threads);
  };
  if (slots_ == threads_) {
    parallel_ranges(images * chunks_, threads_,
                    [&](std::int64_t begin, std::int64_t end, int worker) {
                      for (std::int64_t item = begin; item < end; ++item) run_item(item, worker, 1);
                    });
    return;
  }
  for (std::int64_t item = 0; item < images * chunks_; ++item) run_item(item, 0, threads_);
}

}  // namespace qtool::onednn

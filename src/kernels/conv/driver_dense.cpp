#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>

#include "base/parallel.h"
#include "base/round_up.h"
#include "base/stop.h"
#include "kernels/conv/dense_rows.h"
#include "kernels/conv/driver.h"
#include "kernels/conv/pack_weights.h"
#include "kernels/gemm/gemm.h"

namespace qtool {
namespace {

constexpr std::int64_t kTileRows = 24;              // a tile of pixels has about as many rows
constexpr std::int64_t kTableBytes = 8192;          // a block's pointer table: a part of the L1
constexpr std::int64_t kMaxTiles = 4;               // largest number of tiles per block
constexpr std::int64_t kProductsPerStep = 64;       // products that take about as long as a step
constexpr std::int64_t kCachedWeights = 384 << 10;  // weight bytes that stay in L2 beside the rest

// Divides the work of one convolution into tiles of pixels and units of channels, and sets their
// order.
struct Schedule {
  enum class Order : std::uint8_t { kPixelsOuter, kUnitsOuter } order = Order::kPixelsOuter;
  std::int64_t pixels = 0;
  std::int64_t tile = 0;
  std::int64_t tiles = 0;
  std::int64_t block = 0;  ///< largest number of pixels in one kernel call
};

// The destination of the results of a run, and the values that are added to them.
struct Results {
  std::byte* output;
  ConvAdded added;
};

// Scratch memory of one worker during a run.
struct Scratch {
  const std::uint8_t** table;
  std::uint8_t* rows;
  std::byte* kernel;
};

// The sizes of the parts of a worker's scratch memory, in bytes.
struct ScratchBytes {
  std::int64_t table = 0;
  std::int64_t rows = 0;
  std::int64_t kernel = 0;
  [[nodiscard]] std::int64_t all() const { return table + rows + kernel; }
};

class DenseConv final : public ConvDriver {
 public:
  DenseConv(const ConvWeights& weights, ConvOutput output, const KernelSelection& selection)
      : kernel_(select_kernel(gemm_kernels(), selection)),
        panels_(pack_panels(weights, output, kernel_.functions->layout)),
        output_(std::move(output)),
        in_channels_(weights.in_channels),
        kernel_h_(weights.kernel_h),
        kernel_w_(weights.kernel_w),
        groups_(weights.groups),
        out_channels_(weights.out_channels),
        zero_point_(static_cast<std::uint8_t>(weights.input_zero_point)),
        zero_pixel_(static_cast<std::size_t>(in_channels_), zero_point_) {}

  [[nodiscard]] std::string_view kernel() const override { return kernel_.name; }

  [[nodiscard]] std::int64_t workspace_bytes(const ConvShape& shape, int threads) const override {
    const ScratchBytes each =
        scratch_of_worker(geometry_of(shape, nullptr), schedule_of(shape, threads));
    return each.all() * std::max(threads, 1) + padding_bytes(shape) + kAlignment;
  }

  void run(const ConvShape& shape, const std::uint8_t* input, void* output, std::byte* workspace,
           int threads, const ConvAdded& added) const override;

 private:
  [[nodiscard]] RowMode mode_of(const ConvShape& shape) const {
    return choose_row_mode(shape, panels_.kind, groups_);
  }
  [[nodiscard]] std::int64_t all_taps() const { return panels_.terms * panels_.taps; }
  [[nodiscard]] ScratchBytes scratch_of_worker(const RowGeometry& geometry,
                                               const Schedule& schedule) const;
  // Bytes of the padding pixel in the workspace; it is there when only this run knows its value.
  [[nodiscard]] std::int64_t padding_bytes(const ConvShape& shape) const {
    return shape.padding ? align_up(in_channels_) : 0;
  }
  [[nodiscard]] bool is_strided(const ConvShape& shape) const;
  [[nodiscard]] RowGeometry geometry_of(const ConvShape& shape, const std::uint8_t* input) const;
  [[nodiscard]] Schedule schedule_of(const ConvShape& shape, int threads) const;
  [[nodiscard]] GemmCall call_of(const ConvShape& shape, const PanelUnit& unit) const;
  void run_pixels(const RowGeometry& geometry, std::int64_t first, std::int64_t last,
                  std::int64_t block, std::span<const PanelUnit> units, const Results& results,
                  const Scratch& scratch) const;

  const KernelRow<GemmFunctions>& kernel_;
  PackedPanels panels_;
  ConvOutput output_;
  std::int64_t in_channels_;
  std::int64_t kernel_h_;
  std::int64_t kernel_w_;
  std::int64_t groups_;
  std::int64_t out_channels_;
  std::uint8_t zero_point_;
  std::vector<std::uint8_t> zero_pixel_;
};

// A 1x1 convolution with adjacent pixels needs no pointer table.
bool DenseConv::is_strided(const ConvShape& shape) const {
  return panels_.kind == TapKind::kPixel && all_taps() == 1 && shape.stride_h == 1 &&
         shape.stride_w == 1 && shape.pad_top == 0 && shape.pad_left == 0 &&
         shape.in_h == shape.out_h && shape.in_w == shape.out_w;
}

RowGeometry DenseConv::geometry_of(const ConvShape& shape, const std::uint8_t* input) const {
  RowGeometry geometry;
  geometry.shape = shape;
  geometry.kernel_h = kernel_h_;
  geometry.kernel_w = kernel_w_;
  geometry.in_channels = in_channels_;
  geometry.group_channels = in_channels_ / groups_;
  geometry.row_bytes = panels_.row_bytes;
  geometry.terms = panels_.terms;
  geometry.input = input;
  geometry.zero_pixel = zero_pixel_.data();
  geometry.zero_point = zero_point_;
  return geometry;
}

ScratchBytes DenseConv::scratch_of_worker(const RowGeometry& geometry,
                                          const Schedule& schedule) const {
  ScratchBytes bytes;
  bytes.table = align_up(all_taps() * schedule.block * static_cast<std::int64_t>(sizeof(void*)));
  bytes.rows = align_up(scratch_bytes(geometry, mode_of(geometry.shape), schedule.block));
  if (const auto of_kernel = kernel_.functions->scratch_bytes; of_kernel != nullptr) {
    bytes.kernel = align_up(of_kernel({schedule.block, all_taps(), panels_.row_bytes}));
  }
  return bytes;
}

Schedule DenseConv::schedule_of(const ConvShape& shape, int threads) const {
  Schedule schedule;
  schedule.pixels = shape.batch * shape.out_h * shape.out_w;
  const std::int64_t rows = kernel_.functions->layout.rows;
  const std::int64_t full_tile = ceil_div(kTileRows, rows) * rows;
  schedule.tile = full_tile;
  schedule.tiles = ceil_div(schedule.pixels, schedule.tile);
  const auto units = static_cast<std::int64_t>(panels_.units.size());
  // All units read the copied rows, so copy them once.
  const bool copies = panels_.kind == TapKind::kRow;
  const bool coarse = threads > 1 && schedule.tiles < 8 * threads;
  if (!copies && units > 1 && (coarse || panels_.weights.bytes() > kCachedWeights)) {
    schedule.order = Schedule::Order::kUnitsOuter;
  }
  // Tiles become smaller where full tiles would leave a thread without work.
  const std::int64_t others = schedule.order == Schedule::Order::kUnitsOuter ? units : 1;
  while (threads > 1 && schedule.tile > 6 && schedule.tiles * others < 8 * threads) {
    schedule.tile /= 2;
    schedule.tiles = ceil_div(schedule.pixels, schedule.tile);
  }
  const std::int64_t pointers = all_taps() * static_cast<std::int64_t>(sizeof(void*));
  const std::int64_t tiles =
      std::clamp(kTableBytes / (pointers * full_tile), std::int64_t{1}, kMaxTiles);
  schedule.block = tiles * full_tile;
  return schedule;
}

GemmCall DenseConv::call_of(const ConvShape& shape, const PanelUnit& unit) const {
  GemmCall call;
  call.taps = all_taps();
  call.row_bytes = panels_.row_bytes;
  call.weights = panels_.weights.values<std::int8_t>().data() + unit.weights_at;
  if (!panels_.steps.empty()) {
    call.starts = panels_.starts.data() + unit.starts_at;
    call.steps = panels_.steps.data() + unit.steps_at;
  }
  call.panels = unit.panels;
  call.channels = unit.channels;
  call.bias = panels_.bias.data() + unit.columns_at;
  call.multiplier = panels_.multiplier.data() + unit.columns_at;
  if (!panels_.negative.empty()) call.negative = panels_.negative.data() + unit.columns_at;
  if (!panels_.addend.empty()) call.addend = panels_.addend.data() + unit.columns_at;
  call.output_type = output_.type;
  call.output_stride = shape.out_pixel_stride;
  call.zero_point = output_.zero_point;
  call.low = output_.low;
  call.high = output_.high;
  if (output_.curve) {
    call.curve = &*output_.curve;
    call.factors = panels_.factors.data() + unit.columns_at;
  }
  if (output_.residual) {
    call.residual_stride = out_channels_;
    call.residual_multiplier = output_.residual->multiplier;
    call.residual_zero = output_.residual->zero_point;
  }
  return call;
}

void DenseConv::run_pixels(const RowGeometry& geometry, std::int64_t first, std::int64_t last,
                           std::int64_t block, std::span<const PanelUnit> units,
                           const Results& results, const Scratch& scratch) const {
  const ConvShape& shape = geometry.shape;
  const RowMode mode = mode_of(shape);
  const bool strided = is_strided(shape);
  const std::int64_t element = output_.type == OutputType::kUInt8 ? 1 : 4;
  const std::int64_t area = shape.out_h * shape.out_w;
  const std::int64_t row_products = all_taps() * panels_.row_bytes;
  StopPace pace;
  while (first < last) {
    std::int64_t count = std::min(block, last - first);
    if (mode != RowMode::kIndirect) count = std::min(count, area - first % area);
    if (!strided) fill_rows(geometry, mode, first, count, block, scratch.table, scratch.rows);
    std::int64_t copied_group = -1;
    for (const PanelUnit& unit : units) {
      GemmCall call = call_of(shape, unit);
      call.row_count = count;
      call.scratch = scratch.kernel;
      call.output = results.output + (first * shape.out_pixel_stride + unit.channel) * element;
      const std::int64_t at = first * out_channels_ + unit.channel;
      if (results.added.residual != nullptr) call.residual = results.added.residual + at;
      if (results.added.base != nullptr) {
        call.onto = results.added.base + at;
        call.onto_stride = out_channels_;
      }
      const std::int64_t group_offset = unit.group * geometry.group_channels;
      if (strided) {
        call.source = RowSource::kStrided;
        call.base = geometry.input + first * shape.in_pixel_stride + group_offset;
        call.row_stride = shape.in_pixel_stride;
      } else {
        call.rows = scratch.table;
        call.row_pitch = block;
        call.row_offset = mode == RowMode::kIndirect ? group_offset : 0;
      }
      if (mode == RowMode::kPatches && unit.group != copied_group) {
        copy_patches(geometry, unit.group, first, count, scratch.rows);
        copied_group = unit.group;
      }
      pace.step(count * row_products * unit.channels / kProductsPerStep);
      kernel_.functions->run(call);
    }
    first += count;
  }
}

void DenseConv::run(const ConvShape& shape, const std::uint8_t* input, void* output,
                    std::byte* workspace, int threads, const ConvAdded& added) const {
  RowGeometry geometry = geometry_of(shape, input);
  const Schedule schedule = schedule_of(shape, threads);
  const ScratchBytes each = scratch_of_worker(geometry, schedule);
  std::byte* aligned = align_up(workspace);
  if (shape.padding) {
    auto* pixel = reinterpret_cast<std::uint8_t*>(aligned);
    std::fill_n(pixel, in_channels_, *shape.padding);
    geometry.zero_pixel = pixel;
    geometry.zero_point = *shape.padding;
    aligned += padding_bytes(shape);
  }
  const Results results{static_cast<std::byte*>(output), added};
  const std::span<const PanelUnit> units(panels_.units);
  const auto scratch_of = [&](int worker) {
    std::byte* mine = aligned + each.all() * worker;
    return Scratch{reinterpret_cast<const std::uint8_t**>(mine),
                   reinterpret_cast<std::uint8_t*>(mine + each.table),
                   mine + each.table + each.rows};
  };
  const auto end_of = [&](std::int64_t tile) {
    return std::min(schedule.pixels, tile * schedule.tile);
  };
  if (schedule.order == Schedule::Order::kPixelsOuter) {
    parallel_ranges(schedule.tiles, threads, [&](std::int64_t from, std::int64_t to, int worker) {
      run_pixels(geometry, end_of(from), end_of(to), schedule.block, units, results,
                 scratch_of(worker));
    });
    return;
  }
  const auto items = static_cast<std::int64_t>(units.size()) * schedule.tiles;
  parallel_ranges(items, threads, [&](std::int64_t from, std::int64_t to, int worker) {
    while (from < to) {
      const std::int64_t unit = from / schedule.tiles;
      const std::int64_t tile = from % schedule.tiles;
      const std::int64_t last = std::min(schedule.tiles, tile + (to - from));
      run_pixels(geometry, end_of(tile), end_of(last), schedule.block,
                 units.subspan(static_cast<std::size_t>(unit), 1), results, scratch_of(worker));
      from += last - tile;
    }
  });
}

}  // namespace

std::unique_ptr<const ConvDriver> make_dense_driver(const ConvWeights& weights, ConvOutput output,
                                                    const KernelSelection& selection) {
  return std::make_unique<const DenseConv>(weights, std::move(output), selection);
}

}  // namespace qtool

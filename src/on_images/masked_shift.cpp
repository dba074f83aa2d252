#include "on_images/masked_shift.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <mutex>
#include <optional>
#include <utility>

#include "base/floating_point_mode.h"
#include "base/parallel.h"
#include "base/text.h"
#include "ops/strides.h"
#include "qtool/base/error.h"
#include "samples/network_inputs.h"

namespace qtool {
namespace {

/// The sums over the positions of one channel.
struct ChannelShift {
  double difference = 0.0;
  std::int64_t positions = 0;
};

using LayerShifts = std::vector<ChannelShift>;  // by channel

/// Calls use(channel, offset in a, offset in b) for every element of two tensors of the same shape
/// [N, C, ...]. With fewer than two axes, every element belongs to channel 0.
template <typename Use>
void for_each_pair(const TensorView& a, const TensorView& b, const Use& use) {
  const Shape& shape = a.shape;
  if (shape.rank() < 2) {
    for (std::int64_t i = 0; i < shape.elements(); ++i) use(0, i, i);
    return;
  }
  const std::vector<std::int64_t> from_a = strides_of(shape, a.layout);
  const std::vector<std::int64_t> from_b = strides_of(shape, b.layout);
  const std::int64_t images = shape[0];
  const std::int64_t channels = shape[1];
  const std::int64_t pixels = images * channels == 0 ? 0 : shape.elements() / (images * channels);
  for (std::int64_t n = 0; n < images; ++n) {
    for (std::int64_t p = 0; p < pixels; ++p) {
      const bool inside = shape.rank() > 2;
      const std::int64_t at_a = n * from_a[0] + (inside ? p * from_a.back() : 0);
      const std::int64_t at_b = n * from_b[0] + (inside ? p * from_b.back() : 0);
      for (std::int64_t c = 0; c < channels; ++c) {
        use(c, at_a + c * from_a[1], at_b + c * from_b[1]);
      }
    }
  }
}

class Comparison {
 public:
  Comparison(const Executor& fp32, const Executor& int8, std::span<const ComparedLayer> layers,
             const Samples& samples, const CollectOptions& collect)
      : fp32_(fp32), int8_(int8), layers_(layers), samples_(samples), collect_(collect) {
    require_inputs_for(samples, fp32.graph());
    for (const ComparedLayer& layer : layers) {
      fp32_options_.observe.push_back(layer.fp32);
      int8_options_.observe.push_back(layer.int8);
    }
    fp32_options_.threads = int8_options_.threads = 1;
  }

  struct Worker {
    Workspace fp32;
    Workspace int8;
    std::vector<Tensor> reals;  // FP32 results of the layers
    std::vector<Layout> layouts;
  };

  /// The sums of one sample. A sample that cannot be used is added to `bad` and gives nothing.
  std::optional<std::vector<LayerShifts>> of_sample(std::int64_t item, Worker& worker,
                                                    std::vector<BadImage>& bad) const {
    const std::optional<std::vector<Tensor>> sample =
        samples_.load(item, collect_.preprocess, collect_.bad_images, bad);
    if (!sample) return std::nullopt;
    const InputShapes shapes = shapes_for(samples_, fp32_.graph(), *sample);
    const FlushDenormals flush;
    const std::vector<TensorView> views = views_of(*sample);
    worker.reals.resize(layers_.size());
    worker.layouts.resize(layers_.size());
    fp32_.compile(shapes, fp32_options_)
        ->run(views, worker.fp32, [&](std::size_t i, const TensorView& tensor) {
          worker.reals[i] = Tensor::of<float>(tensor.shape, tensor.values<float>());
          worker.layouts[i] = tensor.layout;
        });
    std::vector<LayerShifts> sums(layers_.size());
    int8_.compile(shapes, int8_options_)
        ->run(views, worker.int8, [&](std::size_t i, const TensorView& tensor) {
          const Tensor& reals = worker.reals[i];
          const TensorView real(reals.data(), DType::kFloat32, reals.shape(), worker.layouts[i]);
          sums[i] = compare(layers_[i], real, tensor);
          check(sums[i], layers_[i], item);
        });
    return sums;
  }

 private:
  static LayerShifts compare(const ComparedLayer& layer, const TensorView& real,
                             const TensorView& other) {
    const Shape& shape = real.shape;
    LayerShifts sums(shape.rank() < 2 ? 1 : static_cast<std::size_t>(shape[1]));
    const float* y = real.values<float>().data();
    const float* q = other.values<float>().data();
    for_each_pair(real, other, [&](std::int64_t c, std::int64_t in_real, std::int64_t in_other) {
      const float value = y[in_real];
      // A value that is not finite is always added, so that check() finds the sum not finite.
      if (value <= layer.above || value >= layer.below) {
        if (std::isfinite(value)) return;
      }
      ChannelShift& sum = sums[static_cast<std::size_t>(c)];
      sum.difference += static_cast<double>(q[in_other]) - static_cast<double>(value);
      ++sum.positions;
    });
    return sums;
  }

  void check(const LayerShifts& sums, const ComparedLayer& layer, std::int64_t item) const {
    for (std::size_t c = 0; c < sums.size(); ++c) {
      if (std::isfinite(sums[c].difference)) continue;
      throw Error(
          ErrorCode::kInvalidArgument,
          to_text(samples_.noun(), " '", samples_.path(item).string(), "', tensor '", layer.fp32,
                  "', channel ", c, ": found NaN or an infinity, expected finite values"));
    }
  }

  const Executor& fp32_;
  const Executor& int8_;
  std::span<const ComparedLayer> layers_;
  const Samples& samples_;
  const CollectOptions& collect_;
  CompileOptions fp32_options_;
  CompileOptions int8_options_;
};

/// Adds up the sums of samples in the order of the list, even if they become ready in another
/// order.
class OrderedTotal {
 public:
  OrderedTotal(std::size_t samples, std::size_t layers) : waiting_(samples), total_(layers) {}

  struct Ready {
    std::optional<std::vector<LayerShifts>> sums;
    std::vector<BadImage> bad;
  };

  void add(std::size_t sample, Ready ready) {
    waiting_[sample] = std::move(ready);
    for (; next_ < waiting_.size() && waiting_[next_]; ++next_) {
      add_next(*waiting_[next_]);
      waiting_[next_].reset();
    }
  }

  [[nodiscard]] bool any() const noexcept { return any_; }

  MaskedShifts mean() && {
    MaskedShifts result{{}, std::move(bad_)};
    for (const LayerShifts& layer : total_) {
      std::vector<double>& shift = result.by_layer.emplace_back();
      for (const ChannelShift& sum : layer) {
        shift.push_back(sum.difference /
                        (static_cast<double>(sum.positions) + kShiftlessPositions));
      }
    }
    return result;
  }

 private:
  void add_next(Ready& ready) {
    std::move(ready.bad.begin(), ready.bad.end(), std::back_inserter(bad_));
    if (!ready.sums) return;
    any_ = true;
    for (std::size_t i = 0; i < total_.size(); ++i) {
      const LayerShifts& layer = (*ready.sums)[i];
      total_[i].resize(std::max(total_[i].size(), layer.size()));
      for (std::size_t c = 0; c < layer.size(); ++c) {
        total_[i][c].difference += layer[c].difference;
        total_[i][c].positions += layer[c].positions;
      }
    }
  }

  std::vector<std::optional<Ready>> waiting_;  // by sample
  std::size_t next_ = 0;                       // the first sample that is not added yet
  std::vector<LayerShifts> total_;
  std::vector<BadImage> bad_;
  bool any_ = false;
};

}  // namespace

MaskedShifts masked_shifts(const Executor& fp32, const Executor& int8,
                           std::span<const ComparedLayer> layers, const Samples& samples,
                           const CollectOptions& collect, const std::function<void()>& each_image) {
  const Comparison comparison(fp32, int8, layers, samples, collect);
  const int threads = resolve_threads(collect.threads);
  std::vector<Comparison::Worker> workers(static_cast<std::size_t>(threads));
  OrderedTotal total(static_cast<std::size_t>(samples.size()), layers.size());
  std::mutex mutex;
  parallel_items(samples.size(), threads, [&](std::int64_t item, int worker) {
    OrderedTotal::Ready ready;
    ready.sums = comparison.of_sample(item, workers[static_cast<std::size_t>(worker)], ready.bad);
    const std::lock_guard lock(mutex);
    total.add(static_cast<std::size_t>(item), std::move(ready));
    each_image();
  });
  if (!total.any()) {
    throw Error(ErrorCode::kInvalidImage, to_text("bias correction: none of ", samples.size(), " ",
                                                  samples.noun(), "s is usable"));
  }
  return std::move(total).mean();
}

}  // namespace qtool

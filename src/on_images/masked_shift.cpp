#include "on_images/masked_shift.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>
#include <limits>
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

/// The sums over the positions of each channel.
struct LayerShifts {
  LayerShifts() = default;
  explicit LayerShifts(std::int64_t channels)
      : difference(static_cast<std::size_t>(channels), 0.0), positions(difference.size(), 0) {}

  std::vector<double> difference;
  std::vector<std::int64_t> positions;
};

/// Where the elements of a tensor [N, C, ...] are: the steps between images, channels and pixels.
struct Steps {
  explicit Steps(const TensorView& tensor) {
    const std::vector<std::int64_t> strides = strides_of(tensor.shape, tensor.layout);
    image = strides[0];
    channel = strides[1];
    pixel = strides.size() > 2 ? strides.back() : 0;
  }
  std::int64_t image;
  std::int64_t channel;
  std::int64_t pixel;
};

/// Adds q - y for one position of each channel, where the activation passes y. A value y that is
/// not finite is always added, so that the sum is not finite either. Without branches, because
/// which values pass is unpredictable.
[[gnu::always_inline]] inline void add_position(const float* y, std::int64_t step_y, const float* q,
                                                std::int64_t step_q, const ComparedLayer& layer,
                                                LayerShifts& sums) {
  double* difference = sums.difference.data();
  std::int64_t* positions = sums.positions.data();
  const std::int64_t channels = std::ssize(sums.difference);
  for (std::int64_t c = 0; c < channels; ++c) {
    const float real = y[c * step_y];
    const bool passes = (real > layer.above) & (real < layer.below);
    const bool is_finite = std::abs(real) <= std::numeric_limits<float>::max();
    const std::uint64_t counts = (passes | !is_finite) ? 1 : 0;
    const double error = static_cast<double>(q[c * step_q]) - static_cast<double>(real);
    // Compilers make a branch of a choice between `error` and 0.
    difference[c] += std::bit_cast<double>(std::bit_cast<std::uint64_t>(error) & (0 - counts));
    positions[c] += static_cast<std::int64_t>(counts);
  }
}

class Comparison {
 public:
  Comparison(const Graph& network, NetworkByDepth& fp32, NetworkByDepth& int8,
             std::span<const ComparedLayer> layers, const Samples& samples,
             const CollectOptions& collect)
      : network_(network),
        fp32_(fp32),
        int8_(int8),
        layers_(layers),
        samples_(samples),
        collect_(collect) {
    require_inputs_for(samples, network);
  }

  struct Worker {
    Workspace fp32;
    Workspace int8;
    std::vector<Tensor> reals;  // FP32 results of the layers
    std::vector<Layout> layouts;
  };

  /// The sums of one sample. A sample that cannot be used is added to `bad` and gives nothing.
  std::optional<std::vector<LayerShifts>> of_sample(std::int64_t item, Worker& worker,
                                                    std::vector<BadImage>& bad) {
    std::vector<Tensor> inputs;
    InputShapes shapes;
    if (fp32_.needs_inputs(item) || int8_.needs_inputs(item)) {
      std::optional<std::vector<Tensor>> sample =
          samples_.load(item, collect_.preprocess, collect_.bad_images, bad);
      if (!sample) return std::nullopt;
      inputs = *std::move(sample);
      shapes = shapes_for(samples_, network_, inputs);
    }
    const FlushDenormals flush;
    worker.reals.resize(layers_.size());
    worker.layouts.resize(layers_.size());
    fp32_.run(item, inputs, shapes, worker.fp32, [&](std::size_t i, const TensorView& tensor) {
      worker.reals[i] = Tensor::of<float>(tensor.shape, tensor.values<float>());
      worker.layouts[i] = tensor.layout;
    });
    std::vector<LayerShifts> sums(layers_.size());
    int8_.run(item, inputs, shapes, worker.int8, [&](std::size_t i, const TensorView& tensor) {
      const Tensor& reals = worker.reals[i];
      const TensorView real(reals.data(), DType::kFloat32, reals.shape(), worker.layouts[i]);
      sums[i] = compare(layers_[i], real, tensor);
      check(sums[i], layers_[i], item);
    });
    return sums;
  }

 private:
  /// Tensors with fewer than two axes have one channel.
  static LayerShifts compare(const ComparedLayer& layer, const TensorView& real,
                             const TensorView& other) {
    const Shape& shape = real.shape;
    const float* y = real.values<float>().data();
    const float* q = other.values<float>().data();
    if (shape.rank() < 2) {
      LayerShifts sums(1);
      for (std::int64_t i = 0; i < shape.elements(); ++i) {
        add_position(y + i, 0, q + i, 0, layer, sums);
      }
      return sums;
    }
    LayerShifts sums(shape[1]);
    const Steps in_y(real);
    const Steps in_q(other);
    const std::int64_t columns = shape[0] * shape[1];
    const std::int64_t pixels = columns == 0 ? 0 : shape.elements() / columns;
    for (std::int64_t n = 0; n < shape[0]; ++n) {
      for (std::int64_t p = 0; p < pixels; ++p) {
        const float* at_y = y + n * in_y.image + p * in_y.pixel;
        const float* at_q = q + n * in_q.image + p * in_q.pixel;
        if (in_y.channel == 1 && in_q.channel == 1) {
          add_position(at_y, 1, at_q, 1, layer, sums);  // the usual case, compiled for itself
        } else {
          add_position(at_y, in_y.channel, at_q, in_q.channel, layer, sums);
        }
      }
    }
    return sums;
  }

  void check(const LayerShifts& sums, const ComparedLayer& layer, std::int64_t item) const {
    for (std::size_t c = 0; c < sums.difference.size(); ++c) {
      if (std::isfinite(sums.difference[c])) continue;
      throw Error(
          ErrorCode::kInvalidArgument,
          to_text(samples_.noun(), " '", samples_.path(item).string(), "', tensor '", layer.fp32,
                  "', channel ", c, ": found NaN or an infinity, expected finite values"));
    }
  }

  const Graph& network_;
  NetworkByDepth& fp32_;
  NetworkByDepth& int8_;
  std::span<const ComparedLayer> layers_;
  const Samples& samples_;
  const CollectOptions& collect_;
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

  MaskedShifts mean() && {
    MaskedShifts result{{}, std::move(bad_)};
    for (const LayerShifts& layer : total_) {
      std::vector<double>& shift = result.by_layer.emplace_back();
      for (std::size_t c = 0; c < layer.difference.size(); ++c) {
        shift.push_back(layer.difference[c] /
                        (static_cast<double>(layer.positions[c]) + kShiftlessPositions));
      }
    }
    return result;
  }

 private:
  void add_next(Ready& ready) {
    std::move(ready.bad.begin(), ready.bad.end(), std::back_inserter(bad_));
    if (!ready.sums) return;
    for (std::size_t i = 0; i < total_.size(); ++i) {
      const LayerShifts& layer = (*ready.sums)[i];
      const std::size_t channels = std::max(total_[i].difference.size(), layer.difference.size());
      total_[i].difference.resize(channels, 0.0);
      total_[i].positions.resize(channels, 0);
      for (std::size_t c = 0; c < layer.difference.size(); ++c) {
        total_[i].difference[c] += layer.difference[c];
        total_[i].positions[c] += layer.positions[c];
      }
    }
  }

  std::vector<std::optional<Ready>> waiting_;  // by sample
  std::size_t next_ = 0;                       // the first sample that is not added yet
  std::vector<LayerShifts> total_;
  std::vector<BadImage> bad_;
};

}  // namespace

MaskedShifts masked_shifts(const Graph& network, NetworkByDepth& fp32, NetworkByDepth& int8,
                           std::span<const ComparedLayer> layers, const Samples& samples,
                           const CollectOptions& collect, const std::function<void()>& each_image) {
  Comparison comparison(network, fp32, int8, layers, samples, collect);
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
  return std::move(total).mean();
}

}  // namespace qtool

#include "exec/onednn.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <oneapi/dnnl/dnnl.hpp>
#include <unordered_map>
#include <utility>
#include <vector>

#include "qtool/base/error.h"
#include "qtool/base/parallel.h"
#include "qtool/base/text.h"

namespace qtool::onednn {
namespace {

using Dims = dnnl::memory::dims;
using Desc = dnnl::memory::desc;
using Args = std::unordered_map<int, dnnl::memory>;
constexpr auto kF32 = dnnl::memory::data_type::f32;

const dnnl::engine& cpu() {
  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

dnnl::stream& stream() {
  static thread_local dnnl::stream stream(cpu());
  return stream;
}

// Runs `call` and turns oneDNN's exception into ours.
template <typename Call>
auto guarded(std::string_view what, const Call& call) {
  try {
    return call();
  } catch (const dnnl::error& error) {
    throw Error(ErrorCode::kUnsupported, concat("oneDNN refuses this ", what, ": ", error.what()));
  }
}

dnnl::memory memory_at(const Desc& desc, const void* data) {
  // oneDNN takes mutable pointers for its sources too; it does not write to them.
  return {desc, cpu(), const_cast<void*>(data)};  // NOLINT(cppcoreguidelines-pro-type-const-cast)
}

// Strides of a dense array with the channels (axis 1) innermost, or of a plain one.
Dims strides_of(const Dims& dims, Layout layout) {
  const std::size_t rank = dims.size();
  std::vector<std::size_t> order(rank);
  for (std::size_t i = 0; i < rank; ++i) order[i] = i;
  if (layout == Layout::kChannelsLast && rank > 2) {
    std::rotate(order.begin() + 1, order.begin() + 2, order.end());
  }
  Dims strides(rank);
  dnnl::memory::dim step = 1;
  for (std::size_t i = rank; i-- > 0;) {
    strides[order[i]] = step;
    step *= dims[order[i]];
  }
  return strides;
}

Desc dense(const Dims& dims, Layout layout = Layout::kPlain) {
  return {dims, kF32, strides_of(dims, layout)};
}

Desc any(const Dims& dims) { return {dims, kF32, dnnl::memory::format_tag::any}; }

dnnl::primitive_attr attributes(const std::optional<Clamp>& clamp, const Desc* residual,
                                float alpha = 1.0F) {
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  if (alpha != 1.0F) attr.set_output_scales(0, {alpha});
  dnnl::post_ops ops;
  if (residual != nullptr) ops.append_binary(dnnl::algorithm::binary_add, *residual);
  if (clamp) {
    if (clamp->min == 0.0F && clamp->max == std::numeric_limits<float>::infinity()) {
      ops.append_eltwise(1.0F, dnnl::algorithm::eltwise_relu, 0.0F, 0.0F);
    } else {
      ops.append_eltwise(1.0F, dnnl::algorithm::eltwise_clip, clamp->min, clamp->max);
    }
  }
  attr.set_post_ops(ops);
  return attr;
}

std::string text_of(const Desc& desc) {
  const auto* bytes = reinterpret_cast<const char*>(&desc.data);
  std::uint64_t hash = 1469598103934665603ULL;  // FNV-1a; only tells formats apart
  for (std::size_t i = 0; i < sizeof desc.data; ++i) {
    hash = (hash ^ static_cast<unsigned char>(bytes[i])) * 1099511628211ULL;
  }
  return to_hex(hash);
}

Tensor reordered(const Desc& from, const float* data, const Desc& to) {
  Tensor result(DType::kFloat32, Shape{static_cast<std::int64_t>((to.get_size() + 3) / 4)});
  dnnl::memory source = memory_at(from, data);
  dnnl::memory target = memory_at(to, result.data());
  dnnl::reorder(source, target).execute(stream(), source, target);
  stream().wait();
  return result;
}

}  // namespace

class Packed {
 public:
  Tensor weights;
  Tensor bias;
};

namespace {

// Weights as the primitive wants them: repacked, or copied when the format is the plain one.
PackedPtr pack_weights(const Desc& plain, const float* weights, const Desc& wanted,
                       const float* bias, std::int64_t bias_count) {
  auto packed = std::make_shared<Packed>();
  packed->weights = reordered(plain, weights, wanted);
  if (bias != nullptr) {
    packed->bias = Tensor::of<float>({bias_count}, {bias, static_cast<std::size_t>(bias_count)});
  }
  return packed;
}

}  // namespace

struct Convolution::State {
  dnnl::convolution_forward::primitive_desc desc;
  dnnl::convolution_forward primitive;
  Desc plain_weights;
  std::int64_t outputs = 0;
};

Convolution::Convolution(const ConvSpec& spec, int threads) {
  const TeamSize team(threads);
  state_ = guarded("convolution", [&] {
    auto state = std::make_unique<State>();
    Dims weights = spec.weights.dims();
    state->outputs = weights[0];
    if (spec.groups > 1) {
      weights[0] /= spec.groups;
      weights.insert(weights.begin(), spec.groups);
    }
    state->plain_weights = dense(weights);
    Dims dilations = spec.window.dilations;
    for (auto& dilation : dilations) --dilation;  // oneDNN counts the skipped elements
    const Desc source = dense(spec.source.dims(), spec.layout);
    const Desc destination = dense(spec.destination.dims(), spec.layout);
    const Desc bias = spec.bias ? dense({state->outputs}) : Desc();
    const dnnl::convolution_forward::desc desc(
        dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_direct, source,
        any(weights), bias, destination, spec.window.strides, dilations, spec.window.pads_begin,
        spec.window.pads_end);
    state->desc = {desc, attributes(spec.clamp, spec.residual ? &destination : nullptr), cpu()};
    state->primitive = dnnl::convolution_forward(state->desc);
    return state;
  });
}

Convolution::~Convolution() = default;

std::string Convolution::format() const { return text_of(state_->desc.weights_desc()); }

PackedPtr Convolution::pack(const float* weights, const float* bias) const {
  return pack_weights(state_->plain_weights, weights, state_->desc.weights_desc(), bias,
                      state_->outputs);
}

std::int64_t Convolution::workspace_bytes() const {
  return static_cast<std::int64_t>(state_->desc.scratchpad_desc().get_size());
}

std::string Convolution::implementation() const { return state_->desc.impl_info_str(); }

void Convolution::run(const float* source, const Packed& weights, const float* residual,
                      float* destination, std::byte* workspace) const {
  Args args{{DNNL_ARG_SRC, memory_at(state_->desc.src_desc(), source)},
            {DNNL_ARG_WEIGHTS, memory_at(state_->desc.weights_desc(), weights.weights.data())},
            {DNNL_ARG_DST, memory_at(state_->desc.dst_desc(), destination)},
            {DNNL_ARG_SCRATCHPAD, memory_at(state_->desc.scratchpad_desc(), workspace)}};
  if (weights.bias.elements() > 0) {
    args.emplace(DNNL_ARG_BIAS, memory_at(state_->desc.bias_desc(), weights.bias.data()));
  }
  if (residual != nullptr) {
    args.emplace(DNNL_ARG_ATTR_MULTIPLE_POST_OP(0) | DNNL_ARG_SRC_1,
                 memory_at(state_->desc.dst_desc(), residual));
  }
  state_->primitive.execute(stream(), args);
  stream().wait();
}

struct Matmul::State {
  dnnl::matmul::primitive_desc desc;
  dnnl::matmul primitive;
  Desc plain_b;
  std::int64_t columns = 0;
};

namespace {

Desc matrix(const Shape& shape, bool transposed) {
  Dims dims = shape.dims();
  const std::size_t rank = dims.size();
  Dims stored = dims;
  if (transposed) std::swap(stored[rank - 1], stored[rank - 2]);
  Dims strides = strides_of(stored, Layout::kPlain);
  if (transposed) std::swap(strides[rank - 1], strides[rank - 2]);
  return {dims, kF32, strides};
}

}  // namespace

Matmul::Matmul(const MatmulSpec& spec, int threads) {
  const TeamSize team(threads);
  state_ = guarded("matrix product", [&] {
    auto state = std::make_unique<State>();
    state->plain_b = matrix(spec.b, spec.transposed_b);
    const Desc destination = dense(spec.destination.dims());
    Dims bias_dims(spec.destination.dims().size(), 1);
    bias_dims.back() = spec.destination.dims().back();
    state->columns = bias_dims.back();
    const Desc a = matrix(spec.a, spec.transposed_a);
    const Desc b = any(spec.b.dims());
    const dnnl::matmul::desc desc = spec.bias
                                        ? dnnl::matmul::desc(a, b, dense(bias_dims), destination)
                                        : dnnl::matmul::desc(a, b, destination);
    state->desc = {desc, attributes(spec.clamp, nullptr, spec.alpha), cpu()};
    state->primitive = dnnl::matmul(state->desc);
    return state;
  });
}

Matmul::~Matmul() = default;

std::string Matmul::format() const { return text_of(state_->desc.weights_desc()); }

PackedPtr Matmul::pack(const float* b, const float* bias) const {
  return pack_weights(state_->plain_b, b, state_->desc.weights_desc(), bias, state_->columns);
}

std::int64_t Matmul::workspace_bytes() const {
  return static_cast<std::int64_t>(state_->desc.scratchpad_desc().get_size());
}

void Matmul::run(const float* a, const Packed& b, float* destination, std::byte* workspace) const {
  Args args{{DNNL_ARG_SRC, memory_at(state_->desc.src_desc(), a)},
            {DNNL_ARG_WEIGHTS, memory_at(state_->desc.weights_desc(), b.weights.data())},
            {DNNL_ARG_DST, memory_at(state_->desc.dst_desc(), destination)},
            {DNNL_ARG_SCRATCHPAD, memory_at(state_->desc.scratchpad_desc(), workspace)}};
  if (b.bias.elements() > 0) {
    args.emplace(DNNL_ARG_BIAS, memory_at(state_->desc.bias_desc(), b.bias.data()));
  }
  state_->primitive.execute(stream(), args);
  stream().wait();
}

struct Pooling::State {
  dnnl::pooling_v2_forward::primitive_desc desc;
  dnnl::pooling_v2_forward primitive;
};

Pooling::Pooling(const PoolSpec& spec, int threads) {
  const TeamSize team(threads);
  state_ = guarded("pooling", [&] {
    auto state = std::make_unique<State>();
    dnnl::algorithm algorithm = dnnl::algorithm::pooling_max;
    if (spec.kind == PoolKind::kAverageIncludingPadding) {
      algorithm = dnnl::algorithm::pooling_avg_include_padding;
    } else if (spec.kind == PoolKind::kAverageExcludingPadding) {
      algorithm = dnnl::algorithm::pooling_avg_exclude_padding;
    }
    Dims dilations = spec.window.dilations;
    for (auto& dilation : dilations) --dilation;
    const dnnl::pooling_v2_forward::desc desc(
        dnnl::prop_kind::forward_inference, algorithm, dense(spec.source.dims(), spec.layout),
        dense(spec.destination.dims(), spec.layout), spec.window.strides, spec.window.kernel,
        dilations, spec.window.pads_begin, spec.window.pads_end);
    state->desc = {desc, attributes(std::nullopt, nullptr), cpu()};
    state->primitive = dnnl::pooling_v2_forward(state->desc);
    return state;
  });
}

Pooling::~Pooling() = default;

std::int64_t Pooling::workspace_bytes() const {
  return static_cast<std::int64_t>(state_->desc.scratchpad_desc().get_size());
}

void Pooling::run(const float* source, float* destination, std::byte* workspace) const {
  state_->primitive.execute(
      stream(), {{DNNL_ARG_SRC, memory_at(state_->desc.src_desc(), source)},
                 {DNNL_ARG_DST, memory_at(state_->desc.dst_desc(), destination)},
                 {DNNL_ARG_SCRATCHPAD, memory_at(state_->desc.scratchpad_desc(), workspace)}});
  stream().wait();
}

}  // namespace qtool::onednn

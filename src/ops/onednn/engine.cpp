#include "ops/onednn/engine.h"

#include <omp.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "base/round_up.h"

namespace qtool::onednn {
namespace {

dnnl::stream& stream() {
  static thread_local dnnl::stream stream(cpu());
  return stream;
}

// Opaque bytes, to be compared only.
std::string text_of(const Desc& desc) {
  return {reinterpret_cast<const char*>(&desc.data), sizeof desc.data};
}

// Weights in the format of a primitive: repacked, or copied when the format is plain.
Tensor reordered(const Desc& from, const float* data, const Desc& to) {
  Tensor result(DType::kFloat32, Shape{static_cast<std::int64_t>((to.get_size() + 3) / 4)});
  const OnThisThread alone;
  dnnl::memory source = memory_at(from, data);
  dnnl::memory target = memory_at(to, result.data());
  dnnl::reorder(source, target).execute(stream(), source, target);
  stream().wait();
  return result;
}

}  // namespace

const dnnl::engine& cpu() {
  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

OnThisThread::OnThisThread() noexcept : saved_(omp_get_max_threads()) { omp_set_num_threads(1); }
OnThisThread::~OnThisThread() { omp_set_num_threads(saved_); }

dnnl::memory memory_at(const Desc& desc, const void* data) {
  // oneDNN takes mutable pointers for its sources too; it does not write to them.
  return {desc, cpu(), const_cast<void*>(data)};  // NOLINT(cppcoreguidelines-pro-type-const-cast)
}

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

Desc dense(const Dims& dims, Layout layout) { return {dims, kF32, strides_of(dims, layout)}; }

Desc any(const Dims& dims) { return {dims, kF32, dnnl::memory::format_tag::any}; }

Dims skipped(const Dims& dilations) {
  Dims skipped = dilations;
  for (auto& dilation : skipped) --dilation;
  return skipped;
}

namespace {

void append(const FusedFunction& function, dnnl::post_ops& ops) {
  switch (function.kind) {
    case FusedFunction::Kind::kHardSwish:
      return ops.append_eltwise(1.0F, dnnl::algorithm::eltwise_hardswish, 0.0F, 0.0F);
    case FusedFunction::Kind::kLeakyRelu:
      return ops.append_eltwise(1.0F, dnnl::algorithm::eltwise_relu, function.slope, 0.0F);
    case FusedFunction::Kind::kSilu:
      return ops.append_eltwise(1.0F, dnnl::algorithm::eltwise_swish, 1.0F, 0.0F);
  }
}

}  // namespace

dnnl::primitive_attr attributes(const std::optional<Clamp>& clamp, const Desc* residual,
                                float alpha, const std::optional<FusedFunction>& function) {
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
  if (function) append(*function, ops);
  attr.set_post_ops(ops);
  return attr;
}

std::int64_t scratch_bytes(const Desc& scratchpad) {
  return align_up(static_cast<std::int64_t>(scratchpad.get_size()));
}

std::byte* at_bytes(std::byte* base, std::int64_t offset) {
  return base == nullptr ? nullptr : base + offset;
}

void execute(const dnnl::primitive& primitive, const Args& args) {
  primitive.execute(stream(), args);
  stream().wait();
}

std::size_t PackPlans::add(PackPlan plan) {
  const auto same = [&](const PackPlan& other) {
    return other.offset == plan.offset && other.plain == plan.plain && other.wanted == plan.wanted;
  };
  const auto at = std::ranges::find_if(plans_, same);
  const auto index = static_cast<std::size_t>(at - plans_.begin());
  if (at == plans_.end()) plans_.push_back(std::move(plan));
  return index;
}

PackedPtr PackPlans::pack(const float* weights, const float* bias) const {
  auto packed = std::make_shared<Packed>();
  for (const PackPlan& plan : plans_) {
    Packed::Part part{reordered(plan.plain, weights + plan.offset, plan.wanted), {}};
    if (bias != nullptr) {
      part.bias = Tensor::of<float>(
          {plan.bias_count}, {bias + plan.bias_offset, static_cast<std::size_t>(plan.bias_count)});
    }
    packed->parts.push_back(std::move(part));
  }
  return packed;
}

std::string PackPlans::format() const {
  std::string text;
  for (const PackPlan& plan : plans_) {
    text += to_text(text_of(plan.plain), text_of(plan.wanted), plan.offset, " ", plan.bias_offset,
                    " ", plan.bias_count, " ");
  }
  return text;
}

}  // namespace qtool::onednn

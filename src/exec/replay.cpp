#include "exec/replay.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/parallel.h"
#include "exec/memory_plan.h"
#include "exec/plan.h"
#include "qtool/base/error.h"

namespace qtool {
namespace {

std::size_t at(std::int32_t index) { return static_cast<std::size_t>(index); }

void require_equal_steps(const Plan::State& plan, const Plan::State& variant) {
  bool equal =
      plan.steps.size() == variant.steps.size() && plan.values.size() == variant.values.size();
  for (std::size_t i = 0; equal && i < plan.steps.size(); ++i) {
    equal = plan.steps[i].inputs == variant.steps[i].inputs &&
            plan.steps[i].outputs == variant.steps[i].outputs;
  }
  if (!equal) throw Error(ErrorCode::kMismatch, "the two plans of a replay have other steps");
}

}  // namespace

Replay::Replay(std::shared_ptr<const Plan> plan, std::shared_ptr<const Plan> variant)
    : plan_(std::move(plan)) {
  const Plan::State& state = *plan_->state_;
  place_changed();
  fit_scratch(*plan_);
  if (variant != nullptr) add_variant(std::move(variant));
  sharing_.resize(state.storages.size());
  changed_.resize(state.storages.size());
  for (std::size_t v = 0; v < state.values.size(); ++v) {
    sharing_[at(state.values[v].storage)].push_back(static_cast<std::int32_t>(v));
  }
}

void Replay::add_variant(std::shared_ptr<const Plan> variant) {
  require_equal_steps(*plan_->state_, *variant->state_);
  fit_scratch(*variant);  // the same step may be another operator in the variant
  variants_.push_back(std::move(variant));
}

void Replay::place_changed() {
  const Plan::State& state = *plan_->state_;
  std::vector<Storage> storages = state.storages;
  const auto last = static_cast<std::int32_t>(state.steps.size());
  for (Storage& storage : storages) storage.first_step = last, storage.last_step = 0;
  widen_lives(state, storages);
  for (Storage& storage : storages) {
    storage.last_step = std::max(storage.last_step, storage.first_step);
  }
  scratch_offset_ = assign_offsets(storages);
  for (const Storage& storage : storages) offsets_.push_back(storage.offset);
}

void Replay::fit_scratch(const Plan& plan) {
  const std::int64_t scratch = plan.arena_bytes() - plan.state_->workspace_offset;
  if (arena_.bytes() >= scratch_offset_ + scratch) return;
  arena_ = Tensor(DType::kUInt8, Shape{scratch_offset_ + scratch});
}

std::span<const TensorView> Replay::run(std::span<const TensorView> inputs, const Probe& probe) {
  const std::span<const TensorView> outputs = plan_->run(inputs, clean_, probe);
  mixed_ = clean_.state_->values;
  return outputs;
}

void Replay::redirect(std::int32_t value, const std::byte* data) {
  const std::int32_t storage = plan_->state_->values[at(value)].storage;
  for (const std::int32_t sharing : sharing_[at(storage)]) mixed_[at(sharing)].data = data;
  if (changed_[at(storage)]) return;
  changed_[at(storage)] = true;
  moved_.push_back(storage);
}

bool Replay::reads_changed(std::size_t step) const {
  const Plan::State& state = *plan_->state_;
  const std::vector<std::int32_t>& inputs = state.steps[step].inputs;
  return std::any_of(inputs.begin(), inputs.end(), [&](std::int32_t value) {
    return value >= 0 && changed_[at(state.values[at(value)].storage)];
  });
}

void Replay::redirect_outputs(const PlanStep& step) {
  const Plan::State& state = *plan_->state_;
  for (const std::int32_t output : step.outputs) {
    if (output < 0) continue;
    redirect(output, arena_.data() + offsets_[at(state.values[at(output)].storage)]);
  }
}

void Replay::run_step(const PlanStep& step) {
  const Plan::State& state = *plan_->state_;
  redirect_outputs(step);
  step.op->run({mixed_, step.inputs, step.outputs, arena_.data() + scratch_offset_, state.threads});
}

void Replay::put_back() {
  for (const std::int32_t storage : moved_) {
    changed_[at(storage)] = false;
    for (const std::int32_t value : sharing_[at(storage)]) {
      mixed_[at(value)].data = clean_.state_->values[at(value)].data;
    }
  }
  moved_.clear();
}

std::span<const TensorView> Replay::finish_from(std::size_t first_step) {
  const Plan::State& state = *plan_->state_;
  for (std::size_t i = first_step; i < state.steps.size(); ++i) {
    if (reads_changed(i)) run_step(state.steps[i]);
  }
  outputs_.clear();
  for (const std::int32_t output : state.outputs) outputs_.push_back(mixed_[at(output)]);
  put_back();
  return outputs_;
}

std::span<const TensorView> Replay::run_changed(std::size_t observed, const Change& change) {
  const Plan::State& state = *plan_->state_;
  const auto point = std::find_if(state.probes.begin(), state.probes.end(),
                                  [&](const ProbePoint& p) { return p.index == observed; });
  QTOOL_CHECK(!mixed_.empty() && point != state.probes.end());
  const TensorView original = mixed_[at(point->value)];
  const std::int64_t bytes = original.shape.elements() * size_of(original.dtype);
  if (tensor_.bytes() < bytes) tensor_ = Tensor(DType::kUInt8, Shape{bytes});
  change(original, tensor_.data());
  const FlushDenormals flush;
  redirect(point->value, tensor_.data());
  return finish_from(static_cast<std::size_t>(point->step + 1));
}

std::span<const TensorView> Replay::run_variant(std::size_t step, std::size_t number) {
  const Plan::State& state = *plan_->state_;
  const Plan::State& variant = *variants_.at(number)->state_;
  QTOOL_CHECK(!mixed_.empty() && step < state.steps.size());
  const PlanStep& changed = variant.steps[step];
  for (const std::int32_t input : changed.inputs) {
    if (input < 0) continue;
    const auto& constant = variant.storages[at(variant.values[at(input)].storage)].constant;
    if (constant != nullptr) redirect(input, constant->data());
  }
  const FlushDenormals flush;
  run_step(changed);
  put_back();  // other steps read the unchanged constants
  redirect_outputs(changed);
  return finish_from(step + 1);
}

}  // namespace qtool

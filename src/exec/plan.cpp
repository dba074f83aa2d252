#include "exec/plan.h"

#include <chrono>
#include <utility>

#include "base/check.h"
#include "base/parallel.h"
#include "base/stop.h"
#include "base/text.h"
#include "qtool/base/error.h"

namespace qtool {
namespace {

using Clock = std::chrono::steady_clock;

// Only a run that takes longer than this can be stopped in the middle. A shorter run finishes, so
// that a caller that runs many samples stops between two of them and reports how many it has run.
constexpr std::chrono::milliseconds kPatience{1000};

// Points every plan value at its memory: in the arena at `memory` or, if `memory` is null, in an
// arena that the workspace owns. Does nothing when the workspace is already bound to the plan,
// because only the caller's inputs change from run to run.
void bind(const Plan::State& plan, Workspace::State& workspace, std::byte* memory) {
  if (workspace.serial == plan.serial && (memory == nullptr || memory == workspace.memory)) return;
  if (memory == nullptr) {
    workspace.arena = Tensor(DType::kUInt8, Shape{plan.arena_bytes});
    memory = workspace.arena.data();
  }
  workspace.memory = memory;
  workspace.values.clear();
  for (const PlanValue& value : plan.values) {
    const Storage& storage = plan.storages[static_cast<std::size_t>(value.storage)];
    const std::byte* data = nullptr;
    if (storage.constant != nullptr) {
      data = storage.constant->data();
    } else if (storage.graph_input < 0) {
      data = memory + storage.offset;
    }
    workspace.values.emplace_back(data, value.info.dtype, value.info.shape, value.layout);
  }
  workspace.serial = plan.serial;
}

}  // namespace

Workspace::Workspace() : state_(std::make_unique<State>()) {}
Workspace::Workspace(Workspace&&) noexcept = default;
Workspace& Workspace::operator=(Workspace&&) noexcept = default;
Workspace::~Workspace() = default;

Plan::Plan(std::unique_ptr<State> state) : state_(std::move(state)) {}
Plan::~Plan() = default;

const std::vector<PortInfo>& Plan::inputs() const noexcept { return state_->input_infos; }
const std::vector<PortInfo>& Plan::outputs() const noexcept { return state_->output_infos; }
const std::vector<StepInfo>& Plan::steps() const noexcept { return state_->step_infos; }
std::int64_t Plan::arena_bytes() const noexcept { return state_->arena_bytes; }
const std::vector<PortInfo>& Plan::observed() const noexcept { return state_->observed_infos; }

std::span<const TensorView> Plan::State::run(std::span<const TensorView> given,
                                             Workspace::State& workspace, const Probe& probe,
                                             std::span<double> step_seconds,
                                             std::byte* memory) const {
  if (given.size() != input_infos.size()) {
    throw Error(ErrorCode::kMismatch,
                to_text("the network has ", input_infos.size(), " inputs, found ", given.size()));
  }
  bind(*this, workspace, memory);
  for (std::size_t i = 0; i < given.size(); ++i) {
    const PortInfo& port = input_infos[i];
    if (given[i].dtype != port.dtype || given[i].shape != port.shape ||
        given[i].layout != Layout::kPlain) {
      throw Error(ErrorCode::kMismatch,
                  to_text("input '", port.name, "': found ", name_of(given[i].dtype), " ",
                          given[i].shape.to_string(), ", expected ", name_of(port.dtype), " ",
                          port.shape.to_string()));
    }
  }
  for (std::size_t v = 0; v < values.size(); ++v) {
    const std::int32_t input = storages[static_cast<std::size_t>(values[v].storage)].graph_input;
    if (input >= 0) workspace.values[v].data = given[static_cast<std::size_t>(input)].data;
  }

  const FlushDenormals flush;
  const StopScope scope(stop, kPatience);
  std::byte* scratch = workspace.memory + workspace_offset;
  std::size_t next_probe = 0;
  const auto fire_probes = [&](std::int32_t step) {
    for (; next_probe < probes.size() && probes[next_probe].step <= step; ++next_probe) {
      const ProbePoint& point = probes[next_probe];
      if (probe) probe(point.index, workspace.values[static_cast<std::size_t>(point.value)]);
    }
  };
  fire_probes(-1);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const PlanStep& step = steps[i];
    check_stop_inside();
    const auto start = step_seconds.empty() ? Clock::time_point{} : Clock::now();
    step.op->run({workspace.values, step.inputs, step.outputs, scratch, threads});
    if (!step_seconds.empty()) {
      step_seconds[i] = std::chrono::duration<double>(Clock::now() - start).count();
    }
    fire_probes(static_cast<std::int32_t>(i));
  }
  workspace.outputs.clear();
  for (const std::int32_t output : outputs) {
    workspace.outputs.push_back(workspace.values[static_cast<std::size_t>(output)]);
  }
  return workspace.outputs;
}

std::span<const TensorView> Plan::run(std::span<const TensorView> inputs, Workspace& workspace,
                                      const Probe& probe) const {
  return state_->run(inputs, *workspace.state_, probe, {});
}

std::span<const TensorView> PlanBuilder::run_in(const Plan& plan,
                                                std::span<const TensorView> inputs,
                                                Workspace::State& views, std::byte* memory) {
  return plan.state_->run(inputs, views, {}, {}, memory);
}

std::span<const TensorView> Plan::run_timed(std::span<const TensorView> inputs,
                                            Workspace& workspace,
                                            std::span<double> step_seconds) const {
  if (step_seconds.size() != state_->steps.size()) {
    throw Error(ErrorCode::kInvalidArgument,
                to_text("step times: found room for ", step_seconds.size(), ", expected ",
                        state_->steps.size()));
  }
  return state_->run(inputs, *workspace.state_, {}, step_seconds);
}

}  // namespace qtool

#include <algorithm>
#include <array>
#include <atomic>
#include <limits>
#include <utility>

#include "base/check.h"
#include "base/round_up.h"
#include "base/stop.h"
#include "exec/memory_plan.h"
#include "exec/plan.h"
#include "exec/plan_body.h"
#include "exec/reorder.h"
#include "graph/node_name.h"

namespace qtool {
namespace {

std::int64_t bytes_of(const ValueInfo& info) { return info.shape.elements() * size_of(info.dtype); }

// Whether a tensor of this shape has the same bytes in both layouts.
bool layouts_agree(const Shape& shape) {
  return shape.rank() != 4 || shape.elements() == 0 || shape[1] == 1 || shape[2] * shape[3] == 1;
}

}  // namespace

PlanBuilder::PlanBuilder(const ShapedGraph& shaped, const CompileOptions& options, PackCache& packs,
                         StopCheck stop, std::int64_t* table_bytes)
    : shaped_(shaped),
      options_(options),
      packs_(packs),
      stop_(std::move(stop)),
      plan_(std::make_unique<Plan::State>()),
      table_bytes_(table_bytes == nullptr ? own_table_bytes_ : *table_bytes),
      by_layout_(shaped.graph.value_limit(), {-1, -1}),
      primary_(shaped.graph.value_limit(), -1) {
  plan_->threads = options.threads;
  for (std::size_t i = 0; i < shaped.observed.size(); ++i) {
    probe_of_.emplace(shaped.observed[i], i);
  }
}

std::int32_t PlanBuilder::add_storage(std::int64_t bytes) {
  require_memory(bytes);  // before an operator is made: its tables may be as long as the tensor
  Storage storage;
  storage.bytes = bytes;
  storage.first_step = storage.last_step = static_cast<std::int32_t>(plan_->steps.size());
  plan_->storages.push_back(std::move(storage));
  return static_cast<std::int32_t>(plan_->storages.size()) - 1;
}

std::int32_t PlanBuilder::add_value(const ValueInfo& info, Layout layout, std::int32_t storage) {
  PlanValue value;
  value.info = info;
  value.layout = layout;
  value.storage = storage;
  plan_->values.push_back(std::move(value));
  return static_cast<std::int32_t>(plan_->values.size()) - 1;
}

std::int32_t PlanBuilder::primary(ValueId id) const { return primary_[id]; }

std::int32_t PlanBuilder::value_in(ValueId id, Layout layout) {
  auto& by_layout = by_layout_[id];
  if (by_layout[static_cast<std::size_t>(layout)] >= 0)
    return by_layout[static_cast<std::size_t>(layout)];
  const Value& value = shaped_.graph.value(id);
  const ValueInfo& info = shaped_.info(id);
  if (value.constant != nullptr && by_layout[0] < 0) {
    const std::int32_t storage = add_storage(0);
    plan_->storages.back().constant = value.constant;
    by_layout[0] = primary_[id] = add_value(info, Layout::kPlain, storage);
    if (layout == Layout::kPlain) return by_layout[0];
  }
  const std::int32_t source = primary(id);
  QTOOL_CHECK(source >= 0);
  if (layouts_agree(info.shape)) {
    const std::int32_t storage = plan_->values[static_cast<std::size_t>(source)].storage;
    return by_layout[static_cast<std::size_t>(layout)] = add_value(info, layout, storage);
  }
  const std::int32_t storage = add_storage(bytes_of(info));
  const std::int32_t target = add_value(info, layout, storage);
  PlanStep step;
  step.op = make_reorder(info, layout);
  step.inputs = {source};
  step.outputs = {target};
  plan_->steps.push_back(std::move(step));
  plan_->step_infos.push_back({value.name, "Reorder", "reorder", value.name, 0, false});
  return by_layout[static_cast<std::size_t>(layout)] = target;
}

void PlanBuilder::observe(ValueId id, std::int32_t value, std::int32_t step) {
  const auto [begin, end] = probe_of_.equal_range(id);
  for (auto it = begin; it != end; ++it) plan_->probes.push_back({step, value, it->second});
}

// Observed tensors that became constants for these shapes are shown before the first step.
void PlanBuilder::observe_constants() {
  for (std::size_t i = 0; i < shaped_.observed.size(); ++i) {
    const ValueId id = shaped_.observed[i];
    if (!shaped_.graph.is_constant(id)) continue;
    plan_->probes.push_back({-1, value_in(id, Layout::kPlain), i});
  }
}

void PlanBuilder::add_input(std::size_t index) {
  const ValueId id = shaped_.graph.inputs()[index];
  const ValueInfo& info = shaped_.info(id);
  const std::int32_t storage = add_storage(bytes_of(info));
  plan_->storages.back().graph_input = static_cast<std::int32_t>(index);
  const std::int32_t value = add_value(info, Layout::kPlain, storage);
  by_layout_[id][0] = primary_[id] = value;
  plan_->inputs.push_back(value);
  plan_->input_infos.push_back({shaped_.graph.value(id).name, info.dtype, info.shape});
  observe(id, value, -1);
}

void PlanBuilder::add_alias(NodeId id) {
  const Node& node = shaped_.graph.node(id);
  const ValueId output = node.outputs[0];
  const std::int32_t source = value_in(node.inputs[0], Layout::kPlain);
  const std::int32_t storage = plan_->values[static_cast<std::size_t>(source)].storage;
  const std::int32_t value = add_value(shaped_.info(output), Layout::kPlain, storage);
  by_layout_[output][0] = primary_[output] = value;
  observe(output, value, static_cast<std::int32_t>(plan_->steps.size()) - 1);
}

void PlanBuilder::add_node(NodeId id) {
  const Graph& graph = shaped_.graph;
  const Node& node = graph.node(id);
  const OpDef* def = find_op(node.op_type, node.domain);
  QTOOL_CHECK(def != nullptr);
  if (def->make == nullptr) return add_alias(id);

  const auto is_activation = [&](ValueId value) {
    return value != kNoValue && !graph.is_constant(value) && shaped_.info(value).shape.rank() == 4;
  };
  const auto has_layout = [&](std::size_t index) {
    const ValueId value = node.inputs[index];
    if (is_activation(value)) return true;
    const ValueInfo& info = shaped_.info(value);
    if (info.shape.rank() != 4) return false;
    if (def->layout == LayoutRule::kAnyForAll) return true;
    if (def->layout == LayoutRule::kChannelsLast) return index != 1;
    return def->layout == LayoutRule::kImages && info.dtype != DType::kInt8;
  };
  Layout layout = def->layout == LayoutRule::kPlain ? Layout::kPlain : Layout::kChannelsLast;
  if (def->layout == LayoutRule::kAny || def->layout == LayoutRule::kAnyForAll) {
    layout = Layout::kPlain;
    for (const ValueId input : node.inputs) {
      if (!is_activation(input)) continue;
      const auto& found = plan_->values[static_cast<std::size_t>(primary(input))];
      if (found.layout == Layout::kChannelsLast && !layouts_agree(found.info.shape)) {
        layout = Layout::kChannelsLast;
      }
    }
  }

  // An empty tensor may have other extents that are huge, and so would be the tables made for them.
  const bool makes_nothing = std::ranges::all_of(node.outputs, [&](ValueId output) {
    return output == kNoValue || shaped_.info(output).shape.elements() == 0;
  });
  OpContext context(graph, id, shaped_.infos, shaped_.lowered(id).params);
  context.threads = options_.threads;
  context.packs = &packs_;
  context.requantization = options_.requantization;
  context.table_bytes = &table_bytes_;
  if (!makes_nothing) add_bodies(id, context);
  PlanStep step;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const ValueId input = node.inputs[i];
    if (input == kNoValue) {
      step.inputs.push_back(-1);
      context.input_layouts.push_back(Layout::kPlain);
      continue;
    }
    Layout wanted = has_layout(i) ? layout : Layout::kPlain;
    if (def->layout == LayoutRule::kToChannelsLast && is_activation(input)) {
      wanted = plan_->values[static_cast<std::size_t>(primary(input))].layout;
    }
    step.inputs.push_back(value_in(input, wanted));
    context.input_layouts.push_back(wanted);
  }
  const auto step_index = static_cast<std::int32_t>(plan_->steps.size());
  for (const ValueId output : node.outputs) {
    if (output == kNoValue) {
      step.outputs.push_back(-1);
      context.output_layouts.push_back(Layout::kPlain);
      continue;
    }
    const ValueInfo& info = shaped_.info(output);
    const Layout chosen = info.shape.rank() == 4 ? layout : Layout::kPlain;
    const std::int32_t value = add_value(info, chosen, add_storage(bytes_of(info)));
    by_layout_[output][static_cast<std::size_t>(chosen)] = value;
    primary_[output] = value;
    step.outputs.push_back(value);
    context.output_layouts.push_back(chosen);
    observe(output, value, step_index);
  }
  step.op = makes_nothing ? make_operator([](const Operands&) {}) : def->make(context);
  StepInfo info;
  info.node = node.name;
  const std::string& origin = shaped_.lowered(id).origin;
  info.op_type = origin.empty() ? node.op_type : origin;
  info.kernel = step.op->kernel();
  const ValueId output = first_output(node);
  info.output = output == kNoValue ? std::string() : graph.value(output).name;
  info.macs = step.op->macs();
  info.integer = shaped_.lowered(id).integer;
  plan_->steps.push_back(std::move(step));
  plan_->step_infos.push_back(std::move(info));
}

std::vector<std::int64_t> PlanBuilder::moved_bytes(const Plan& plan) {
  const Plan::State& state = *plan.state_;
  std::vector<std::int64_t> bytes;
  for (std::size_t i = 0; i < state.steps.size(); ++i) {
    std::vector<std::int32_t> values = state.steps[i].inputs;
    values.insert(values.end(), state.steps[i].outputs.begin(), state.steps[i].outputs.end());
    std::sort(values.begin(), values.end());
    values.erase(std::unique(values.begin(), values.end()), values.end());
    std::int64_t& sum = bytes.emplace_back(0);
    const std::string& type = state.step_infos[i].op_type;
    if (type == "If" || type == "Loop") continue;
    for (const std::int32_t value : values) {
      if (value >= 0) sum += bytes_of(state.values[static_cast<std::size_t>(value)].info);
    }
  }
  return bytes;
}

// Makes plans for the subgraphs of a node. Their tensors lie in the workspace of its operator: they
// count in this plan's memory, and nodes that never run at the same time share it.
void PlanBuilder::add_bodies(NodeId id, OpContext& context) {
  const auto* params = std::get_if<SubgraphParams>(&shaped_.lowered(id).params);
  if (params == nullptr) return;
  CompileOptions options = options_;
  options.observe.clear();
  options.keep = false;
  for (const auto& subgraph : params->subgraphs) {
    ShapedGraph shaped = subgraph->shaped;
    lower(shaped, options);
    context.bodies.push_back(make_body(
        PlanBuilder(shaped, options, packs_, stop_, &table_bytes_).build(), subgraph->inputs));
  }
}

void PlanBuilder::add_outputs() {
  for (std::size_t i = 0; i < shaped_.outputs; ++i) {
    const ValueId id = shaped_.graph.outputs()[i];
    const std::int32_t value = value_in(id, Layout::kPlain);
    const ValueInfo& info = shaped_.info(id);
    plan_->outputs.push_back(value);
    plan_->output_infos.push_back({shaped_.graph.value(id).name, info.dtype, info.shape});
  }
}

void PlanBuilder::finish() {
  const auto last = static_cast<std::int32_t>(plan_->steps.size());
  std::int64_t scratch = 0;
  for (const PlanStep& step : plan_->steps) scratch = std::max(scratch, step.op->workspace_bytes());
  widen_lives(*plan_, plan_->storages);
  if (options_.keep) {
    for (Storage& storage : plan_->storages) storage.first_step = 0, storage.last_step = last;
  }
  plan_->workspace_offset = assign_offsets(plan_->storages);
  plan_->arena_bytes = plan_->workspace_offset + align_up(scratch);
  plan_->stop = stop_;
  require_memory(plan_->arena_bytes + table_bytes_);
  std::stable_sort(plan_->probes.begin(), plan_->probes.end(),
                   [](const ProbePoint& a, const ProbePoint& b) { return a.step < b.step; });
  for (std::size_t i = 0; i < shaped_.observed.size(); ++i) {
    const ValueInfo& info = shaped_.info(shaped_.observed[i]);
    plan_->observed_infos.push_back({options_.observe[i], info.dtype, info.shape});
  }
}

std::shared_ptr<const Plan> PlanBuilder::build() {
  static std::atomic<std::uint64_t> next_serial{1};
  plan_->serial = next_serial++;
  for (std::size_t i = 0; i < shaped_.graph.inputs().size(); ++i) add_input(i);
  observe_constants();
  for (const NodeId id : shaped_.graph.nodes()) {
    check_stop_inside();
    add_node(id);
  }
  add_outputs();
  finish();
  return std::shared_ptr<const Plan>(new Plan(std::move(plan_)));
}

}  // namespace qtool

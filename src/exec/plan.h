#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "graph/id_map.h"
#include "lower/specialize.h"
#include "ops/operator.h"
#include "qtool/exec/executor.h"

namespace qtool {

/// A physical tensor of a plan: a value in one layout, somewhere in memory.
struct PlanValue {
  ValueInfo info;
  Layout layout = Layout::kPlain;
  std::int32_t storage = -1;               ///< index in Plan's storages
  std::shared_ptr<const Tensor> constant;  ///< set for constants; they own their memory
};

/// A piece of memory that one or more plan values share.
struct Storage {
  std::int64_t bytes = 0;
  std::int32_t first_step = 0;
  std::int32_t last_step = 0;
  std::int64_t offset = -1;       ///< in the arena; -1 for graph inputs and constants
  std::int32_t graph_input = -1;  ///< index of the graph input that lies here; -1: none
  std::shared_ptr<const Tensor> constant;
};

struct PlanStep {
  std::unique_ptr<Operator> op;
  std::vector<std::int32_t> inputs;  ///< plan values, -1 where absent
  std::vector<std::int32_t> outputs;
};

/// A tensor handed to the probe after a step (-1: before the first step).
struct ProbePoint {
  std::int32_t step;
  std::int32_t value;
  std::size_t index;
};

struct Plan::State {
  std::vector<PlanValue> values;
  std::vector<Storage> storages;
  std::vector<PlanStep> steps;
  std::vector<ProbePoint> probes;  ///< sorted by step
  std::vector<std::int32_t> inputs;
  std::vector<std::int32_t> outputs;
  std::vector<PortInfo> input_infos;
  std::vector<PortInfo> output_infos;
  std::vector<PortInfo> observed_infos;
  std::vector<StepInfo> step_infos;
  std::int64_t arena_bytes = 0;
  std::int64_t workspace_offset = 0;
  int threads = 1;
  std::uint64_t serial = 0;  ///< tells workspaces whether they are bound to this plan
  StopCheck stop;            ///< called during long runs

  std::span<const TensorView> run(std::span<const TensorView> given, Workspace::State& workspace,
                                  const Probe& probe, std::span<double> step_seconds,
                                  std::byte* memory = nullptr) const;
};

struct Workspace::State {
  std::uint64_t serial = 0;
  Tensor arena;
  std::byte* memory = nullptr;  ///< tensor memory: in `arena`, or owned by the caller
  std::vector<TensorView> values;
  std::vector<TensorView> outputs;
};

/// Lowers a shaped graph as the options say.
void lower(ShapedGraph& shaped, const CompileOptions& options);

/// Turns a lowered graph into a plan: chooses layouts, inserts reorders, makes the operators and
/// assigns the memory.
class PlanBuilder {
 public:
  /// `table_bytes`: the count to which the operators add the bytes of their tables. A plan that
  /// runs inside another plan uses the count of that plan. Null: a count of its own.
  PlanBuilder(const ShapedGraph& shaped, const CompileOptions& options, PackCache& packs,
              StopCheck stop = {}, std::int64_t* table_bytes = nullptr);
  PlanBuilder(const PlanBuilder&) = delete;
  PlanBuilder& operator=(const PlanBuilder&) = delete;
  ~PlanBuilder() = default;
  std::shared_ptr<const Plan> build();
  /// The bytes of the tensors that each step of a plan reads and writes. Each tensor counts once
  /// and as a whole. A step that runs a subgraph has 0. For reports.
  static std::vector<std::int64_t> moved_bytes(const Plan& plan);
  /// Runs a plan inside the run of another plan. Its tensors lie at `memory`, which has
  /// Plan::arena_bytes() bytes.
  static std::span<const TensorView> run_in(const Plan& plan, std::span<const TensorView> inputs,
                                            Workspace::State& views, std::byte* memory);

 private:
  std::int32_t add_value(const ValueInfo& info, Layout layout, std::int32_t storage);
  std::int32_t add_storage(std::int64_t bytes);
  /// The plan value of `id` in `layout`; inserts a reorder when the value exists only in the other
  /// layout.
  std::int32_t value_in(ValueId id, Layout layout);
  std::int32_t primary(ValueId id) const;
  void add_input(std::size_t index);
  void add_node(NodeId id);
  void add_alias(NodeId id);
  void add_bodies(NodeId id, OpContext& context);
  void add_outputs();
  void observe(ValueId id, std::int32_t value, std::int32_t step);
  void observe_constants();
  void finish();

  const ShapedGraph& shaped_;
  const CompileOptions& options_;
  PackCache& packs_;
  StopCheck stop_;
  std::unique_ptr<Plan::State> plan_;
  std::int64_t own_table_bytes_ = 0;
  std::int64_t& table_bytes_;  // claimed by the operators of this plan and of nested plans
  std::unordered_multimap<ValueId, std::size_t> probe_of_;  // indices in CompileOptions::observe
  // The plan value in plain and in channels-last layout, -1 where there is none.
  IdMap<ValueId, std::array<std::int32_t, 2>> by_layout_;
  IdMap<ValueId, std::int32_t> primary_;
};

}  // namespace qtool

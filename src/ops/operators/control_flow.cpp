// If and Loop whose course the data decides. When constants decide it, expand_node()
// (graph/passes/expand_subgraphs.h) has replaced the node by the nodes of its subgraph. A Scan
// always becomes a Loop.
#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "base/round_up.h"
#include "base/saturate.h"
#include "base/stop.h"
#include "base/text.h"
#include "graph/passes/expand_subgraphs.h"
#include "ops/operator.h"

namespace qtool {
namespace {

// Specializing a graph infers these shapes together with the subgraphs, without calling this. All
// other callers cannot infer them.
std::vector<ValueInfo> infer_control_flow(const OpContext& op) {
  op.fail(ErrorCode::kUnsupported, "how its subgraphs run is not known here");
}

std::int64_t bytes_of(const ValueInfo& info) { return info.shape.elements() * size_of(info.dtype); }

std::byte* output_or_null(const Operands& operands, std::size_t index) {
  return operands.has_output(index) ? operands.out<std::byte>(index) : nullptr;
}

class IfOperator : public Operator {
 public:
  explicit IfOperator(const OpContext& op) : outputs_(op.node.outputs.size()) {
    std::size_t next = op.node.own_inputs();
    for (const SubgraphUse& use : subgraphs_of(op.graph, op.id)) {
      Branch& branch = branches_[use.attribute == "then_branch" ? 1 : 0];
      branch.body = op.bodies[use.attribute == "then_branch" ? 1 : 0];
      branch.first_input = next;
      branch.inputs = use.captured.size();
      next += use.captured.size();
    }
  }

  // Only one branch runs, so both share the workspace.
  [[nodiscard]] std::int64_t workspace_bytes() const override {
    return std::max(branches_[0].body->workspace_bytes(), branches_[1].body->workspace_bytes());
  }
  void run(const Operands& operands) const override {
    const Branch& branch = branches_[operands.in<bool>(0)[0] ? 1 : 0];
    std::vector<TensorView> inputs;
    for (std::size_t i = 0; i < branch.inputs; ++i) {
      inputs.push_back(operands.input(branch.first_input + i));
    }
    std::vector<std::byte*> outputs;
    for (std::size_t i = 0; i < outputs_; ++i) outputs.push_back(output_or_null(operands, i));
    branch.body->run(inputs, outputs, operands.workspace());
  }
  [[nodiscard]] std::int64_t macs() const override {
    return std::max(branches_[0].body->macs(), branches_[1].body->macs());
  }
  [[nodiscard]] std::string kernel() const override { return "branch"; }

 private:
  struct Branch {
    std::shared_ptr<const Body> body;
    std::size_t first_input = 0;
    std::size_t inputs = 0;
  };
  std::array<Branch, 2> branches_;  // else, then: the order of the attributes
  std::size_t outputs_;
};

class LoopOperator : public Operator {
 public:
  explicit LoopOperator(const OpContext& op)
      : what_(op.graph.describe(op.id)),
        body_(op.bodies.front()),
        has_trips_(op.has_input(0)),
        has_condition_(op.has_input(1)),
        outputs_(op.node.outputs.size()) {
    const std::size_t states = parts_of_loop(op.graph, op.id).states;
    for (std::size_t i = 0; i < states; ++i) state_bytes_.push_back(bytes_of(op.input(2 + i)));
    if (const Tensor* trips = op.constant(0)) {
      // run() refuses more iterations.
      known_trips_ = std::clamp<std::int64_t>(trips->values<std::int64_t>()[0], 0, kMaxTrips);
    }
    for (std::size_t i = states; i < outputs_; ++i) {
      const bool wanted = op.node.has_output(i) && known_trips_ > 0;
      slice_bytes_.push_back(wanted ? bytes_of(op.output(i)) / known_trips_ : 0);
    }
  }

  [[nodiscard]] std::int64_t workspace_bytes() const override {
    return buffer_bytes() + body_->workspace_bytes();
  }
  [[nodiscard]] std::int64_t macs() const override {
    return saturating_product(body_->macs(), std::max<std::int64_t>(known_trips_, 1));
  }
  [[nodiscard]] std::string kernel() const override { return "loop"; }

  void run(const Operands& operands) const override {
    const std::int64_t trips =
        has_trips_ ? operands.in<std::int64_t>(0)[0] : std::numeric_limits<std::int64_t>::max();
    bool more = !has_condition_ || operands.in<bool>(1)[0];
    std::int64_t iteration = 0;
    std::vector<TensorView> inputs = {
        {reinterpret_cast<const std::byte*>(&iteration), DType::kInt64, Shape{}, Layout::kPlain},
        {reinterpret_cast<const std::byte*>(&more), DType::kBool, Shape{}, Layout::kPlain}};
    for (std::size_t i = 2; i < operands.input_count(); ++i) inputs.push_back(operands.input(i));
    std::array<std::vector<std::byte*>, 2> buffers = split(operands.workspace());
    bool next_more = more;
    for (; more && iteration < trips; ++iteration) {
      require_end(iteration);
      check_stop_inside();
      std::vector<std::byte*> outputs = {reinterpret_cast<std::byte*>(&next_more)};
      outputs.insert(outputs.end(), buffers[0].begin(), buffers[0].end());
      for (std::size_t i = 0; i < slice_bytes_.size(); ++i) {
        std::byte* whole = output_or_null(operands, state_bytes_.size() + i);
        outputs.push_back(whole == nullptr ? nullptr : whole + iteration * slice_bytes_[i]);
      }
      body_->run(inputs, outputs, operands.workspace() + buffer_bytes());
      for (std::size_t i = 0; i < state_bytes_.size(); ++i) inputs[2 + i].data = buffers[0][i];
      std::swap(buffers[0], buffers[1]);
      more = next_more;
    }
    for (std::size_t i = 0; i < state_bytes_.size(); ++i) {
      std::byte* output = output_or_null(operands, i);
      if (output == nullptr || state_bytes_[i] == 0) continue;
      std::memcpy(output, inputs[2 + i].data, static_cast<std::size_t>(state_bytes_[i]));
    }
  }

 private:
  void require_end(std::int64_t iteration) const {
    if (iteration < kMaxTrips) return;
    throw Error(ErrorCode::kUnsupported,
                to_text(what_, ": did not end within ", kMaxTrips, " iterations"));
  }

  // The states are written to two buffers in turn, because a body may return an input state as
  // another output state: the inputs of an iteration must not be overwritten.
  [[nodiscard]] std::int64_t buffer_bytes() const {
    std::int64_t bytes = 0;
    for (const std::int64_t state : state_bytes_) bytes += 2 * align_up(state);
    return bytes;
  }

  [[nodiscard]] std::array<std::vector<std::byte*>, 2> split(std::byte* workspace) const {
    std::array<std::vector<std::byte*>, 2> buffers;
    for (std::vector<std::byte*>& buffer : buffers) {
      for (const std::int64_t bytes : state_bytes_) {
        buffer.push_back(workspace);
        workspace += align_up(bytes);
      }
    }
    return buffers;
  }

  std::string what_;
  std::shared_ptr<const Body> body_;
  bool has_trips_;
  bool has_condition_;
  std::size_t outputs_;
  std::int64_t known_trips_ = 0;  // 0: the data decides
  std::vector<std::int64_t> state_bytes_;
  std::vector<std::int64_t> slice_bytes_;  // bytes of one iteration, by scan output
};

}  // namespace

OpDef op_If() {
  return {infer_control_flow, [](const OpContext& op) -> std::unique_ptr<Operator> {
            return std::make_unique<IfOperator>(op);
          }};
}

OpDef op_Loop() {
  return {infer_control_flow, [](const OpContext& op) -> std::unique_ptr<Operator> {
            return std::make_unique<LoopOperator>(op);
          }};
}

OpDef op_Scan() {
  return {infer_control_flow, [](const OpContext& op) -> std::unique_ptr<Operator> {
            op.fail(ErrorCode::kUnsupported, "is not a Loop yet");
          }};
}

}  // namespace qtool

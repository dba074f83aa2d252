#include "exec/plan_body.h"

#include <cstring>
#include <memory>
#include <mutex>
#include <numeric>
#include <utility>

#include "base/saturate.h"
#include "exec/plan.h"

namespace qtool {
namespace {

class PlanBody : public Body {
 public:
  PlanBody(std::shared_ptr<const Plan> plan, std::vector<std::size_t> inputs)
      : plan_(std::move(plan)), inputs_(std::move(inputs)) {}

  void run(std::span<const TensorView> inputs, std::span<std::byte* const> outputs,
           std::byte* workspace) const override {
    std::vector<TensorView> given;
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      given.push_back(inputs[inputs_[i]]);
      given.back().shape = plan_->inputs()[i].shape;  // same elements; a condition may be [1]
    }
    std::unique_ptr<Workspace::State> views = take();
    const std::span<const TensorView> results =
        PlanBuilder::run_in(*plan_, given, *views, workspace);
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const std::int64_t bytes = results[i].shape.elements() * size_of(results[i].dtype);
      if (outputs[i] == nullptr || bytes == 0) continue;
      std::memmove(outputs[i], results[i].data, static_cast<std::size_t>(bytes));
    }
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(views));
  }

  [[nodiscard]] std::int64_t workspace_bytes() const override { return plan_->arena_bytes(); }
  [[nodiscard]] std::int64_t macs() const override {
    const std::vector<StepInfo>& steps = plan_->steps();
    return std::accumulate(
        steps.begin(), steps.end(), std::int64_t{0},
        [](std::int64_t sum, const StepInfo& step) { return saturating_sum(sum, step.macs); });
  }

 private:
  std::unique_ptr<Workspace::State> take() const {
    const std::lock_guard lock(mutex_);
    if (idle_.empty()) return std::make_unique<Workspace::State>();
    std::unique_ptr<Workspace::State> views = std::move(idle_.back());
    idle_.pop_back();
    return views;
  }

  std::shared_ptr<const Plan> plan_;
  std::vector<std::size_t> inputs_;
  mutable std::mutex mutex_;
  // The views that no thread uses now: at most one for each thread that ran the body at the same
  // time. The memory of the tensors is not in them.
  mutable std::vector<std::unique_ptr<Workspace::State>> idle_;
};

}  // namespace

std::shared_ptr<const Body> make_body(std::shared_ptr<const Plan> plan,
                                      std::vector<std::size_t> inputs) {
  return std::make_shared<const PlanBody>(std::move(plan), std::move(inputs));
}

}  // namespace qtool

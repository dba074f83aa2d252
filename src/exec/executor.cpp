#include "qtool/exec/executor.h"

#include <list>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "exec/lower.h"
#include "exec/plan.h"
#include "qtool/base/error.h"
#include "qtool/base/parallel.h"
#include "qtool/base/text.h"

namespace qtool {
namespace {

constexpr std::size_t kCachedPlans = 8;

class SharedPacks final : public PackCache {
 public:
  std::shared_ptr<const void> get(
      const std::string& key, const std::function<std::shared_ptr<const void>()>& make) override {
    const std::lock_guard lock(mutex_);
    std::shared_ptr<const void>& entry = entries_[key];
    if (entry == nullptr) entry = make();
    return entry;
  }

 private:
  std::mutex mutex_;
  std::unordered_map<std::string, std::shared_ptr<const void>> entries_;
};

std::string key_of(const InputShapes& shapes, const CompileOptions& options) {
  std::string key = concat(options.threads, " ", static_cast<int>(options.lowering), " ",
                           name_of(options.requantization));
  for (const auto& [name, shape] : shapes) key += concat("\n", name, shape.to_string());
  for (const std::string& name : options.observe) key += concat("\n?", name);
  return key;
}

}  // namespace

struct Executor::State {
  explicit State(Graph g) : graph(std::move(g)) {}

  Graph graph;
  SharedPacks packs;
  std::mutex mutex;
  std::list<std::pair<std::string, std::shared_ptr<const Plan>>> plans;  // latest first
};

Executor::Executor(Graph graph) : state_(std::make_unique<State>(std::move(graph))) {
  state_->graph.check();
  for (const NodeId id : state_->graph.nodes()) {
    const Node& node = state_->graph.node(id);
    if (find_op(node.op_type, node.domain) != nullptr) continue;
    const auto opset = state_->graph.info.opsets.find(node.domain);
    throw Error(
        ErrorCode::kUnsupported,
        concat(state_->graph.describe(id), ": operator ", node.op_type, " of domain '",
               node.domain.empty() ? "ai.onnx" : node.domain, "'",
               opset == state_->graph.info.opsets.end() ? std::string()
                                                        : concat(", opset ", opset->second, ","),
               " is not supported"));
  }
}

Executor::~Executor() = default;

const Graph& Executor::graph() const noexcept { return state_->graph; }

std::shared_ptr<const Plan> Executor::compile(const InputShapes& shapes,
                                              const CompileOptions& options) const {
  CompileOptions resolved = options;
  resolved.threads = resolve_threads(options.threads);
  const std::string key = key_of(shapes, resolved);
  {
    const std::lock_guard lock(state_->mutex);
    for (auto it = state_->plans.begin(); it != state_->plans.end(); ++it) {
      if (it->first != key) continue;
      state_->plans.splice(state_->plans.begin(), state_->plans, it);
      return state_->plans.front().second;
    }
  }
  ShapedGraph shaped = specialize(state_->graph, shapes);
  lower(shaped, resolved);
  std::shared_ptr<const Plan> plan = PlanBuilder(shaped, resolved, state_->packs).build();
  const std::lock_guard lock(state_->mutex);
  state_->plans.emplace_front(key, plan);
  if (state_->plans.size() > kCachedPlans) state_->plans.pop_back();
  return plan;
}

}  // namespace qtool

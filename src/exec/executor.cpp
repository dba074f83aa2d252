#include "qtool/exec/executor.h"

#include <algorithm>
#include <future>
#include <list>
#include <mutex>
#include <utility>

#include "base/parallel.h"
#include "base/stop.h"
#include "base/text.h"
#include "exec/plan.h"
#include "graph/node_name.h"
#include "graph/obstacles.h"
#include "graph/subgraphs.h"
#include "graph/tail.h"
#include "lower/lower.h"
#include "ops/integer/pack_cache.h"
#include "qtool/base/error.h"

namespace qtool {
namespace {

using PlanPtr = std::shared_ptr<const Plan>;

constexpr std::size_t kCachedPlans = 8;

}  // namespace

// Everything that a plan depends on besides the graph.
struct PlanKey {
  InputShapes shapes;
  std::vector<std::string> observe;
  int threads;
  Lowering lowering;
  Requantization requantization;
  bool keep;

  friend bool operator==(const PlanKey&, const PlanKey&) = default;
};

// The most recently used plans. While a plan is being compiled, its entry holds a future that is
// not ready.
class PlanCache {
 public:
  // Returns the plan of `key`. Calls `make` unless the plan exists or another thread is making it.
  template <typename Make>
  PlanPtr get(const PlanKey& key, const Make& make) {
    std::promise<PlanPtr> promise;
    std::shared_future<PlanPtr> plan;
    std::int64_t ours = 0;
    {
      const std::lock_guard lock(mutex_);
      const auto found = std::find_if(entries_.begin(), entries_.end(),
                                      [&](const Entry& entry) { return entry.key == key; });
      if (found != entries_.end()) {
        entries_.splice(entries_.begin(), entries_, found);
        plan = found->plan;
      } else {
        ours = ++compiled_;
        plan = promise.get_future().share();
        entries_.push_front({ours, key, plan});
        if (entries_.size() > kCachedPlans) entries_.pop_back();
      }
    }
    if (ours == 0) return plan.get();
    try {
      promise.set_value(make());
    } catch (...) {
      promise.set_exception(std::current_exception());  // for waiting threads; a later call retries
      const std::lock_guard lock(mutex_);
      entries_.remove_if([&](const Entry& entry) { return entry.serial == ours; });
    }
    return plan.get();
  }

  [[nodiscard]] std::int64_t compiled() const {
    const std::lock_guard lock(mutex_);
    return compiled_;
  }
  [[nodiscard]] std::int64_t size() const {
    const std::lock_guard lock(mutex_);
    return std::ssize(entries_);
  }

 private:
  struct Entry {
    std::int64_t serial;
    PlanKey key;
    std::shared_future<PlanPtr> plan;
  };

  mutable std::mutex mutex_;
  std::list<Entry> entries_;  // latest first
  std::int64_t compiled_ = 0;
};

struct Executor::State {
  State(Graph g, StopCheck s) : graph(std::move(g)), whole(graph), stop(std::move(s)) {}

  Graph graph;
  Graph whole;  // shares the constants
  StopCheck stop;
  std::optional<LeftOut> left_out;
  PackCache packs;
  PlanCache plans;
};

Executor::Executor(Graph graph, StopCheck stop)
    : state_(std::make_unique<State>(std::move(graph), std::move(stop))) {
  state_->graph.check();
  state_->left_out = cut_tail(state_->graph);
  Obstacles obstacles;
  for_each_node(state_->graph, [&](const Graph& around, NodeId id) {
    const Node& node = around.node(id);
    if (find_op(node.op_type, node.domain) != nullptr) return;
    obstacles.add(node.op_type, node.domain, name_of(around, id));
  });
  if (!obstacles.empty()) obstacles.fail(state_->graph.info);
}

Executor::~Executor() = default;

void lower(ShapedGraph& shaped, const CompileOptions& options) {
  if (options.lowering == Lowering::kInteger) {
    lower(shaped, options.requantization);
  } else {
    lower_to_reference(shaped);
  }
}

const Graph& Executor::graph() const& noexcept { return state_->graph; }

const Graph& Executor::whole_graph() const& noexcept { return state_->whole; }

const std::optional<LeftOut>& Executor::left_out() const noexcept { return state_->left_out; }

std::shared_ptr<const Plan> Executor::compile(const InputShapes& shapes,
                                              const CompileOptions& options) const {
  CompileOptions resolved = options;
  resolved.threads = resolve_threads(options.threads);
  const PlanKey key{
      shapes,       resolved.observe, resolved.threads, resolved.lowering, resolved.requantization,
      resolved.keep};
  return state_->plans.get(key, [&] {
    const StopScope scope(state_->stop);
    ShapedGraph shaped = specialize(state_->graph, shapes, resolved.observe);
    lower(shaped, resolved);
    return PlanBuilder(shaped, resolved, state_->packs, state_->stop).build();
  });
}

ExecutorCounts Executor::counts() const {
  return {state_->plans.compiled(), state_->plans.size(),
          static_cast<std::int64_t>(state_->packs.size())};
}

}  // namespace qtool

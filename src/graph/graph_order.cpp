// The order of a graph's nodes. It is stored as links from each node to its neighbours. A list is
// made from the links on request.
#include <algorithm>
#include <functional>
#include <utility>

#include "base/text.h"
#include "graph/id_map.h"
#include "qtool/base/error.h"
#include "qtool/graph/graph.h"

namespace qtool {

Graph::Order::Order(const Order& other) {
  const std::lock_guard lock(other.mutex_);
  is_current_ = other.is_current_.load();
  if (is_current_) list_ = other.list_;
}

Graph::Order::Order(Order&& other) noexcept
    : is_current_(other.is_current_.load()), list_(std::move(other.list_)) {}

Graph::Order& Graph::Order::operator=(const Order& other) {
  if (this != &other) *this = Order(other);
  return *this;
}

Graph::Order& Graph::Order::operator=(Order&& other) noexcept {
  is_current_ = other.is_current_.load();
  list_ = std::move(other.list_);
  return *this;
}

const std::vector<NodeId>& Graph::Order::list(const Graph& graph) const {
  if (is_current_) return list_;
  const std::lock_guard lock(mutex_);
  if (is_current_) return list_;
  list_.clear();
  for (NodeId id = graph.first_; id != kNoNode; id = graph.record(id).next) list_.push_back(id);
  is_current_ = true;
  return list_;
}

void Graph::Order::append(NodeId id) {
  if (is_current_) list_.push_back(id);
}

const std::vector<NodeId>& Graph::nodes() const& { return order_.list(*this); }

// Inserts a node into the order in front of the node `before`, or at the end for kNoNode.
void Graph::link(NodeId id, NodeId before) {
  NodeRecord& r = record(id);
  r.next = before;
  r.previous = before == kNoNode ? last_ : record(before).previous;
  (r.previous == kNoNode ? first_ : record(r.previous).next) = id;
  (before == kNoNode ? last_ : record(before).previous) = id;
  before == kNoNode ? order_.append(id) : order_.forget();
}

void Graph::unlink(NodeId id) {
  const NodeRecord& r = record(id);
  (r.previous == kNoNode ? first_ : record(r.previous).next) = r.next;
  (r.next == kNoNode ? last_ : record(r.next).previous) = r.previous;
  order_.forget();
}

void Graph::set_order(const std::vector<NodeId>& order) {
  first_ = last_ = kNoNode;
  order_ = Order();
  for (const NodeId id : order) link(id, kNoNode);
}

void Graph::sort() {
  // Kahn's algorithm. It always takes the ready node that comes first in the old order, so that the
  // order changes as little as possible.
  const std::vector<NodeId>& order = nodes();
  IdMap<NodeId, std::int32_t> waiting(nodes_.size(), 0);
  IdMap<NodeId, std::size_t> position(nodes_.size(), 0);
  std::vector<std::size_t> ready;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const NodeId id = order[i];
    position[id] = i;
    std::vector<NodeId> producers;
    for (const ValueId input : nodes_[index_of(id)].node.inputs) {
      if (input != kNoValue && record(input).value.producer != kNoNode) {
        producers.push_back(record(input).value.producer);
      }
    }
    std::sort(producers.begin(), producers.end());
    producers.erase(std::unique(producers.begin(), producers.end()), producers.end());
    waiting[id] = static_cast<std::int32_t>(producers.size());
    if (producers.empty()) ready.push_back(i);
  }
  std::make_heap(ready.begin(), ready.end(), std::greater<>());
  std::vector<NodeId> sorted;
  while (!ready.empty()) {
    std::pop_heap(ready.begin(), ready.end(), std::greater<>());
    const NodeId id = order[ready.back()];
    ready.pop_back();
    sorted.push_back(id);
    std::vector<NodeId> followers;
    for (const ValueId output : node(id).outputs) {
      if (output == kNoValue) continue;
      const std::vector<NodeId>& readers = record(output).consumers;
      followers.insert(followers.end(), readers.begin(), readers.end());
    }
    std::sort(followers.begin(), followers.end());
    followers.erase(std::unique(followers.begin(), followers.end()), followers.end());
    for (const NodeId follower : followers) {
      if (--waiting[follower] == 0) {
        ready.push_back(position[follower]);
        std::push_heap(ready.begin(), ready.end(), std::greater<>());
      }
    }
  }
  if (sorted.size() != order.size()) {
    for (const NodeId id : order) {
      if (waiting[id] == 0) continue;
      throw Error(ErrorCode::kInvalidModel, to_text(describe(id), ": is part of a cycle"));
    }
  }
  set_order(sorted);
}

}  // namespace qtool

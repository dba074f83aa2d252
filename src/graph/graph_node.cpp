// The attributes of a node by type. The connections between nodes are in graph_edges.cpp.
#include <algorithm>
#include <variant>

#include "base/text.h"
#include "qtool/base/error.h"
#include "qtool/graph/graph.h"

namespace qtool {
namespace {

template <typename T>
const T* find_attribute(const Node& node, std::string_view key, std::string_view type) {
  const auto it = node.attributes.find(key);
  if (it == node.attributes.end()) return nullptr;
  const T* found = std::get_if<T>(&it->second);
  if (found == nullptr) {
    throw Error(ErrorCode::kInvalidModel,
                to_text("node '", node.name, "' (", node.op_type, "): attribute '", key,
                        "' is not of type ", type));
  }
  return found;
}

}  // namespace

std::int64_t Node::get_int(std::string_view key, std::int64_t fallback) const {
  const auto* found = find_attribute<std::int64_t>(*this, key, "int");
  return found != nullptr ? *found : fallback;
}

float Node::get_float(std::string_view key, float fallback) const {
  const auto* found = find_attribute<float>(*this, key, "float");
  return found != nullptr ? *found : fallback;
}

std::string Node::get_string(std::string_view key, std::string_view fallback) const {
  const auto* found = find_attribute<std::string>(*this, key, "string");
  return found != nullptr ? *found : std::string(fallback);
}

std::vector<std::int64_t> Node::get_ints(std::string_view key,
                                         std::vector<std::int64_t> fallback) const {
  const auto* found = find_attribute<std::vector<std::int64_t>>(*this, key, "ints");
  return found != nullptr ? *found : std::move(fallback);
}

std::shared_ptr<const Tensor> Node::get_tensor(std::string_view key) const {
  const auto* found = find_attribute<std::shared_ptr<const Tensor>>(*this, key, "tensor");
  return found != nullptr ? *found : nullptr;
}

std::shared_ptr<const Subgraph> Node::get_subgraph(std::string_view key) const {
  const auto* found = find_attribute<std::shared_ptr<const Subgraph>>(*this, key, "graph");
  if (found != nullptr) return *found;
  throw Error(
      ErrorCode::kInvalidModel,
      to_text("node '", name, "' (", op_type, "): has no attribute '", key, "', expected a graph"));
}

bool Node::has_subgraphs() const {
  return std::ranges::any_of(attributes, [](const auto& item) {
    return std::holds_alternative<std::shared_ptr<const Subgraph>>(item.second);
  });
}

std::size_t Node::own_inputs() const {
  std::size_t captures = 0;
  for (const auto& [key, attribute] : attributes) {
    const auto* subgraph = std::get_if<std::shared_ptr<const Subgraph>>(&attribute);
    if (subgraph != nullptr) captures += (*subgraph)->captures;
  }
  return inputs.size() - std::min(captures, inputs.size());
}

}  // namespace qtool

#include <bit>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>
#include <variant>

#include "base/hash.h"
#include "graph/passes/passes.h"
#include "graph/subgraphs.h"
#include "qtool/graph/onnx.h"

namespace qtool {
namespace {

// A chain of hashes over fields. Lengths are hashed too, so that ("ab", "c") is not ("a", "bc").
class Chain {
 public:
  void add(std::string_view text) {
    add(static_cast<std::int64_t>(text.size()));
    hash_ = hash_bytes(text, hash_);
  }
  void add(std::int64_t number) {
    unsigned char bytes[8];  // little-endian on every machine
    for (unsigned i = 0; i < 8; ++i) {
      bytes[i] = static_cast<unsigned char>(static_cast<std::uint64_t>(number) >> (8 * i));
    }
    hash_ =
        hash_bytes(std::string_view(reinterpret_cast<const char*>(bytes), sizeof(bytes)), hash_);
  }
  void add(float number) { add(static_cast<std::int64_t>(std::bit_cast<std::uint32_t>(number))); }
  void add(const std::string& text) { add(std::string_view(text)); }
  template <typename T>
  void add(const std::vector<T>& items) {
    add(static_cast<std::int64_t>(items.size()));
    for (const T& item : items) add(item);
  }
  void add(const Tensor& tensor) {
    add(name_of(tensor.dtype()));
    add(tensor.shape().dims());
    add(std::string_view(reinterpret_cast<const char*>(tensor.data()),
                         static_cast<std::size_t>(tensor.bytes())));
  }
  void add(const std::shared_ptr<const Tensor>& tensor) { add(*tensor); }
  void add(const SubgraphPtr& /*subgraph*/) {}  // hashed separately, with the names around it

  [[nodiscard]] std::uint64_t hash() const { return hash_; }

 private:
  std::uint64_t hash_ = 0;
};

using Scopes = std::vector<const Graph*>;  // the graph and the graphs around it, outermost first

std::uint64_t hash_of(const Scopes& scopes, std::size_t inputs);

std::uint64_t hash_of(const Scopes& scopes, NodeId id) {
  const Graph& graph = *scopes.back();
  const Node& node = graph.node(id);
  Chain chain;
  const auto add_names = [&](std::span<const ValueId> ids) {
    chain.add(static_cast<std::int64_t>(ids.size()));
    for (const ValueId value : ids) {
      chain.add(value == kNoValue ? std::string_view() : std::string_view(graph.value(value).name));
    }
  };
  chain.add(node.name);
  chain.add(node.op_type);
  chain.add(node.domain);
  add_names(std::span(node.inputs).first(node.own_inputs()));
  add_names(node.outputs);
  for (const auto& [name, attribute] : node.attributes) {
    chain.add(name);
    chain.add(static_cast<std::int64_t>(attribute.index()));
    std::visit([&](const auto& value) { chain.add(value); }, attribute);
  }
  if (!node.has_subgraphs()) return chain.hash();
  for (const SubgraphUse& use : subgraphs_of(graph, id)) {
    const Graph named = name_as_in_file(use, scopes);
    Scopes inner = scopes;
    inner.push_back(&named);
    const std::size_t own = named.inputs().size() - use.captured.size();
    chain.add(static_cast<std::int64_t>(hash_of(inner, own)));
  }
  return chain.hash();
}

void add_port(Chain& chain, const Value& value) {
  chain.add(value.name);
  chain.add(value.dtype ? name_of(*value.dtype) : std::string_view());
  chain.add(std::int64_t{value.shape ? 1 : 0});
  if (!value.shape) return;
  chain.add(static_cast<std::int64_t>(value.shape->size()));
  for (const Dim& dim : *value.shape) {
    chain.add(dim.size.value_or(-1));
    chain.add(dim.symbol);
  }
}

// `inputs` is the number of the graph's own inputs. Captured values are hashed with the nodes that
// read them, by name.
std::uint64_t hash_of(const Scopes& scopes, std::size_t inputs) {
  const Graph& graph = *scopes.back();
  Chain chain;
  for (const auto& [domain, version] : graph.info.opsets) {
    if (scopes.size() > 1) break;  // a file lists the opsets once
    chain.add(domain);
    chain.add(version);
  }
  for (const ValueId id : std::span(graph.inputs()).first(inputs)) {
    add_port(chain, graph.value(id));
  }
  for (const ValueId id : graph.outputs()) add_port(chain, graph.value(id));
  // Names connect nodes and constants, so a sum, which ignores their order, loses no information.
  std::uint64_t sum = 0;
  for (const NodeId id : graph.nodes()) sum += hash_of(scopes, id);
  for (const ValueId id : graph.living_values()) {
    const Value& value = graph.value(id);
    if (value.constant == nullptr) continue;
    Chain constant;
    constant.add(value.name);
    constant.add(*value.constant);
    sum += constant.hash();
  }
  chain.add(static_cast<std::int64_t>(sum));
  return chain.hash();
}

}  // namespace

std::uint64_t fingerprint(const Graph& given) {
  Graph graph = given;  // constants are shared
  raise_opset(graph);   // as in saving, so that a saved graph has the same fingerprint
  return hash_of(Scopes{&graph}, graph.inputs().size());
}

}  // namespace qtool

#include "qtool/calib/fingerprint.h"

#include <array>
#include <bit>
#include <cstddef>
#include <span>
#include <type_traits>

#include "qtool/base/hash.h"

namespace qtool {
namespace {

// Chains the hash of one part into the next. Every part starts with its length, so that no two
// sequences of parts look alike.
class Hasher {
 public:
  void add(std::string_view text) {
    add(static_cast<std::int64_t>(text.size()));
    hash_ = hash_bytes(text, hash_);
  }
  void add(std::int64_t value) {
    std::array<std::byte, 8> bytes;  // little-endian on every machine
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      bytes[i] = static_cast<std::byte>(static_cast<std::uint64_t>(value) >> (8 * i) & 0xffU);
    }
    hash_ = hash_bytes(bytes, hash_);
  }
  void add(float value) { add(std::int64_t{std::bit_cast<std::int32_t>(value)}); }
  void add(const std::string& text) { add(std::string_view(text)); }
  void add(const Tensor& tensor) {
    add(name_of(tensor.dtype()));
    add(tensor.shape().dims());
    add(tensor.bytes());
    hash_ = hash_bytes({tensor.data(), static_cast<std::size_t>(tensor.bytes())}, hash_);
  }
  void add(const std::shared_ptr<const Tensor>& tensor) {
    add(std::int64_t{tensor != nullptr});
    if (tensor != nullptr) add(*tensor);
  }
  template <typename T>
  void add(const std::vector<T>& values) {
    add(static_cast<std::int64_t>(values.size()));
    for (const T& value : values) add(value);
  }
  void add(const Graph& graph, ValueId id) {
    const bool absent = id == kNoValue;
    add(std::int64_t{absent});
    if (!absent) add(graph.value(id).name);
  }
  void add(const Graph& graph, const std::vector<ValueId>& ids) {
    add(static_cast<std::int64_t>(ids.size()));
    for (const ValueId id : ids) add(graph, id);
  }
  [[nodiscard]] std::uint64_t value() const { return hash_; }

 private:
  std::uint64_t hash_ = 0;
};

}  // namespace

std::uint64_t fingerprint_of(const Graph& graph) {
  Hasher hasher;
  for (const NodeId id : graph.nodes()) {
    const Node& node = graph.node(id);
    hasher.add(node.name);
    hasher.add(node.op_type);
    hasher.add(node.domain);
    hasher.add(graph, node.inputs);
    hasher.add(graph, node.outputs);
    hasher.add(static_cast<std::int64_t>(node.attributes.size()));
    for (const auto& [key, attribute] : node.attributes) {
      hasher.add(key);
      hasher.add(static_cast<std::int64_t>(attribute.index()));
      std::visit([&](const auto& value) { hasher.add(value); }, attribute);
    }
  }
  hasher.add(graph, graph.inputs());
  hasher.add(graph, graph.outputs());
  for (const ValueId id : graph.living_values()) {
    if (!graph.is_constant(id)) continue;
    hasher.add(graph.value(id).name);
    hasher.add(*graph.value(id).constant);
  }
  for (const auto& [domain, version] : graph.info.opsets) {
    hasher.add(domain);
    hasher.add(version);
  }
  return hasher.value();
}

}  // namespace qtool

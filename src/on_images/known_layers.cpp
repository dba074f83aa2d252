#include "on_images/known_layers.h"

#include <span>
#include <string>
#include <utility>

#include "base/hash.h"
#include "base/text.h"
#include "quantize/rounding/rounding.h"

namespace qtool {
namespace {

std::uint64_t key_of(const KnownLayers::Place& place, const Layer& layer) {
  const LayerInput& input = layer.input;
  // Equalization divides the input and the bias of a depthwise layer, but not its weights.
  std::uint64_t divided = hash_bytes(std::as_bytes(std::span(layer.bias)));
  divided = hash_bytes(std::as_bytes(input.channel_means), divided);
  std::string text =
      to_text(place.name, "\n", place.rounding, " ", to_hex(place.input), " ",
              to_hex(rounding_source(layer)), " ", to_hex(divided), " ",
              static_cast<int>(layer.scheme.dtype), " ", layer.scheme.bits, " ",
              static_cast<int>(layer.scheme.symmetry), " ", input.mean_is_corrected ? 1 : 0, " ",
              input.passed.above, " ", input.passed.below);
  if (input.affine) text += to_text(" ", input.affine->scale, " ", input.affine->zero_point);
  return hash_bytes(text);
}

std::uint64_t join(std::uint64_t hash, std::uint64_t more) {
  return hash_bytes(std::as_bytes(std::span(&more, 1)), hash);
}

}  // namespace

IdMap<ValueId, std::uint64_t> sources_of(const Graph& graph) {
  IdMap<ValueId, std::uint64_t> sources(graph.value_limit(), 0);
  IdMap<ValueId, char> is_known(graph.value_limit(), 0);
  const auto source = [&](ValueId id) -> std::uint64_t {
    if (id == kNoValue) return 0;
    if (std::exchange(is_known[id], 1) != 0) return sources[id];
    const Value& value = graph.value(id);
    if (value.constant == nullptr) return sources[id] = hash_bytes(value.name);  // an input
    const auto bytes = static_cast<std::size_t>(value.constant->bytes());
    return sources[id] = hash_bytes(std::span(value.constant->data(), bytes));
  };
  for (const NodeId id : graph.nodes()) {
    const Node& node = graph.node(id);
    std::uint64_t hash = hash_bytes(node.op_type);
    for (const ValueId input : node.inputs) hash = join(hash, source(input));
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i] == kNoValue) continue;
      sources[node.outputs[i]] = join(hash, i);
      is_known[node.outputs[i]] = 1;
    }
  }
  return sources;
}

std::optional<RoundedLayer> KnownLayers::find(const Place& place, const Layer& layer) const {
  const auto found = by_key_.find(key_of(place, layer));
  if (found == by_key_.end()) return std::nullopt;
  return found->second;
}

void KnownLayers::add(const Place& place, const Layer& layer, const RoundedLayer& rounded) {
  by_key_.insert_or_assign(key_of(place, layer), rounded);
}

}  // namespace qtool

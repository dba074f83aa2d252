#include "on_images/known_layers.h"

#include <span>
#include <string>

#include "base/hash.h"
#include "base/text.h"
#include "quantize/rounding/rounding.h"

namespace qtool {
namespace {

std::uint64_t key_of(std::string_view name, const Layer& layer, std::string_view rounding) {
  const LayerInput& input = layer.input;
  // Equalization divides the input and the bias of a depthwise layer, but not its weights.
  std::uint64_t divided = hash_bytes(std::as_bytes(std::span(layer.bias)));
  divided = hash_bytes(std::as_bytes(input.channel_means), divided);
  std::string text =
      to_text(name, "\n", rounding, " ", to_hex(rounding_source(layer)), " ", to_hex(divided), " ",
              static_cast<int>(layer.scheme.dtype), " ", layer.scheme.bits, " ",
              static_cast<int>(layer.scheme.symmetry), " ", input.mean_is_corrected ? 1 : 0, " ",
              input.passed.above, " ", input.passed.below);
  if (input.affine) text += to_text(" ", input.affine->scale, " ", input.affine->zero_point);
  return hash_bytes(text);
}

}  // namespace

std::optional<RoundedLayer> KnownLayers::find(std::string_view name, const Layer& layer,
                                              std::string_view rounding) const {
  const auto found = by_key_.find(key_of(name, layer, rounding));
  if (found == by_key_.end()) return std::nullopt;
  return found->second;
}

void KnownLayers::add(std::string_view name, const Layer& layer, std::string_view rounding,
                      const RoundedLayer& rounded) {
  by_key_.insert_or_assign(key_of(name, layer, rounding), rounded);
}

}  // namespace qtool

#include "kernels/conv/pack_weights.h"

#include <algorithm>
#include <span>
#include <vector>

#include "base/round_up.h"
#include "quant/pair_limit.h"

namespace qtool {
namespace {

// With kernel rows as taps there is less padding: each row, not each position, is padded to whole
// groups.
TapKind choose_kind(const ConvWeights& weights, std::int64_t group) {
  const std::int64_t depth = weights.in_channels / weights.groups;
  if (depth < group) return TapKind::kRow;
  const std::int64_t by_pixel = weights.kernel_w * ceil_div(depth, group);
  const std::int64_t by_row = ceil_div(weights.kernel_w * depth, group);
  return weights.groups == 1 && 5 * by_row <= 4 * by_pixel ? TapKind::kRow : TapKind::kPixel;
}

// As many panels per unit as a kernel takes, but not a single panel after a full unit: 3 + 2 is
// faster than 4 + 1.
std::int64_t next_panels(std::int64_t remaining, std::int64_t most) {
  return most > 2 && remaining == most + 1 ? most - 1 : std::min(remaining, most);
}

std::vector<PanelUnit> make_units(const ConvWeights& weights, const GemmLayout& layout,
                                  std::int64_t panel_bytes) {
  const std::int64_t per_group = weights.out_channels / weights.groups;
  std::vector<PanelUnit> units;
  std::int64_t panels_before = 0;
  for (std::int64_t group = 0; group < weights.groups; ++group) {
    for (std::int64_t channel = 0; channel < per_group;) {
      PanelUnit unit;
      unit.group = group;
      unit.panels = next_panels(ceil_div(per_group - channel, layout.panel), layout.max_panels);
      unit.channels = std::min(per_group - channel, unit.panels * layout.panel);
      unit.channel = group * per_group + channel;
      unit.weights_at = panels_before * panel_bytes;
      unit.columns_at = panels_before * layout.panel;
      units.push_back(unit);
      panels_before += unit.panels;
      channel += unit.channels;
    }
  }
  return units;
}

// Finds the weights of a channel in the ONNX order.
class Source {
 public:
  Source(const ConvWeights& weights, const FoldedWeights& folded, TapKind kind)
      : weights_(weights), folded_(folded), kind_(kind) {}

  [[nodiscard]] std::int8_t at(std::int64_t term, std::int64_t tap, std::int64_t k,
                               std::int64_t channel) const {
    const std::int64_t depth = weights_.in_channels / weights_.groups;
    const std::int64_t position =
        kind_ == TapKind::kPixel ? tap : tap * weights_.kernel_w + k / depth;
    const std::int64_t input = kind_ == TapKind::kPixel ? k : k % depth;
    const std::int64_t filter = (term * weights_.out_channels + channel) * depth + input;
    return folded_.values[static_cast<std::size_t>(filter * weights_.kernel_h * weights_.kernel_w +
                                                   position)];
  }

 private:
  const ConvWeights& weights_;
  const FoldedWeights& folded_;
  TapKind kind_;
};

void pack_unit(const PackedPanels& panels, const PanelUnit& unit, const GemmLayout& layout,
               std::int64_t real_bytes, const Source& source, std::int8_t* packed) {
  const std::int64_t groups = ceil_div(panels.row_bytes, layout.group);
  const std::int64_t columns = unit.panels * layout.panel;
  for (std::int64_t tap = 0; tap < panels.terms * panels.taps; ++tap) {
    for (std::int64_t group = 0; group < groups; ++group) {
      const std::int64_t first = std::min(group * layout.group, panels.row_bytes - layout.group);
      for (std::int64_t column = 0; column < columns; ++column) {
        for (std::int64_t byte = 0; byte < layout.group; ++byte, ++packed) {
          const std::int64_t k = first + byte;
          const bool repeated = k < group * layout.group;
          const bool real = column < unit.channels && k < real_bytes && !repeated;
          *packed = real ? source.at(tap / panels.taps, tap % panels.taps, k, unit.channel + column)
                         : std::int8_t{0};
        }
      }
    }
  }
}

// Takes half of the weights of every pair that exceeds the limit out of a group, and puts it into
// `rest`. Returns whether there was such a pair.
bool split_pairs(std::span<std::int8_t> group, std::int32_t limit, std::int8_t* rest) {
  bool split = false;
  for (std::size_t at = 0; at < group.size(); at += 2) {
    const bool large = exceeds_pair_limit<std::int32_t>(group[at], group[at + 1], limit);
    for (std::size_t i = at; i < at + 2; ++i) {
      rest[i] = large ? static_cast<std::int8_t>(group[i] / 2) : std::int8_t{0};
      group[i] = static_cast<std::int8_t>(group[i] - rest[i]);
    }
    split = split || large;
  }
  return split;
}

// Replaces the packed weights by the steps of a kernel with a pair_limit.
void make_steps(PackedPanels& panels, const GemmLayout& layout) {
  const auto group_bytes = static_cast<std::size_t>(layout.panel * layout.group);
  const std::int64_t groups = ceil_div(panels.row_bytes, layout.group);
  const std::int64_t taps = panels.terms * panels.taps;
  const auto packed = panels.weights.values<std::int8_t>();
  std::vector<std::int8_t> steps;
  steps.reserve(packed.size());
  std::vector<std::int8_t> rest(group_bytes);
  for (PanelUnit& unit : panels.units) {
    auto group = packed.subspan(static_cast<std::size_t>(unit.weights_at));
    unit.weights_at = static_cast<std::int64_t>(steps.size());
    unit.starts_at = static_cast<std::int64_t>(panels.starts.size());
    unit.ends_at = static_cast<std::int64_t>(panels.ends.size());
    for (std::int64_t tap = 0; tap < taps; ++tap) {
      for (std::int64_t g = 0; g < groups; ++g, group = group.subspan(group_bytes)) {
        const auto start =
            static_cast<std::int32_t>(std::min(g * layout.group, panels.row_bytes - layout.group));
        const auto weights = group.first(group_bytes);
        const bool split = split_pairs(weights, layout.pair_limit, rest.data());
        steps.insert(steps.end(), weights.begin(), weights.end());
        panels.starts.push_back(start);
        if (!split) continue;
        steps.insert(steps.end(), rest.begin(), rest.end());
        panels.starts.push_back(start);
      }
      panels.ends.push_back(static_cast<std::int32_t>(
          static_cast<std::int64_t>(panels.starts.size()) - unit.starts_at));
    }
  }
  panels.weights = Tensor(DType::kInt8, {static_cast<std::int64_t>(steps.size())});
  std::copy(steps.begin(), steps.end(), panels.weights.values<std::int8_t>().begin());
}

}  // namespace

PackedPanels pack_panels(const ConvWeights& weights, const ConvOutput& output,
                         const GemmLayout& layout) {
  const FoldedWeights folded = fold_weights(weights, layout.input_offset);
  const std::int64_t depth = weights.in_channels / weights.groups;
  PackedPanels panels;
  panels.kind = choose_kind(weights, layout.group);
  const bool by_row = panels.kind == TapKind::kRow;
  const std::int64_t real_bytes = by_row ? weights.kernel_w * depth : depth;
  panels.taps = by_row ? weights.kernel_h : weights.kernel_h * weights.kernel_w;
  panels.terms = folded.terms;
  panels.row_bytes = std::max(real_bytes, layout.group);
  const std::int64_t panel_bytes = panels.terms * panels.taps *
                                   ceil_div(panels.row_bytes, layout.group) * layout.group *
                                   layout.panel;
  panels.units = make_units(weights, layout, panel_bytes);
  const std::int64_t all_panels =
      panels.units.back().columns_at / layout.panel + panels.units.back().panels;
  panels.weights = Tensor(DType::kInt8, {all_panels * panel_bytes});
  const auto columns = static_cast<std::size_t>(all_panels * layout.panel);
  panels.bias.resize(columns);
  panels.multiplier.resize(columns);
  if (output.type == OutputType::kFloat32) panels.addend.resize(columns);
  const Source source(weights, folded, panels.kind);
  for (const PanelUnit& unit : panels.units) {
    pack_unit(panels, unit, layout, real_bytes, source,
              panels.weights.values<std::int8_t>().data() + unit.weights_at);
    for (std::int64_t c = 0; c < unit.channels; ++c) {
      const auto to = static_cast<std::size_t>(unit.columns_at + c);
      const auto from = static_cast<std::size_t>(unit.channel + c);
      panels.bias[to] = folded.bias[from];
      panels.multiplier[to] = output.multiplier[from];
      if (!panels.addend.empty()) panels.addend[to] = output.addend[from];
    }
  }
  if (layout.pair_limit != 0) make_steps(panels, layout);
  return panels;
}

}  // namespace qtool

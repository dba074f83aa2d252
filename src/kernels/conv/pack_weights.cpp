#include "kernels/conv/pack_weights.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <type_traits>
#include <utility>
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

// For each tap of a term and byte of a row, the place of its weight among those of an output
// channel in the ONNX order.
std::vector<std::int32_t> places_of(const ConvWeights& weights, const PackedPanels& panels,
                                    std::int64_t real_bytes) {
  const std::int64_t depth = weights.in_channels / weights.groups;
  std::vector<std::int32_t> places;
  places.reserve(static_cast<std::size_t>(panels.taps * real_bytes));
  for (std::int64_t tap = 0; tap < panels.taps; ++tap) {
    for (std::int64_t k = 0; k < real_bytes; ++k) {
      const bool by_pixel = panels.kind == TapKind::kPixel;
      const std::int64_t position = by_pixel ? tap : tap * weights.kernel_w + k / depth;
      const std::int64_t input = by_pixel ? k : k % depth;
      places.push_back(
          static_cast<std::int32_t>(input * weights.kernel_h * weights.kernel_w + position));
    }
  }
  return places;
}

// Packs the weights of one output channel and one tap: `group` bytes at `packed` and at every
// `stride` bytes after it. `packed` holds zeros. `dense`: the places count up from 0. `group`:
// an integer, which may be a constant.
template <typename Group>
void pack_row(const std::int8_t* filter, std::span<const std::int32_t> places, bool dense,
              Group group, std::int64_t stride, std::int8_t* packed) {
  const auto bytes = std::ssize(places);
  std::int64_t k = 0;
  for (; dense && k + group <= bytes; k += group, packed += stride) {
    std::memcpy(packed, filter + k, static_cast<std::size_t>(group));
  }
  for (; k + group <= bytes; k += group, packed += stride) {
    for (std::int64_t byte = 0; byte < group; ++byte) {
      packed[byte] = filter[places[static_cast<std::size_t>(k + byte)]];
    }
  }
  if (k == bytes) return;
  // The last group begins earlier, and its first bytes repeat those of the group before. A row that
  // is shorter than a group has zeros at its end.
  std::int8_t* last = packed + (bytes < group ? 0 : group - (bytes - k));
  for (; k < bytes; ++k, ++last) *last = filter[places[static_cast<std::size_t>(k)]];
}

// Packs the weights of a unit. `packed` holds zeros.
void pack_unit(const PackedPanels& panels, const PanelUnit& unit, const GemmLayout& layout,
               std::span<const std::int32_t> places, const ConvWeights& weights,
               const FoldedWeights& folded, std::int8_t* packed) {
  const std::int64_t stride = unit.panels * layout.panel * layout.group;
  const std::int64_t tap_bytes = ceil_div(panels.row_bytes, layout.group) * stride;
  const std::int64_t filter_size =
      weights.in_channels / weights.groups * weights.kernel_h * weights.kernel_w;
  const auto real_bytes = places.size() / static_cast<std::size_t>(panels.taps);
  const bool dense = weights.kernel_h * weights.kernel_w == 1;
  for (std::int64_t term = 0; term < panels.terms; ++term) {
    for (std::int64_t c = 0; c < unit.channels; ++c) {
      const std::int8_t* filter =
          folded.values.data() + (term * weights.out_channels + unit.channel + c) * filter_size;
      for (std::int64_t tap = 0; tap < panels.taps; ++tap) {
        const auto row = places.subspan(static_cast<std::size_t>(tap) * real_bytes, real_bytes);
        std::int8_t* const to = packed + (term * panels.taps + tap) * tap_bytes + c * layout.group;
        if (layout.group == 4) {
          pack_row(filter, row, dense, std::integral_constant<std::int64_t, 4>(), stride, to);
        } else {
          pack_row(filter, row, dense, layout.group, stride, to);
        }
      }
    }
  }
}

// The step that becomes of a group of bytes for a kernel with a pair_limit: a narrow one in this
// order of the bytes (an index into kByteOrder), or a wide one.
using GroupForm = std::int8_t;
constexpr GroupForm kWideForm = kByteOrders;

// Whether no pair of a group exceeds the limit.
bool fit_pairs(std::span<const std::int8_t> group, std::int32_t limit) {
  int exceeding = 0;  // no bool and no exit, so that the loop is vectorized
  for (std::size_t at = 0; at < group.size(); at += 2) {
    exceeding |= exceeds_pair_limit<std::int32_t>(group[at], group[at + 1], limit) ? 1 : 0;
  }
  return exceeding == 0;
}

// Writes the weights of a narrow step.
std::int8_t* reorder(std::span<const std::int8_t> group, int order, std::int8_t* to) {
  for (std::size_t at = 0; at < group.size(); at += 4) {
    for (const std::int8_t byte : kByteOrder[order]) {
      *to++ = group[at + static_cast<std::size_t>(byte)];
    }
  }
  return to;
}

// Writes the weights of a wide step: those of the even bytes, then those of the odd ones.
std::int8_t* widen(std::span<const std::int8_t> group, std::int8_t* to) {
  for (const std::size_t first : {0U, 1U}) {
    for (std::size_t at = first; at < group.size(); at += 2, to += 2) {
      const std::int16_t weight = group[at];
      std::memcpy(to, &weight, sizeof weight);
    }
  }
  return to;
}

// Replaces the packed weights by the steps of a kernel with a pair_limit.
class StepMaker {
 public:
  StepMaker(PackedPanels& panels, const GemmLayout& layout)
      : panels_(panels),
        layout_(layout),
        group_bytes_(static_cast<std::size_t>(layout.panel * layout.group)),
        groups_(static_cast<std::size_t>(ceil_div(panels.row_bytes, layout.group))),
        packed_(panels.weights.values<std::int8_t>()),
        ordered_(group_bytes_) {}

  void run() {
    std::vector<GroupForm> forms(packed_.size() / group_bytes_);
    std::size_t bytes = packed_.size();
    for (std::size_t i = 0; i < forms.size(); ++i) {
      forms[i] = form_of(group(i));
      if (forms[i] == kWideForm) bytes += group_bytes_;
    }
    Tensor weights(DType::kInt8, {static_cast<std::int64_t>(bytes)});
    panels_.starts.reserve(forms.size());
    std::int8_t* const begin = weights.values<std::int8_t>().data();
    std::int8_t* to = begin;
    std::size_t first = 0;  // group of a tap
    for (PanelUnit& unit : panels_.units) {
      unit.weights_at = to - begin;
      unit.starts_at = std::ssize(panels_.starts);
      unit.steps_at = std::ssize(panels_.steps);
      for (std::int64_t tap = 0; tap < panels_.terms * panels_.taps; ++tap, first += groups_) {
        const auto add_steps = [&](GroupForm form) {
          for (std::size_t i = first; i < first + groups_; ++i) {
            if (forms[i] != form) continue;
            panels_.starts.push_back(start_of(i));
            to = form == kWideForm ? widen(group(i), to) : reorder(group(i), form, to);
          }
          return static_cast<std::int32_t>(std::ssize(panels_.starts) - unit.starts_at);
        };
        TapSteps ends;
        for (GroupForm order = 0; order < kByteOrders; ++order) {
          ends.narrow_end[order] = add_steps(order);
        }
        ends.wide_end = add_steps(kWideForm);
        panels_.steps.push_back(ends);
      }
    }
    panels_.weights = std::move(weights);
  }

 private:
  [[nodiscard]] std::span<const std::int8_t> group(std::size_t i) const {
    return packed_.subspan(i * group_bytes_, group_bytes_);
  }
  // The first byte of a row that group `i` reads.
  [[nodiscard]] std::int32_t start_of(std::size_t i) const {
    return static_cast<std::int32_t>(std::min(
        static_cast<std::int64_t>(i % groups_) * layout_.group, panels_.row_bytes - layout_.group));
  }
  [[nodiscard]] GroupForm form_of(std::span<const std::int8_t> group) {
    if (fit_pairs(group, layout_.pair_limit)) return 0;
    for (GroupForm order = 1; order < kByteOrders; ++order) {
      reorder(group, order, ordered_.data());
      if (fit_pairs(ordered_, layout_.pair_limit)) return order;
    }
    return kWideForm;
  }

  PackedPanels& panels_;
  const GemmLayout& layout_;
  std::size_t group_bytes_;
  std::size_t groups_;
  std::span<const std::int8_t> packed_;
  std::vector<std::int8_t> ordered_;  // a group in another order
};

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
  if (!output.negative.empty()) panels.negative.resize(columns);
  if (output.curve) panels.factors.resize(columns);
  if (output.type == OutputType::kFloat32) panels.addend.resize(columns);
  const std::vector<std::int32_t> places = places_of(weights, panels, real_bytes);
  for (const PanelUnit& unit : panels.units) {
    pack_unit(panels, unit, layout, places, weights, folded,
              panels.weights.values<std::int8_t>().data() + unit.weights_at);
    for (std::int64_t c = 0; c < unit.channels; ++c) {
      const auto to = static_cast<std::size_t>(unit.columns_at + c);
      const auto from = static_cast<std::size_t>(unit.channel + c);
      panels.bias[to] = folded.bias[from];
      panels.multiplier[to] = output.multiplier[from];
      if (!panels.negative.empty()) panels.negative[to] = output.negative[from];
      if (!panels.factors.empty()) panels.factors[to] = output.factors[from];
      if (!panels.addend.empty()) panels.addend[to] = output.addend[from];
    }
  }
  if (layout.pair_limit != 0) StepMaker(panels, layout).run();
  return panels;
}

}  // namespace qtool

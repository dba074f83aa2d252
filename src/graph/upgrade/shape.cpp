// Operators that move or select elements.
#include <algorithm>
#include <utility>

#include "base/text.h"
#include "graph/upgrade/upgrade.h"

namespace qtool {

void upgrade_reshape(Upgrade& up) {
  if (up.from() < 5) up.ints_to_input("shape", 1);
}

void upgrade_squeeze(Upgrade& up) {
  if (up.from() < 13) up.ints_to_input("axes", 1);
}

void upgrade_concat(Upgrade& up) {
  if (up.from() < 4) up.attributes().try_emplace("axis", std::int64_t{1});
}

void upgrade_slice(Upgrade& up) {
  if (up.from() >= 10) return;
  up.ints_to_input("starts", 1);
  up.ints_to_input("ends", 2);
  up.ints_to_input("axes", 3);
}

void upgrade_split(Upgrade& up) {
  if (up.from() < 13) {
    up.ints_to_input("split", 1);
    return;
  }
  if (up.from() <= kCanonicalOpset) return;
  const std::optional<std::int64_t> count = up.take_int("num_outputs");
  if (!count || up.input(1) != kNoValue) return;
  // In opset 18 the last part may be smaller. Earlier opsets need the sizes of the parts in that
  // case.
  const Value& data = up.graph().value(up.node().inputs.at(0));
  if (!data.shape || data.shape->empty() || *count < 1) return;
  const auto rank = static_cast<std::int64_t>(data.shape->size());
  const std::int64_t axis = up.plain_axes({up.node().get_int("axis", 0)}, rank)[0];
  const std::optional<std::int64_t> extent = (*data.shape)[static_cast<std::size_t>(axis)].size;
  if (!extent || *extent % *count == 0) return;
  const std::int64_t part = *extent / *count + 1;
  if (static_cast<std::size_t>(*count) != up.node().outputs.size()) {
    up.fail(
        to_text("attribute 'num_outputs' is ", *count, ", expected ", up.node().outputs.size()));
  }
  std::vector<std::int64_t> parts(static_cast<std::size_t>(*count), part);
  parts.back() = *extent - part * (*count - 1);
  if (parts.back() < 0) up.fail(to_text("cannot split ", *extent, " into ", *count, " parts"));
  up.set_input(1, up.add_ints("split", parts));
}

void upgrade_pad(Upgrade& up) {
  if (up.from() < 11) {
    up.ints_to_input(up.from() < 2 ? "paddings" : "pads", 1);
    const std::optional<float> value = up.take_float("value");
    if (value) up.set_input(2, up.add_constant("value", Tensor::scalar(*value)));
    return;
  }
  if (up.from() <= kCanonicalOpset) return;
  if (up.input(3) != kNoValue) {
    const std::int64_t rank = up.require_rank(0);
    const std::vector<std::int64_t> axes = up.plain_axes(up.constant_ints(3, "axes"), rank);
    const std::vector<std::int64_t> some = up.constant_ints(1, "pads");
    if (some.size() != 2 * axes.size()) {
      up.fail(to_text("found ", some.size(), " pads for ", axes.size(), " axes"));
    }
    std::vector<std::int64_t> pads(static_cast<std::size_t>(2 * rank), 0);
    for (std::size_t i = 0; i < axes.size(); ++i) {
      pads[static_cast<std::size_t>(axes[i])] = some[i];
      pads[static_cast<std::size_t>(axes[i] + rank)] = some[i + axes.size()];
    }
    up.set_input(1, up.add_ints("pads", pads));
  }
  up.truncate_inputs(3);
}

// Before opset 6 Tile repeated a single axis.
void upgrade_tile(Upgrade& up) {
  if (up.from() >= 6) return;
  const std::vector<std::int64_t> tiles = up.constant_ints(1, "tiles");
  const std::vector<std::int64_t> axis = up.constant_ints(2, "the axis");
  if (tiles.size() != 1 || axis.size() != 1) up.fail("expected one number of tiles and one axis");
  const std::int64_t rank = up.require_rank(0);
  std::vector<std::int64_t> repeats(static_cast<std::size_t>(rank), 1);
  repeats[static_cast<std::size_t>(up.plain_axes(axis, rank)[0])] = tiles[0];
  up.set_input(1, up.add_ints("repeats", repeats));
  up.truncate_inputs(2);
}

void upgrade_top_k(Upgrade& up) {
  if (up.from() >= 10) return;
  const std::optional<std::int64_t> k = up.take_int("k");
  if (!k) up.fail("attribute 'k' is missing");
  up.set_input(1, up.add_ints("k", {*k}));
}

void upgrade_scatter(Upgrade& up) {
  if (up.from() < 11) up.set_op("ScatterElements");
}

// Opset 16 moved the samples by half a pixel.
void upgrade_roi_align(Upgrade& up) {
  if (up.from() >= 16) return;
  up.attributes().try_emplace("coordinate_transformation_mode", std::string("output_half_pixel"));
}

// Opset 20 renamed the modes.
void upgrade_grid_sample(Upgrade& up) {
  if (up.from() <= 19) return;
  const std::string mode = up.node().get_string("mode", "linear");
  if (mode == "nearest") return;
  if (mode != "linear" && mode != "cubic") up.fail(to_text("unknown mode '", mode, "'"));
  up.attributes()["mode"] = "bi" + mode;
}

}  // namespace qtool

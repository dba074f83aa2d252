// Upsample and Resize.
#include <algorithm>
#include <numeric>
#include <utility>

#include "base/text.h"
#include "graph/upgrade/upgrade.h"

namespace qtool {
namespace {

// Up to opset 10, pixel i of the result is pixel i / scale of the source. If that falls between two
// pixels, `nearest` takes the lower pixel when it enlarges and the upper pixel when it shrinks, as
// ONNX's test data show.
void set_legacy_sampling(Upgrade& up, std::size_t scales_index) {
  const Tensor* scales = up.constant(scales_index);
  bool enlarges = false;
  bool shrinks = false;
  if (scales != nullptr && scales->dtype() == DType::kFloat32) {
    for (const float scale : scales->values<float>()) {
      enlarges = enlarges || scale > 1.0F;
      shrinks = shrinks || scale < 1.0F;
    }
  }
  const std::string mode = up.node().get_string("mode", "nearest");
  if (mode == "nearest" && enlarges && shrinks) {
    up.fail("enlarges one axis and shrinks another, which is not supported");
  }
  if (mode == "bilinear") up.attributes()["mode"] = std::string("linear");
  up.attributes()["coordinate_transformation_mode"] = std::string("asymmetric");
  if (mode == "nearest") {
    up.attributes()["nearest_mode"] = std::string(shrinks ? "ceil" : "floor");
  }
}

// The inputs X, scales become X, roi, scales.
void move_scales(Upgrade& up) {
  set_legacy_sampling(up, 1);
  const ValueId scales = up.input(1);
  up.set_input(1, kNoValue);
  up.set_input(2, scales);
}

// In older opsets a tensor without elements stands for an absent input.
void drop_empty_inputs(Upgrade& up) {
  const bool crops =
      up.node().get_string("coordinate_transformation_mode", "half_pixel") == "tf_crop_and_resize";
  for (std::size_t i = 1; i < up.node().inputs.size(); ++i) {
    const Tensor* constant = up.constant(i);
    const bool ignored = i == 1 && !crops;
    if (ignored || (constant != nullptr && constant->elements() == 0)) up.set_input(i, kNoValue);
  }
  while (up.node().inputs.size() > 1 && up.node().inputs.back() == kNoValue) {
    up.truncate_inputs(up.node().inputs.size() - 1);
  }
}

// Whether the model declares all extents of the node's input, and the sizes are constant.
bool knows_extents(const Upgrade& up) {
  const ValueId data = up.input(0);
  if (up.constant(3) == nullptr || data == kNoValue || !up.value(data).shape) return false;
  const std::vector<Dim>& dims = *up.value(data).shape;
  return std::all_of(dims.begin(), dims.end(), [](const Dim& dim) { return dim.size.has_value(); });
}

// Since opset 18 an attribute may name the axes to which scales or sizes belong. The lists are
// completed to all axes if the model contains enough information; otherwise the node keeps the
// attribute.
void spread_axes(Upgrade& up) {
  const bool whole = !up.node().has("axes") || up.input(1) != kNoValue ||
                     up.node().has("keep_aspect_ratio_policy") ||
                     (up.constant(2) == nullptr && !knows_extents(up));
  if (whole) return;
  const std::vector<std::int64_t> given = up.take_ints("axes").value();
  const std::int64_t rank = up.require_rank(0);
  const std::vector<std::int64_t> axes = up.plain_axes(given, rank);
  if (const Tensor* some = up.constant(2)) {
    if (some->dtype() != DType::kFloat32 ||
        some->elements() != static_cast<std::int64_t>(axes.size())) {
      up.fail("attribute 'axes' and input 'scales' disagree");
    }
    std::vector<float> scales(static_cast<std::size_t>(rank), 1.0F);
    for (std::size_t i = 0; i < axes.size(); ++i) {
      scales[static_cast<std::size_t>(axes[i])] = some->values<float>()[i];
    }
    up.set_input(
        2, up.add_constant("scales", Tensor::of<float>({rank}, std::span<const float>(scales))));
    return;
  }
  const std::vector<std::int64_t> some = up.constant_ints(3, "sizes with axes");
  const Value& data = up.graph().value(up.node().inputs.at(0));
  if (some.size() != axes.size()) up.fail("attribute 'axes' and input 'sizes' disagree");
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(rank), -1);
  for (std::size_t i = 0; i < axes.size(); ++i) sizes[static_cast<std::size_t>(axes[i])] = some[i];
  for (std::size_t axis = 0; axis < sizes.size(); ++axis) {
    if (sizes[axis] < 0) sizes[axis] = *(*data.shape)[axis].size;
  }
  up.set_input(3, up.add_ints("sizes", sizes));
}

}  // namespace

void upgrade_upsample(Upgrade& up) {
  if (up.from() >= 10) return;
  up.set_op("Resize");
  if (up.from() < 7) {
    const std::optional<float> height = up.take_float("height_scale");
    const std::optional<float> width = up.take_float("width_scale");
    if (!height || !width) up.fail("attributes 'height_scale' and 'width_scale' are missing");
    up.attributes()["scales"] = std::vector<float>{1.0F, 1.0F, *height, *width};
  }
  if (const auto scales = up.take_floats("scales")) {
    const auto count = static_cast<std::int64_t>(scales->size());
    up.set_input(
        1, up.add_constant("scales", Tensor::of<float>({count}, std::span<const float>(*scales))));
  }
  if (up.input(1) == kNoValue) up.fail("the scales are missing");
  move_scales(up);
}

void upgrade_resize(Upgrade& up) {
  if (up.from() == 10) {
    move_scales(up);
    return;
  }
  if (up.from() > kCanonicalOpset) {
    if (up.node().get_int("antialias", 0) == 0) up.drop("antialias");
    if (up.node().get_string("keep_aspect_ratio_policy", "stretch") == "stretch") {
      up.drop("keep_aspect_ratio_policy");
    }
  }
  drop_empty_inputs(up);
  if (up.from() > kCanonicalOpset) spread_axes(up);
}

}  // namespace qtool

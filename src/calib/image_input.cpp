#include "calib/image_input.h"

#include "base/text.h"
#include "qtool/base/error.h"

namespace qtool {
namespace {

constexpr std::size_t kImageRank = 4;

}  // namespace

ImageInput image_input_of(const Graph& graph) {
  if (graph.inputs().size() != 1) {
    throw Error(ErrorCode::kUnsupported,
                concat("calibration: the model has ", graph.inputs().size(),
                       " inputs, expected one image input"));
  }
  const Value& value = graph.value(graph.inputs()[0]);
  const auto refuse = [&](const std::string& found) {
    throw Error(ErrorCode::kUnsupported, concat("calibration: input '", value.name, "' ", found));
  };
  if (value.dtype.value_or(DType::kFloat32) != DType::kFloat32) {
    refuse(concat("is ", name_of(*value.dtype), ", expected float32"));
  }
  ImageInput input{value.name, std::vector<std::optional<std::int64_t>>(kImageRank)};
  if (value.shape) {
    if (value.shape->size() != kImageRank) {
      refuse(concat("has rank ", value.shape->size(), ", expected an image of rank 4"));
    }
    for (std::size_t axis = 0; axis < kImageRank; ++axis) {
      input.extents[axis] = (*value.shape)[axis].size;
    }
    if (input.extents[0].value_or(1) != 1) {
      refuse(concat("has the fixed batch ", *input.extents[0],
                    ", expected 1 or a symbol: images run one at a time"));
    }
  }
  input.extents[0] = 1;
  return input;
}

void require_match(const ImageInput& input, const Shape& shape) {
  std::string declared;
  bool matches = true;
  for (std::size_t axis = 0; axis < kImageRank; ++axis) {
    const std::optional<std::int64_t>& extent = input.extents[axis];
    matches = matches && extent.value_or(shape.dims()[axis]) == shape.dims()[axis];
    declared += concat(axis == 0 ? "" : ", ", extent ? to_text(*extent) : std::string("?"));
  }
  if (!matches) {
    throw Error(ErrorCode::kMismatch,
                concat("the preprocessing makes ", shape.to_string(), ", but input '", input.name,
                       "' of the model takes [", declared, "]"));
  }
}

}  // namespace qtool

#include "options_shape.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "model.h"
#include "qtool/base/error.h"
#include "qtool/samples/input_spec.h"

namespace qtool::tool {
namespace {

// The shapes that options give, by the input's name.
InputShapes given_shapes(const std::vector<InputSpec>& inputs,
                         const std::vector<std::string>& options) {
  std::vector<std::string> names;
  for (const InputSpec& input : inputs) names.push_back(input.name);
  InputShapes shapes;
  for (const std::string& option : options) {
    const std::size_t equals = option.rfind('=');
    const bool named = equals != std::string::npos;
    if (!named && inputs.size() != 1) {
      throw Error(ErrorCode::kUsage, concat("--shape: found '", option, "', the model has ",
                                            inputs.size(), " inputs; expected NAME=SHAPE"));
    }
    const std::string name = named ? option.substr(0, equals) : names.front();
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      throw Error(ErrorCode::kUsage, concat("--shape: the model has no input '", name, "'",
                                            nearest_text(name, names)));
    }
    Shape shape(parse_extents(named ? option.substr(equals + 1) : option, "--shape"));
    if (!shapes.emplace(name, std::move(shape)).second) {
      throw Error(ErrorCode::kUsage, concat("--shape: input '", name, "' has two shapes"));
    }
  }
  return shapes;
}

// Beside others, an input whose first extent is fixed above 1 has its batch elsewhere, if at all.
bool has_batch(const InputSpec& input, std::size_t inputs) {
  return inputs == 1 ||
         (input.extents && !input.extents->empty() && input.extents->front().value_or(1) == 1);
}

Shape declared_shape(const InputSpec& input, std::optional<std::int64_t> batch) {
  std::vector<std::int64_t> extents;
  bool known = input.extents.has_value();
  for (std::size_t axis = 0; known && axis < input.extents->size(); ++axis) {
    const std::optional<std::int64_t> extent = (*input.extents)[axis];
    known = extent || axis == 0;
    extents.push_back(axis == 0 ? batch.value_or(extent.value_or(1)) : extent.value_or(0));
  }
  if (known) return Shape(std::move(extents));
  throw Error(ErrorCode::kUsage, concat("input '", input.name,
                                        "' has no fixed size in the model; give it with --shape, "
                                        "for example --shape 1x3x224x224"));
}

}  // namespace

void add_shape_option(Command& command, std::vector<std::string>& shapes) {
  command
      .add_option("--shape", shapes,
                  "Input shape, when the model leaves it open\n"
                  "NAME=SHAPE, once for each, where there are several inputs.")
      ->type_name("NxCxHxW")
      ->take_all();
}

InputShapes concrete_shapes(const Graph& graph, const std::vector<std::string>& given,
                            std::optional<std::int64_t> batch) {
  const std::vector<InputSpec> inputs = input_specs(graph);
  InputShapes shapes = given_shapes(inputs, given);
  for (const InputSpec& input : inputs) {
    if (shapes.contains(input.name)) continue;
    const bool batched = has_batch(input, inputs.size());
    shapes.emplace(input.name, declared_shape(input, batched ? batch : std::nullopt));
  }
  return shapes;
}

}  // namespace qtool::tool

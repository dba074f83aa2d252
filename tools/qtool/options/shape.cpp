#include "options/shape.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/did_you_mean.h"
#include "base/text.h"
#include "model.h"
#include "qtool/base/error.h"
#include "qtool/samples/samples.h"

namespace qtool::tool {
namespace {

// The shapes that --shape gives, by the name of the input.
InputShapes given_shapes(const std::vector<InputSpec>& inputs,
                         const std::vector<std::string>& options) {
  std::vector<std::string> names;
  for (const InputSpec& input : inputs) names.push_back(input.name);
  InputShapes shapes;
  for (const std::string& option : options) {
    const std::size_t equals = option.rfind('=');
    const bool named = equals != std::string::npos;
    if (!named && inputs.size() != 1) {
      throw Error(ErrorCode::kUsage, to_text("--shape: found '", option, "', the model has ",
                                             inputs.size(), " inputs; expected NAME=SHAPE"));
    }
    const std::string name = named ? option.substr(0, equals) : names.front();
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      throw Error(ErrorCode::kUsage, to_text("--shape: the model has no input '", name, "'",
                                             did_you_mean(name, names)));
    }
    Shape shape(parse_extents(named ? option.substr(equals + 1) : option, "--shape"));
    if (!shapes.emplace(name, std::move(shape)).second) {
      throw Error(ErrorCode::kUsage, to_text("--shape: input '", name, "' has two shapes"));
    }
  }
  return shapes;
}

// Whether the first extent of an input is the batch. If there are several inputs, an extent that is
// fixed above 1 is not the batch.
bool has_batch(const InputSpec& input, std::size_t inputs) {
  return inputs == 1 ||
         (input.extents && !input.extents->empty() && input.extents->front().value_or(1) == 1);
}

// Extents of --dim by name, and which of them were used.
class NamedExtents {
 public:
  explicit NamedExtents(const std::vector<std::string>& options) {
    for (const std::string& option : options) {
      const std::size_t equals = option.rfind('=');
      if (equals == std::string::npos || equals == 0) {
        throw Error(ErrorCode::kUsage, to_text("--dim: found '", option, "', expected NAME=N"));
      }
      const std::vector<std::int64_t> extents = parse_extents(option.substr(equals + 1), "--dim");
      if (extents.size() != 1) {
        throw Error(ErrorCode::kUsage, to_text("--dim: found '", option, "', expected one number"));
      }
      const std::string name = option.substr(0, equals);
      if (!given_.emplace(name, Given{extents.front()}).second) {
        throw Error(ErrorCode::kUsage, to_text("--dim: '", name, "' has two extents"));
      }
    }
  }

  std::optional<std::int64_t> take(const std::string& name) {
    const auto found = given_.find(name);
    if (found == given_.end() || name.empty()) return std::nullopt;
    found->second.used = true;
    return found->second.extent;
  }

  // Throws for a name that the inputs of `graph` do not have.
  void require_known(const Graph& graph) const {
    std::vector<std::string> names;
    for (const ValueId id : graph.inputs()) {
      if (!graph.value(id).shape) continue;
      for (const Dim& dim : *graph.value(id).shape) {
        if (!dim.size && !dim.symbol.empty()) names.push_back(dim.symbol);
      }
    }
    for (const auto& [name, given] : given_) {
      if (std::find(names.begin(), names.end(), name) != names.end()) continue;
      throw Error(ErrorCode::kUsage, to_text("--dim: the inputs have no open extent '", name, "'",
                                             did_you_mean(name, names)));
    }
  }

  // Throws for an extent that was not used, because --shape gives every input that has it.
  void require_used() const {
    for (const auto& [name, given] : given_) {
      if (given.used) continue;
      throw Error(ErrorCode::kUsage, to_text("--dim ", name, "=", given.extent, " has no effect: ",
                                             "--shape gives every input that has it"));
    }
  }

 private:
  struct Given {
    std::int64_t extent = 0;
    bool used = false;
  };
  std::map<std::string, Given> given_;
};

Shape declared_shape(const InputSpec& input, const Value& value, NamedExtents& named,
                     std::optional<std::int64_t> batch) {
  std::vector<std::int64_t> extents;
  bool known = input.extents.has_value();
  for (std::size_t axis = 0; known && axis < input.extents->size(); ++axis) {
    std::optional<std::int64_t> extent = (*input.extents)[axis];
    const bool open = !extent;
    if (open) extent = named.take((*value.shape)[axis].symbol);
    if (axis == 0 && open && extent && batch) {
      throw Error(ErrorCode::kUsage,
                  to_text("--dim ", (*value.shape)[axis].symbol, ": the first extent of input '",
                          input.name, "' is what --batch gives"));
    }
    known = extent || axis == 0;
    extents.push_back(axis == 0 ? batch.value_or(extent.value_or(1)) : extent.value_or(0));
  }
  if (known) return Shape(std::move(extents));
  throw Error(ErrorCode::kUsage, to_text("input '", input.name,
                                         "' has no fixed size in the model; give it with --shape, "
                                         "for example --shape 1x3x224x224, or its open extents "
                                         "with --dim"));
}

Tensor noise(DType dtype, const Shape& shape) {
  Tensor tensor(dtype, shape);
  if (dtype != DType::kFloat32) return tensor;  // zeros, which are valid indices
  std::uint32_t state = 1;
  for (float& value : tensor.values<float>()) {
    state = state * 1664525U + 1013904223U;
    value = static_cast<float>(state >> 8) * 0x1p-22F - 2.0F;
  }
  return tensor;
}

}  // namespace

void ShapeOptions::add_to(Command& command) {
  command
      .option("--shape", shapes,
              "Input shape, when the model leaves it open\n"
              "NAME=SHAPE, once for each, where there are several inputs.")
      .placeholder("NxCxHxW");
  command
      .option("--dim", dims,
              "Extent that the model leaves open, by its name there\n"
              "Once for each: --dim batch=1 --dim width=320. qtool inspect shows the names.")
      .placeholder("NAME=N");
}

InputShapes ShapeOptions::concrete(const Graph& graph, std::optional<std::int64_t> batch) const {
  const std::vector<InputSpec> inputs = input_specs(graph);
  InputShapes concrete = given_shapes(inputs, shapes);
  NamedExtents named(dims);
  named.require_known(graph);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const InputSpec& input = inputs[i];
    if (concrete.contains(input.name)) continue;
    const bool batched = has_batch(input, inputs.size());
    concrete.emplace(input.name, declared_shape(input, graph.value(graph.inputs()[i]), named,
                                                batched ? batch : std::nullopt));
  }
  named.require_used();
  return concrete;
}

std::vector<Tensor> noise_of(const Graph& graph, const InputShapes& shapes) {
  std::vector<Tensor> sample;
  for (const InputSpec& spec : input_specs(graph)) {
    sample.push_back(noise(spec.dtype, shapes.at(spec.name)));
  }
  return sample;
}

}  // namespace qtool::tool

#include "graph/passes/constant_node.h"

#include <cstdint>
#include <span>
#include <variant>
#include <vector>

namespace qtool {
namespace {

template <typename T>
std::shared_ptr<const Tensor> list_tensor(const std::vector<T>& values) {
  const auto count = static_cast<std::int64_t>(values.size());
  return std::make_shared<const Tensor>(Tensor::of<T>({count}, std::span<const T>(values)));
}

}  // namespace

std::shared_ptr<const Tensor> tensor_of_constant(const Node& node) {
  if (auto tensor = node.get_tensor("value")) return tensor;
  if (node.has("value_float")) {
    return std::make_shared<const Tensor>(Tensor::scalar(node.get_float("value_float", 0.0F)));
  }
  if (node.has("value_int")) {
    return std::make_shared<const Tensor>(Tensor::scalar(node.get_int("value_int", 0)));
  }
  if (node.has("value_ints")) return list_tensor(node.get_ints("value_ints", {}));
  const auto floats = node.attributes.find("value_floats");
  if (floats != node.attributes.end()) {
    if (const auto* list = std::get_if<std::vector<float>>(&floats->second)) {
      return list_tensor(*list);
    }
  }
  return nullptr;
}

}  // namespace qtool

#include <algorithm>
#include <cmath>
#include <cstring>

#include "graph/passes/constant_node.h"
#include "ops/infer_rules.h"
#include "ops/operator.h"
#include "ops/rows.h"

// Operators that make tensors from attributes and constants.
namespace qtool {
namespace {

std::shared_ptr<const Tensor> share(Tensor tensor) {
  return std::make_shared<const Tensor>(std::move(tensor));
}

std::shared_ptr<const Tensor> constant_value(const OpContext& op) {
  if (auto tensor = tensor_of_constant(op.node)) return tensor;
  op.require(!op.node.has("value_floats"), "attribute 'value_floats' is not of type floats");
  op.fail(ErrorCode::kUnsupported, "found no numeric value attribute");
}

std::unique_ptr<Operator> make_copy(std::shared_ptr<const Tensor> tensor) {
  return make_operator([tensor = std::move(tensor)](const Operands& o) {
    copy_bytes(o.out<std::byte>(0), tensor->data(), tensor->bytes());
  });
}

// ConstantOfShape: the one element that fills the output; float 0 unless the node says otherwise.
std::shared_ptr<const Tensor> filling(const OpContext& op) {
  auto value = op.node.get_tensor("value");
  if (value == nullptr) return share(Tensor::scalar(0.0F));
  op.require(value->elements() == 1,
             to_text("attribute 'value' has ", value->elements(), " elements, expected 1"));
  return value;
}

std::vector<ValueInfo> infer_filled(const OpContext& op) {
  return {{filling(op)->dtype(), shape_of(op, ints_of(op, 0, "the shape"))}};
}

std::unique_ptr<Operator> make_filled(const OpContext& op) {
  return make_operator([value = filling(op)](const Operands& o) {
    const auto size = static_cast<std::size_t>(value->bytes());
    std::byte* out = o.out<std::byte>(0);
    const std::int64_t elements = o.output(0).shape.elements();
    in_pieces(elements, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i, out += size) {
        std::memcpy(out, value->data(), size);
      }
    });
  });
}

constexpr std::int64_t kMaxSteps = std::int64_t{1} << 32;

// Number of values start, start + delta, ... before limit.
std::int64_t count_steps(const OpContext& op, double start, double limit, double delta) {
  const double steps = std::ceil((limit - start) / delta);
  if (!(steps > 0)) return 0;
  op.require(steps <= static_cast<double>(kMaxSteps), "the range has too many elements");
  return static_cast<std::int64_t>(steps);
}
std::int64_t count_steps(const OpContext& op, std::int64_t start, std::int64_t limit,
                         std::int64_t delta) {
  if (delta > 0 ? limit <= start : limit >= start) return 0;
  const auto from = static_cast<std::uint64_t>(start);
  const auto to = static_cast<std::uint64_t>(limit);
  const auto by = static_cast<std::uint64_t>(delta);
  const std::uint64_t distance = delta > 0 ? to - from : from - to;
  const std::uint64_t step = delta > 0 ? by : std::uint64_t{0} - by;
  const std::uint64_t steps = (distance - 1) / step + 1;
  op.require(steps <= static_cast<std::uint64_t>(kMaxSteps), "the range has too many elements");
  return static_cast<std::int64_t>(steps);
}

using RangeTypes = TypeList<float, double, std::int32_t, std::int64_t>;

template <typename T>
struct Steps {
  T start{};
  T delta{};
  std::int64_t count = 0;
};

template <typename T>
Steps<T> steps_of(const OpContext& op) {
  T bounds[3] = {};
  for (std::size_t i = 0; i < 3; ++i) {
    const Tensor* constant = op.constant(i);
    if (constant == nullptr) {
      op.fail(ErrorCode::kUnsupported, "a bound depends on the data; only constants are supported");
    }
    bounds[i] = constant->values<T>()[0];
  }
  const auto [start, limit, delta] = bounds;
  op.require(delta != T{0}, "the step is 0");
  using Wide = std::conditional_t<std::is_integral_v<T>, std::int64_t, double>;
  return {start, delta,
          count_steps(op, static_cast<Wide>(start), static_cast<Wide>(limit),
                      static_cast<Wide>(delta))};
}

template <typename T>
std::unique_ptr<Operator> make_steps(const OpContext& op) {
  return make_operator([steps = steps_of<T>(op)](const Operands& o) {
    T* out = o.out<T>(0);
    in_pieces(steps.count, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        // The value lies between start and limit; only the product, an intermediate result, may
        // wrap around.
        if constexpr (std::is_integral_v<T>) {
          out[i] = static_cast<T>(static_cast<std::uint64_t>(steps.start) +
                                  static_cast<std::uint64_t>(i) *
                                      static_cast<std::uint64_t>(steps.delta));
        } else {
          out[i] = static_cast<T>(static_cast<double>(steps.start) +
                                  static_cast<double>(i) * static_cast<double>(steps.delta));
        }
      }
    });
  });
}

// Computes only the number of elements, which may be large, not the elements.
std::vector<ValueInfo> infer_range(const OpContext& op) {
  require_type(op, 0, RangeTypes{});
  for (std::size_t i = 0; i < 3; ++i) {
    require_same_type(op, 0, i);
    require_single(op, i, "a bound of the range");
  }
  std::int64_t count = 0;
  with_type(RangeTypes{}, op.input(0).dtype,
            [&](auto element) { count = steps_of<decltype(element)>(op).count; });
  return {{op.input(0).dtype, Shape{count}}};
}

std::unique_ptr<Operator> make_range(const OpContext& op) {
  return make_for_type(RangeTypes{}, op.input(0).dtype,
                       [&](auto element) { return make_steps<decltype(element)>(op); });
}

}  // namespace

OpDef op_Constant() {
  return {[](const OpContext& op) {
            const auto value = constant_value(op);
            return std::vector<ValueInfo>{{value->dtype(), value->shape()}};
          },
          [](const OpContext& op) { return make_copy(constant_value(op)); }};
}

OpDef op_ConstantOfShape() { return {infer_filled, make_filled}; }

OpDef op_Range() { return {infer_range, make_range}; }

}  // namespace qtool

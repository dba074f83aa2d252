#include "model_parts.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <string_view>

#include "graph/onnx/defs.h"

namespace qtool::fuzz {
namespace {

using onnx::AttributeProto;
using onnx::TensorProto;

constexpr std::array kNames = {
#define QTOOL_OP(name, ...) #name,
#include "graph/operators.inc"
#define QTOOL_UPGRADE(name, rule) #name,
#include "graph/upgrade/upgrades.inc"
};

constexpr std::int64_t kMaxElements = 512;

int bounded(int count, int most) { return std::clamp(count, 0, most); }

std::vector<OperatorUse> collect_uses() {
  std::vector<OperatorUse> uses;
  for (const std::string_view name : kNames) {
    const bool listed = std::any_of(uses.begin(), uses.end(),
                                    [&](const OperatorUse& use) { return use.op_type == name; });
    if (listed) continue;
    OperatorUse use;
    use.op_type = name;
    const onnx::OpSchema* schema = onnx::OpSchemaRegistry::Schema(use.op_type, "");
    if (schema == nullptr) {  // newer than the library, or only in old opsets
      use.most_inputs = 3;
      use.most_outputs = 1;
    } else {
      use.least_inputs = bounded(schema->min_input(), 5);
      use.most_inputs = bounded(schema->max_input(), 5);
      use.least_outputs = bounded(schema->min_output(), 3);
      use.most_outputs = bounded(schema->max_output(), 3);
      for (const auto& [key, attribute] : schema->attributes()) {
        use.attributes.push_back({key, attribute.type});
      }
    }
    uses.push_back(std::move(use));
  }
  return uses;
}

std::int64_t element_bytes(std::int32_t type) {
  switch (type) {
    case TensorProto::DOUBLE:
    case TensorProto::INT64:
    case TensorProto::UINT64:
      return 8;
    case TensorProto::FLOAT:
    case TensorProto::INT32:
    case TensorProto::UINT32:
      return 4;
    case TensorProto::FLOAT16:
    case TensorProto::BFLOAT16:
    case TensorProto::INT16:
    case TensorProto::UINT16:
      return 2;
    default:
      return 1;
  }
}

template <typename T>
void append(std::string& bytes, T value) {
  std::array<char, sizeof(T)> raw;
  std::memcpy(raw.data(), &value, sizeof(T));
  bytes.append(raw.data(), raw.size());
}

std::string random_string(Random& random) {
  static constexpr std::array kWords = {"",
                                        "constant",
                                        "reflect",
                                        "edge",
                                        "nearest",
                                        "linear",
                                        "cubic",
                                        "half_pixel",
                                        "floor",
                                        "ceil",
                                        "asymmetric",
                                        "SAME_UPPER",
                                        "SAME_LOWER",
                                        "VALID",
                                        "NOTSET",
                                        "align_corners",
                                        "DCR",
                                        "CRD",
                                        "round_prefer_ceil",
                                        "tf_crop_and_resize",
                                        "pytorch_half_pixel",
                                        "none",
                                        "tanh"};
  return random.pick(kWords);
}

}  // namespace

const std::vector<OperatorUse>& known_operators() {
  static const std::vector<OperatorUse> uses = collect_uses();
  return uses;
}

const OperatorUse* find_use(const std::string& op_type) {
  for (const OperatorUse& use : known_operators()) {
    if (use.op_type == op_type) return &use;
  }
  return nullptr;
}

std::string any_name(Random& random, const onnx::GraphProto& graph) {
  std::vector<const std::string*> names;
  for (const auto& input : graph.input()) names.push_back(&input.name());
  for (const auto& tensor : graph.initializer()) names.push_back(&tensor.name());
  for (const onnx::NodeProto& node : graph.node()) {
    for (const std::string& output : node.output()) names.push_back(&output);
  }
  if (names.empty() || random.one_in(24)) return {};
  return *random.pick(names);
}

std::string new_name(Random& random) {
  std::string name = "t";
  for (int i = 0; i < 6; ++i) name += static_cast<char>('a' + random.below(26));
  return name;
}

std::int64_t random_int(Random& random) {
  static constexpr std::array<std::int64_t, 14> kEnds = {std::numeric_limits<std::int64_t>::min(),
                                                         std::numeric_limits<std::int64_t>::max(),
                                                         std::numeric_limits<std::int32_t>::min(),
                                                         std::numeric_limits<std::int32_t>::max(),
                                                         std::int64_t{1} << 32,
                                                         std::int64_t{1} << 40,
                                                         std::int64_t{1} << 62,
                                                         -(std::int64_t{1} << 62),
                                                         255,
                                                         256,
                                                         65535,
                                                         1000,
                                                         -100,
                                                         127};
  return random.one_in(16) ? random.pick(kEnds) : random.between(-3, 6);
}

float random_float(Random& random) {
  static constexpr std::array kEnds = {0.0F,
                                       -0.0F,
                                       1.0F,
                                       -1.0F,
                                       std::numeric_limits<float>::infinity(),
                                       -std::numeric_limits<float>::infinity(),
                                       std::numeric_limits<float>::quiet_NaN(),
                                       std::numeric_limits<float>::max(),
                                       std::numeric_limits<float>::min(),
                                       std::numeric_limits<float>::denorm_min(),
                                       1e-20F,
                                       1e20F,
                                       0.5F,
                                       6.0F,
                                       255.0F};
  return random.one_in(6) ? random.pick(kEnds) : random.real() * 4.0F;
}

std::int64_t random_extent(Random& random) {
  if (random.one_in(64)) return random_int(random);
  if (random.one_in(32)) {
    return (std::int64_t{1} << random.between(0, 62)) + random.between(-1, 1);
  }
  return random.one_in(8) ? random.between(0, 40) : random.between(1, 8);
}

std::int32_t random_type(Random& random) {
  if (!random.one_in(3)) return random.one_in(3) ? TensorProto::INT64 : TensorProto::FLOAT;
  return static_cast<std::int32_t>(random.between(0, 17));
}

void fill(Random& random, TensorProto& tensor) {
  // If an axis is empty, the other extents may have any size. Otherwise they are kept small.
  const bool empty =
      std::find(tensor.dims().begin(), tensor.dims().end(), 0) != tensor.dims().end();
  std::int64_t elements = empty ? 0 : 1;
  for (std::int64_t& extent : *tensor.mutable_dims()) {
    // Compares by division, because an extent may be the largest int64.
    if (extent < 0 || (!empty && extent > kMaxElements / elements)) extent = 1;
    elements *= empty ? 0 : extent;
  }
  std::string bytes;
  const std::int32_t type = tensor.data_type();
  for (std::int64_t i = 0; i < elements; ++i) {
    if (type == TensorProto::FLOAT) {
      append(bytes, random_float(random));
    } else if (type == TensorProto::INT64) {
      append(bytes, random_int(random));
    } else {
      for (std::int64_t byte = 0; byte < element_bytes(type); ++byte) {
        append(bytes, static_cast<char>(random.one_in(2) ? random.below(256) : random.below(3)));
      }
    }
  }
  for (const int field : {4, 5, 6, 7, 10, 11}) {  // float, int32, string, int64, double, uint64
    const auto* descriptor = tensor.GetDescriptor()->FindFieldByNumber(field);
    tensor.GetReflection()->ClearField(&tensor, descriptor);
  }
  tensor.set_raw_data(std::move(bytes));
}

void random_tensor(Random& random, TensorProto& tensor) {
  tensor.set_data_type(random_type(random));
  tensor.clear_dims();
  const bool empty = random.one_in(32);
  for (std::int64_t axis = random.between(0, 4); axis > 0; --axis) {
    tensor.add_dims(empty ? random_extent(random) : random.between(1, 4));
  }
  if (empty) tensor.add_dims(0);
  fill(random, tensor);
}

void random_value(Random& random, AttributeProto& attribute) {
  if (random.one_in(32)) {
    attribute.set_type(static_cast<AttributeProto::AttributeType>(random.between(0, 8)));
  }
  switch (attribute.type()) {
    case AttributeProto::FLOAT:
      attribute.set_f(random_float(random));
      break;
    case AttributeProto::STRING:
      attribute.set_s(random_string(random));
      break;
    case AttributeProto::TENSOR:
      random_tensor(random, *attribute.mutable_t());
      break;
    case AttributeProto::FLOATS:
      attribute.clear_floats();
      for (std::int64_t i = random.between(0, 4); i > 0; --i) {
        attribute.add_floats(random_float(random));
      }
      break;
    case AttributeProto::INTS:
      attribute.clear_ints();
      for (std::int64_t i = random.between(0, 8); i > 0; --i) {
        attribute.add_ints(random_int(random));
      }
      break;
    case AttributeProto::STRINGS:
      attribute.clear_strings();
      for (std::int64_t i = random.between(0, 3); i > 0; --i) {
        attribute.add_strings(random_string(random));
      }
      break;
    default:
      attribute.set_type(AttributeProto::INT);
      attribute.set_i(random_int(random));
  }
}

void random_attribute(Random& random, const std::string& op_type, AttributeProto& attribute) {
  const OperatorUse* use = find_use(op_type);
  if (use == nullptr || use->attributes.empty() || random.one_in(16)) {
    use = &random.pick(known_operators());
  }
  attribute.set_name("axis");
  attribute.set_type(AttributeProto::INT);
  if (!use->attributes.empty()) {
    const OperatorUse::Attribute& known = random.pick(use->attributes);
    attribute.set_name(known.name);
    attribute.set_type(known.type);
  }
  random_value(random, attribute);
}

}  // namespace qtool::fuzz

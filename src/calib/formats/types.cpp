#include "calib/formats/types.h"

#include <limits>
#include <vector>

#include "base/text.h"

namespace qtool {
namespace {

constexpr std::string_view kSymmetric = "symmetric";
constexpr std::string_view kAsymmetric = "asymmetric";
constexpr std::string_view kFree = "free";
constexpr std::string_view kLimited = "limited";

/// The value of the optional member `key`, which is one of two words.
template <typename Value>
std::optional<Value> choice_of(const JsonField& field, std::string_view key, std::string_view first,
                               Value first_value, std::string_view second, Value second_value) {
  const std::optional<JsonField> member = field.find(key);
  if (!member) return std::nullopt;
  const std::string name = member->as_string();
  if (name == first) return first_value;
  if (name == second) return second_value;
  member->fail(to_text("'", first, "' or '", second, "'"));
}

std::optional<Symmetry> symmetry_of(const JsonField& field, std::string_view key) {
  return choice_of(field, key, kSymmetric, Symmetry::kSymmetric, kAsymmetric,
                   Symmetry::kAsymmetric);
}

std::optional<int> bits_of(const JsonField& field, std::string_view key) {
  const std::optional<JsonField> member = field.find(key);
  if (!member) return std::nullopt;
  return static_cast<int>(member->as_int(2, 8));
}

std::string_view name_of(Symmetry symmetry) {
  return symmetry == Symmetry::kSymmetric ? kSymmetric : kAsymmetric;
}

}  // namespace

nlohmann::ordered_json types_to_json(const TypeChoices& types) {
  nlohmann::ordered_json object = nlohmann::ordered_json::object();
  if (types.weight_method) object["weight_method"] = *types.weight_method;
  if (types.weight_bits) object["weight_bits"] = *types.weight_bits;
  if (types.weight_granularity) {
    object["weight_granularity"] =
        *types.weight_granularity == Granularity::kPerTensor ? kPerTensor : kPerChannel;
  }
  if (types.weight_symmetry) object["weight_symmetry"] = name_of(*types.weight_symmetry);
  if (types.winograd_bits) object["winograd_bits"] = *types.winograd_bits;
  if (types.weight_pairs) {
    object["weight_pairs"] = *types.weight_pairs == WeightPairs::kLimited ? kLimited : kFree;
  }
  if (types.activation_dtype) object["activation_dtype"] = name_of(*types.activation_dtype);
  if (types.activation_symmetry) {
    object["activation_symmetry"] = name_of(*types.activation_symmetry);
  }
  if (types.activation_bits) object["activation_bits"] = *types.activation_bits;
  return object;
}

TypeChoices types_of(const JsonField& field) {
  field.require_object({"weight_method", "weight_bits", "weight_granularity", "weight_symmetry",
                        "winograd_bits", "weight_pairs", "activation_dtype", "activation_symmetry",
                        "activation_bits"});
  TypeChoices types;
  if (const auto method = field.find("weight_method")) types.weight_method = method->as_string();
  types.weight_bits = bits_of(field, "weight_bits");
  types.weight_granularity =
      choice_of(field, "weight_granularity", kPerTensor, Granularity::kPerTensor, kPerChannel,
                Granularity::kPerChannel);
  types.weight_symmetry = symmetry_of(field, "weight_symmetry");
  types.winograd_bits = bits_of(field, "winograd_bits");
  types.weight_pairs =
      choice_of(field, "weight_pairs", kFree, WeightPairs::kFree, kLimited, WeightPairs::kLimited);
  types.activation_dtype = choice_of(field, "activation_dtype", name_of(DType::kUInt8),
                                     DType::kUInt8, name_of(DType::kInt8), DType::kInt8);
  types.activation_symmetry = symmetry_of(field, "activation_symmetry");
  types.activation_bits = bits_of(field, "activation_bits");
  return types;
}

float scale_of(const JsonField& field) {
  const float scale = field.as_float();
  if (scale < std::numeric_limits<float>::min()) field.fail("a positive, normal float32");
  return scale;
}

Range range_of(const JsonField& field) {
  const std::vector<float> ends = field.as_floats();
  if (ends.size() != 2 || ends[0] > 0.0F || ends[1] < 0.0F) {
    field.fail("two numbers, the first at most 0 and the second at least 0");
  }
  return {ends[0], ends[1]};
}

}  // namespace qtool

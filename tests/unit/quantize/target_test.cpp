#include "qtool/quantize/target.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "graph/op_traits.h"
#include "qtool/base/error.h"
#include "qtool/quant/affine.h"
#include "qtool/quantize/quantize.h"

namespace qtool {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

/// All fields of a target, for comparison.
auto fields_of(const Target& t) {
  return std::make_tuple(
      std::make_tuple(t.name, t.description, t.activations, t.weights, t.weight_granularity,
                      t.weight_method, t.winograd_bits, t.weight_pairs, t.weight_symmetries,
                      t.constants, t.forms, t.per_tensor_weight_ops, t.same_affine_ops,
                      t.fixed_results.size()),
      std::make_tuple(t.adds_pairs_in_16_bits, t.ops, t.movers, t.fused_activations,
                      t.fusing_producers, t.residual_producers, t.integer_result_ops,
                      t.explicit_zero_ops, t.conv_spatial_axes, t.concat_min_share));
}

/// Choices with one field set. The target decides all others.
template <typename T, typename Value>
TypeChoices choice(std::optional<T> TypeChoices::*what, Value value) {
  TypeChoices choices;
  choices.*what = value;
  return choices;
}

/// The refusal's message; empty when the choices are accepted or the error has another code.
std::string choice_refusal(std::string_view target, const TypeChoices& choices) {
  try {
    static_cast<void>(with_choices(find_target(target), choices));
  } catch (const Error& error) {
    return error.code() == ErrorCode::kUsage ? error.what() : "";
  }
  return "";
}

TEST(Targets, AreSortedByNameAndEachFoundUnderIt) {
  std::vector<std::string_view> names;
  for (const Target& target : targets()) {
    names.push_back(target.name);
    EXPECT_EQ(&find_target(target.name), &target);
    EXPECT_FALSE(target.description.empty()) << target.name;
  }
  EXPECT_THAT(names,
              ElementsAre("cpu", "onnxruntime", "openvino", "qtool", "tensorrt", "tflite-like"));
  EXPECT_EQ(find_target(kDefaultTarget).name, "cpu");
}

TEST(Targets, NameEachOperatorOnce) {
  for (const Target& target : targets()) {
    std::set<std::string_view> seen;
    for (const std::string_view op : target.ops) {
      EXPECT_TRUE(seen.insert(op).second) << target.name << " lists " << op;
      EXPECT_TRUE(target.runs(op));
      EXPECT_NE(traits_of(op).kind, OpKind::kOther) << op;
    }
    EXPECT_FALSE(seen.empty()) << target.name;
  }
}

TEST(Targets, SpeakOnlyOfOperatorsTheyRun) {
  for (const Target& target : targets()) {
    for (const auto* names :
         {&target.fused_activations, &target.fusing_producers, &target.residual_producers,
          &target.integer_result_ops, &target.explicit_zero_ops, &target.per_tensor_weight_ops,
          &target.same_affine_ops}) {
      for (const std::string_view name : *names) {
        EXPECT_TRUE(target.runs(name)) << target.name << ": " << name;
      }
    }
    for (const FixedResult& fixed : target.fixed_results) {
      EXPECT_TRUE(target.runs(fixed.op_type)) << target.name << ": " << fixed.op_type;
    }
  }
}

TEST(Targets, HaveTypesThatTheyTakeThemselves) {
  for (const Target& target : targets()) {
    EXPECT_NO_THROW(limits_of(target.activations)) << target.name;
    EXPECT_NO_THROW(limits_of(target.weights)) << target.name;
    EXPECT_THAT(target.weight_symmetries, testing::Contains(target.weights.symmetry))
        << target.name;
    EXPECT_NO_THROW(find_weight_method(target.weight_method)) << target.name;
    EXPECT_GE(target.concat_min_share, 0.0);
    EXPECT_LE(target.concat_min_share, 1.0);
  }
}

TEST(Targets, DifferWhereTheirBackEndsDo) {
  const Target& cpu = find_target("cpu");
  EXPECT_EQ(cpu.activations, (Scheme{DType::kUInt8, 8, Symmetry::kAsymmetric}));
  EXPECT_EQ(cpu.constants, ConstantForm::kIntegers);
  EXPECT_EQ(cpu.movers, Movers::kShareAffine);

  const Target& tensorrt = find_target("tensorrt");
  EXPECT_EQ(tensorrt.activations, (Scheme{DType::kInt8, 8, Symmetry::kSymmetric}));
  EXPECT_EQ(tensorrt.constants, ConstantForm::kReals);
  EXPECT_EQ(tensorrt.movers, Movers::kCommute);
  EXPECT_FALSE(tensorrt.runs("Sigmoid"));

  // onnxruntime is another name for the same rules as cpu.
  Target onnxruntime = find_target("onnxruntime");
  onnxruntime.name = cpu.name;
  onnxruntime.description = cpu.description;
  EXPECT_EQ(fields_of(onnxruntime), fields_of(cpu));

  Target own = find_target("qtool");
  EXPECT_THAT(own.weight_symmetries, ElementsAre(Symmetry::kSymmetric, Symmetry::kAsymmetric));
  own.name = cpu.name;
  own.description = cpu.description;
  own.weight_symmetries = cpu.weight_symmetries;
  EXPECT_THAT(own.residual_producers, ElementsAre("Conv"));
  EXPECT_THAT(cpu.residual_producers, testing::IsEmpty());
  own.residual_producers.clear();
  EXPECT_THAT(own.integer_result_ops, testing::IsEmpty());
  own.integer_result_ops = cpu.integer_result_ops;
  own.adds_pairs_in_16_bits = true;  // its own kernels are exact
  // ONNX Runtime computes these operators in FP32.
  for (const std::string_view op : {"ArgMax", "ArgMin", "ConvTranspose", "Div",
                                    "InstanceNormalization", "Max", "Min", "ReduceMean", "Sub"}) {
    EXPECT_EQ(std::erase(own.ops, op), 1U) << op;
  }
  for (const std::string_view op : {"ConvTranspose", "Sub"}) {
    EXPECT_EQ(std::erase(own.fusing_producers, op), 1U) << op;
  }
  EXPECT_EQ(fields_of(own), fields_of(cpu));
}

TEST(FindTarget, NamesTheNearestForAnUnknownOne) {
  const auto message = [](std::string_view name) -> std::string {
    try {
      static_cast<void>(find_target(name));
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kUsage);
      return error.what();
    }
    return "found";
  };
  EXPECT_EQ(message("tensort"), "target 'tensort' is unknown; did you mean 'tensorrt'?");
  EXPECT_EQ(message("gpu"), "target 'gpu' is unknown; did you mean 'cpu'?");
  EXPECT_THAT(message("CPU"), HasSubstr("target 'CPU' is unknown"));
  EXPECT_THAT(message(""), HasSubstr("target '' is unknown"));
}

TEST(TargetOps, AreFoundByTheirExactName) {
  const Target& cpu = find_target("cpu");
  EXPECT_TRUE(cpu.runs("Conv"));
  EXPECT_FALSE(cpu.runs("conv"));
  EXPECT_FALSE(cpu.runs("Con"));
  EXPECT_FALSE(cpu.runs(""));
  EXPECT_FALSE(Target().runs("Conv"));
}

TEST(TargetOps, FuseListedActivationsIntoListedProducersOnly) {
  const Target& cpu = find_target("cpu");
  EXPECT_TRUE(cpu.fuses("Conv", "Relu"));
  EXPECT_TRUE(cpu.fuses("Add", "Clip"));
  EXPECT_FALSE(cpu.fuses("Conv", "Sigmoid"));
  EXPECT_FALSE(cpu.fuses("MaxPool", "Relu"));
  EXPECT_FALSE(cpu.fuses("Relu", "Conv"));
  EXPECT_FALSE(Target().fuses("Conv", "Relu"));
}

TEST(TypeChoices, AreEmptyUntilOneIsMade) {
  EXPECT_TRUE(TypeChoices().empty());
  std::vector<TypeChoices> single(9);
  single[0].weight_method = "";
  single[1].weight_bits = 8;
  single[2].weight_granularity = Granularity::kPerTensor;
  single[3].weight_symmetry = Symmetry::kSymmetric;
  single[4].winograd_bits = 6;
  single[5].activation_dtype = DType::kFloat32;
  single[6].activation_symmetry = Symmetry::kSymmetric;
  single[7].activation_bits = 8;
  single[8].weight_pairs = WeightPairs::kFree;
  for (std::size_t i = 0; i < single.size(); ++i) {
    EXPECT_FALSE(single[i].empty()) << i;
    for (std::size_t j = 0; j < i; ++j) EXPECT_NE(single[i], single[j]) << i << " and " << j;
  }
}

TEST(WithChoices, LeavesEverythingWhereNothingIsChosen) {
  for (const Target& target : targets()) {
    EXPECT_EQ(fields_of(with_choices(target, {})), fields_of(target)) << target.name;
  }
}

TEST(WithChoices, ChangesExactlyWhatIsChosen) {
  struct Case {
    TypeChoices choices;
    Target expected;
  };
  std::vector<Case> cases(8, {{}, find_target("qtool")});
  cases[0].choices.weight_method = "mse";
  cases[0].expected.weight_method = "mse";
  cases[1].choices.weight_bits = 4;
  cases[1].expected.weights.bits = 4;
  cases[2].choices.weight_granularity = Granularity::kPerTensor;
  cases[2].expected.weight_granularity = Granularity::kPerTensor;
  cases[3].choices.weight_symmetry = Symmetry::kAsymmetric;
  cases[3].expected.weights.symmetry = Symmetry::kAsymmetric;
  cases[4].choices.winograd_bits = 6;
  cases[4].expected.winograd_bits = 6;
  cases[5].choices.activation_dtype = DType::kInt8;
  cases[5].expected.activations.dtype = DType::kInt8;
  cases[6].choices.activation_symmetry = Symmetry::kSymmetric;
  cases[6].expected.activations.symmetry = Symmetry::kSymmetric;
  cases[7].choices.activation_bits = 7;
  cases[7].expected.activations.bits = 7;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    ASSERT_NE(fields_of(cases[i].expected), fields_of(find_target("qtool"))) << i;
    EXPECT_EQ(fields_of(with_choices(find_target("qtool"), cases[i].choices)),
              fields_of(cases[i].expected))
        << i;
  }
}

TEST(WithChoices, LimitsPairsOnlyWhereSumsSaturate) {
  const TypeChoices choices = choice(&TypeChoices::weight_pairs, WeightPairs::kLimited);
  for (const Target& target : targets()) {
    const bool saturates = target.name == "cpu" || target.name == "onnxruntime";
    EXPECT_EQ(with_choices(target, choices).weight_pairs == WeightPairs::kLimited, saturates)
        << target.name;
  }
}

TEST(WithChoices, TakesAllChoicesAtOnce) {
  const TypeChoices choices{.weight_method = "admm",
                            .weight_bits = 2,
                            .weight_granularity = Granularity::kPerTensor,
                            .weight_symmetry = Symmetry::kSymmetric,
                            .winograd_bits = 8,
                            .weight_pairs = WeightPairs::kLimited,  // TensorRT adds in 32 bits
                            .activation_dtype = DType::kUInt8,
                            .activation_symmetry = Symmetry::kAsymmetric,
                            .activation_bits = 5};
  Target expected = find_target("tensorrt");
  expected.weight_method = "admm";
  expected.weights = {DType::kInt8, 2, Symmetry::kSymmetric};
  expected.weight_granularity = Granularity::kPerTensor;
  expected.winograd_bits = 8;
  expected.activations = {DType::kUInt8, 5, Symmetry::kAsymmetric};
  EXPECT_EQ(fields_of(with_choices(find_target("tensorrt"), choices)), fields_of(expected));
}

TEST(WithChoices, RefusesBitsOutsideTwoToEight) {
  for (const int bits : {-1, 0, 1, 9, 32}) {
    const std::string found = "found " + std::to_string(bits) + " bits, expected 2 to 8";
    EXPECT_THAT(choice_refusal("cpu", choice(&TypeChoices::weight_bits, bits)),
                AllOf(HasSubstr("weights"), HasSubstr(found)));
    EXPECT_THAT(choice_refusal("cpu", choice(&TypeChoices::winograd_bits, bits)),
                AllOf(HasSubstr("3x3 convolutions"), HasSubstr(found)));
    EXPECT_THAT(choice_refusal("cpu", choice(&TypeChoices::activation_bits, bits)),
                AllOf(HasSubstr("activations"), HasSubstr(found)));
  }
  for (const int bits : {2, 8}) {
    TypeChoices choices;
    choices.weight_bits = choices.winograd_bits = choices.activation_bits = bits;
    const Target target = with_choices(find_target("cpu"), choices);
    EXPECT_EQ(target.weights.bits, bits);
    EXPECT_EQ(target.winograd_bits, bits);
    EXPECT_EQ(target.activations.bits, bits);
  }
}

TEST(WithChoices, RefusesAsymmetricWeightsWhereTheTargetTakesNone) {
  const TypeChoices choices = choice(&TypeChoices::weight_symmetry, Symmetry::kAsymmetric);
  EXPECT_THAT(choice_refusal("cpu", choices),
              HasSubstr("target 'cpu' takes symmetric weights only"));
  EXPECT_THAT(choice_refusal("tensorrt", choices),
              HasSubstr("'tensorrt' takes symmetric weights only"));
  EXPECT_EQ(choice_refusal("qtool", choices), "");
  EXPECT_EQ(choice_refusal("cpu", choice(&TypeChoices::weight_symmetry, Symmetry::kSymmetric)), "");
}

TEST(WithChoices, NamesTheNearestForAnUnknownWeightMethod) {
  EXPECT_THAT(choice_refusal("cpu", choice(&TypeChoices::weight_method, "msee")),
              AllOf(HasSubstr("'msee'"), HasSubstr("did you mean 'mse'")));
  for (const WeightMethodInfo& method : weight_methods()) {
    EXPECT_EQ(with_choices(find_target("cpu"),
                           choice(&TypeChoices::weight_method, std::string(method.name)))
                  .weight_method,
              method.name);
  }
}

}  // namespace
}  // namespace qtool

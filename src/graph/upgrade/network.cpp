// Normalisation, pooling, products and recurrent layers.
#include <algorithm>
#include <cmath>
#include <utility>

#include "base/text.h"
#include "graph/upgrade/upgrade.h"

namespace qtool {

// qtool runs networks but does not train them. Attributes for training are dropped, and the extra
// outputs for training must be unused.
void upgrade_batch_normalization(Upgrade& up) {
  if (up.from() < 9 && up.take_int("spatial").value_or(1) == 0) {
    up.fail("normalising every element apart (spatial = 0) is not supported");
  }
  if (up.from() < 7) up.drop("is_test");
  if (up.from() >= 14) return;
  const Node& node = up.node();
  for (std::size_t i = 1; i < node.outputs.size(); ++i) {
    if (!node.has_output(i)) continue;
    if (up.graph().is_output(node.outputs[i]) || !up.graph().consumers(node.outputs[i]).empty()) {
      up.fail("its outputs of training are read, which is not supported");
    }
  }
  up.truncate_outputs(1);
}

// Outside training the mask keeps every element, so all its elements are 1 or true. Before opset 10
// the mask had the type of the input.
void upgrade_dropout(Upgrade& up) {
  if (up.node().has_output(1)) {
    Tensor kept(up.from() < 10 ? DType::kFloat32 : DType::kBool, {1});
    if (up.from() < 10) {
      kept.values<float>()[0] = 1.0F;
    } else {
      kept.values<bool>()[0] = true;
    }
    const ValueId mask = up.node().outputs[1];
    up.truncate_outputs(1);
    up.before("ConstantOfShape", {up.before("Shape", {up.input(0)}, "shape")}, mask,
              {{"value", std::make_shared<const Tensor>(std::move(kept))}});
  }
  if (up.from() >= 12) return;
  up.drop("ratio");
  up.drop("is_test");
}

// Reshapes the input so that each group becomes one channel, which InstanceNormalization then
// normalises.
void upgrade_group_normalization(Upgrade& up) {
  const std::int64_t groups = up.take_int("num_groups").value_or(0);
  if (groups < 1) up.fail("attribute 'num_groups' is missing");
  up.drop("stash_type");
  const std::int64_t rank = up.require_rank(0);
  if (rank < 2) up.fail(to_text("the input has ", rank, " axes, expected at least 2"));
  const ValueId x = up.input(0);
  const ValueId shape = up.before("Shape", {x}, "shape");
  const ValueId split = up.add_ints("groups", {0, groups, -1});
  ValueId scale = up.input(1);
  ValueId bias = up.input(2);
  if (up.from() < 21) {  // one scale and bias for each group
    up.after("Reshape", {shape}, "normalized");
  } else {
    const auto filled = [&](float value) {
      Tensor tensor(DType::kFloat32, {groups});
      std::fill(tensor.values<float>().begin(), tensor.values<float>().end(), value);
      return tensor;
    };
    if (rank > 2) {
      std::vector<std::int64_t> axes;
      for (std::int64_t axis = 1; axis < rank - 1; ++axis) axes.push_back(axis);
      const ValueId list = up.add_ints("axes", axes);
      scale = up.before("Unsqueeze", {scale, list}, "scale");
      bias = up.before("Unsqueeze", {bias, list}, "bias");
    }
    // Each call inserts a node directly after this one, so the last call gives the first node.
    up.after("Add", {bias}, "scaled");
    up.after("Mul", {scale}, "restored");
    up.after("Reshape", {shape}, "normalized");
    scale = up.add_constant("ones", filled(1.0F));
    bias = up.add_constant("zeros", filled(0.0F));
  }
  up.set_op("InstanceNormalization");
  up.set_input(0, up.before("Reshape", {x, split}, "grouped"));
  up.set_input(1, scale);
  up.set_input(2, bias);
}

void upgrade_average_pool(Upgrade& up) {
  if (up.from() <= 18) return;
  const std::vector<std::int64_t> dilations = up.node().get_ints("dilations", {});
  if (std::all_of(dilations.begin(), dilations.end(), [](std::int64_t d) { return d == 1; })) {
    up.drop("dilations");
  }
}

void upgrade_lp_pool(Upgrade& up) {
  if (up.from() < 2) {
    if (const std::optional<float> p = up.take_float("p")) {
      if (*p != std::floor(*p) || !(std::abs(*p) < 100.0F)) up.fail("attribute 'p' is no integer");
      up.attributes()["p"] = static_cast<std::int64_t>(*p);
    }
  }
  if (up.from() <= kCanonicalOpset) return;
  const std::vector<std::int64_t> dilations = up.node().get_ints("dilations", {});
  if (std::all_of(dilations.begin(), dilations.end(), [](std::int64_t d) { return d == 1; })) {
    up.drop("dilations");
  }
  if (up.node().get_int("ceil_mode", 0) == 0) up.drop("ceil_mode");
}

void upgrade_gemm(Upgrade& up) {
  if (up.from() < 7) up.drop("broadcast");
}

// The first version had an attribute for leaving out the output with the whole sequence. An unused
// output means the same.
void upgrade_recurrent(Upgrade& up) {
  if (up.from() < 7) up.drop("output_sequence");
}

}  // namespace qtool

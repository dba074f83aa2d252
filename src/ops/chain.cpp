#include "ops/chain.h"

#include <algorithm>

#include "base/check.h"
#include "base/stop.h"
#include "kernels/vector_math.h"

namespace qtool {
namespace {

constexpr std::int64_t kTile = 256;

// One operand of a step within a tile: its elements, or one number.
struct Side {
  const float* elements = nullptr;
  float number = 0.0F;
};

template <typename F>
void apply_two(const Side& a, const Side& b, std::int64_t count, float* y, const F& f) {
  if (a.elements == nullptr) {
    for (std::int64_t i = 0; i < count; ++i) y[i] = f(a.number, b.elements[i]);
  } else if (b.elements == nullptr) {
    for (std::int64_t i = 0; i < count; ++i) y[i] = f(a.elements[i], b.number);
  } else {
    for (std::int64_t i = 0; i < count; ++i) y[i] = f(a.elements[i], b.elements[i]);
  }
}

void apply(const ElementaryFunctions& functions, ChainFunction function, const Side& a,
           const Side& b, std::int64_t count, float* y) {
  switch (function) {
    case ChainFunction::kAdd:
      return apply_two(a, b, count, y, [](float p, float q) { return p + q; });
    case ChainFunction::kSub:
      return apply_two(a, b, count, y, [](float p, float q) { return p - q; });
    case ChainFunction::kMul:
      return apply_two(a, b, count, y, [](float p, float q) { return p * q; });
    case ChainFunction::kDiv:
      return apply_two(a, b, count, y, [](float p, float q) { return p / q; });
    case ChainFunction::kErf:
      return functions.erf(a.elements, y, count);
    case ChainFunction::kExp:
      return functions.exp(a.elements, y, count);
    case ChainFunction::kHardSwish:
      return apply_two(a, b, count, y, [](float p, float) { return hard_swish(p); });
    case ChainFunction::kLeakyRelu:
      return apply_two(a, b, count, y, [](float p, float q) { return vector_leaky(p, q); });
    case ChainFunction::kMax:
      return apply_two(a, b, count, y, [](float p, float q) { return p < q ? q : p; });
    case ChainFunction::kMin:
      return apply_two(a, b, count, y, [](float p, float q) { return p > q ? q : p; });
    case ChainFunction::kSigmoid:
      return functions.sigmoid(a.elements, y, count);
    case ChainFunction::kSilu:
      return functions.silu(a.elements, y, count);
    case ChainFunction::kSoftplus:
      return functions.softplus(a.elements, y, count);
    case ChainFunction::kTanh:
      return functions.tanh(a.elements, y, count);
  }
}

}  // namespace

Chain::Chain(const ChainParams& params) : steps_(params.steps) {
  QTOOL_CHECK(!steps_.empty() && steps_.size() <= kMaxChainSteps);
}

void Chain::run(std::span<const float* const> inputs, float* out, std::int64_t count) const {
  const ElementaryFunctions& functions = kernel_.functions();
  float results[kMaxChainSteps][kTile];
  StopPace pace;
  for (std::int64_t at = 0; at < count; at += kTile) {
    const auto side = [&](const ChainOperand& operand) -> Side {
      switch (operand.source) {
        case ChainOperand::Source::kInput:
          return {inputs[operand.index] + at, 0.0F};
        case ChainOperand::Source::kStep:
          return {results[operand.index], 0.0F};
        case ChainOperand::Source::kNumber:
          break;
      }
      return {nullptr, operand.number};
    };
    const std::int64_t tile = std::min(kTile, count - at);
    pace.step(tile);
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      float* y = i + 1 == steps_.size() ? out + at : results[i];
      apply(functions, steps_[i].function, side(steps_[i].a), side(steps_[i].b), tile, y);
    }
  }
}

}  // namespace qtool

// ElementwiseChain: several element-wise functions of tensors of one shape, computed tile by tile
// so that intermediate results never leave the cache. Each step does the arithmetic of its ONNX
// operator, so a chain gives the same bits as the nodes that it replaces.
#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "base/stop.h"
#include "base/text.h"
#include "kernels/elementary/elementary.h"
#include "ops/infer_rules.h"
#include "ops/operator.h"
#include "ops/strides.h"

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
    case ChainFunction::kSigmoid:
      return functions.sigmoid(a.elements, y, count);
    case ChainFunction::kSoftplus:
      return functions.softplus(a.elements, y, count);
    case ChainFunction::kTanh:
      return functions.tanh(a.elements, y, count);
  }
}

class ElementwiseChain final : public Operator {
 public:
  explicit ElementwiseChain(const OpContext& op)
      : steps_(op.params<ChainParams>().steps), elements_(op.output(0).shape.elements()) {
    for (std::size_t i = 0; i < op.input_count(); ++i) {
      QTOOL_CHECK(op.input(i).shape == op.output(0).shape);
      QTOOL_CHECK(op.input_layout(i) == op.output_layout(0));
    }
    QTOOL_CHECK(!steps_.empty() && steps_.size() <= kMaxChainSteps);
  }

  void run(const Operands& o) const override {
    const ElementaryFunctions& functions = kernel_.functions();
    const int threads = elements_ < kParallelElements ? 1 : o.threads();
    parallel_ranges(elements_, threads, [&](std::int64_t begin, std::int64_t end, int) {
      float results[kMaxChainSteps][kTile];
      StopPace pace;
      for (std::int64_t at = begin; at < end; at += kTile) {
        const auto side = [&](const ChainOperand& operand) -> Side {
          switch (operand.source) {
            case ChainOperand::Source::kInput:
              return {o.in<float>(operand.index) + at, 0.0F};
            case ChainOperand::Source::kStep:
              return {results[operand.index], 0.0F};
            case ChainOperand::Source::kNumber:
              break;
          }
          return {nullptr, operand.number};
        };
        const std::int64_t count = std::min(kTile, end - at);
        pace.step(count);
        for (std::size_t i = 0; i < steps_.size(); ++i) {
          float* y = i + 1 == steps_.size() ? o.out<float>(0) + at : results[i];
          apply(functions, steps_[i].function, side(steps_[i].a), side(steps_[i].b), count, y);
        }
      }
    });
  }
  [[nodiscard]] std::string kernel() const override { return to_text("chain of ", steps_.size()); }

 private:
  ElementaryKernel kernel_;
  std::vector<ChainStep> steps_;
  std::int64_t elements_;
};

}  // namespace

OpDef op_ElementwiseChain() {
  return {[](const OpContext& op) {
            require_type(op, 0, FloatType{});
            return std::vector<ValueInfo>{op.input(0)};
          },
          [](const OpContext& op) -> std::unique_ptr<Operator> {
            return std::make_unique<ElementwiseChain>(op);
          },
          LayoutRule::kAny};
}

}  // namespace qtool

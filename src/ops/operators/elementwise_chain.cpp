// ElementwiseChain: several element-wise functions of tensors of one shape as one operator.
#include "base/check.h"
#include "base/parallel.h"
#include "base/text.h"
#include "ops/chain.h"
#include "ops/infer_rules.h"
#include "ops/operator.h"
#include "ops/strides.h"

namespace qtool {
namespace {

class ElementwiseChain final : public Operator {
 public:
  explicit ElementwiseChain(const OpContext& op)
      : chain_(op.params<ChainParams>()), elements_(op.output(0).shape.elements()) {
    for (std::size_t i = 0; i < op.input_count(); ++i) {
      QTOOL_CHECK(op.input(i).shape == op.output(0).shape);
      QTOOL_CHECK(op.input_layout(i) == op.output_layout(0));
    }
  }

  void run(const Operands& o) const override {
    const int threads = elements_ < kParallelElements ? 1 : o.threads();
    parallel_ranges(elements_, threads, [&](std::int64_t begin, std::int64_t end, int) {
      std::vector<const float*> inputs;
      for (std::size_t i = 0; i < o.input_count(); ++i) inputs.push_back(o.in<float>(i) + begin);
      chain_.run(inputs, o.out<float>(0) + begin, end - begin);
    });
  }
  [[nodiscard]] std::string kernel() const override { return to_text("chain of ", chain_.steps()); }

 private:
  Chain chain_;
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

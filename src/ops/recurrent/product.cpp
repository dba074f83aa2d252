#include "ops/recurrent/product.h"

#include <utility>

#include "base/text.h"
#include "ops/recurrent/integers.h"

namespace qtool {
namespace {

// Multiplies rows of float32 by the transpose of some rows of the weights at an input of the node,
// [directions, gates * hidden, depth]. There is one product per direction.
class FloatGateProduct {
 public:
  FloatGateProduct(const OpContext& op, std::size_t input, std::int64_t rows,
                   const Range64& columns, int threads)
      : input_(input) {
    const Shape& shape = op.input(input).shape;
    const std::int64_t depth = shape[2];
    directions_ = shape[0];
    per_direction_ = shape[1] * depth;
    first_ = columns.begin * depth;
    onednn::MatmulSpec spec;
    spec.a = Shape{rows, depth};
    spec.b = Shape{depth, columns.end - columns.begin};
    spec.destination = Shape{rows, columns.end - columns.begin};
    spec.transposed_b = true;
    matmul_ = std::make_unique<onednn::Matmul>(spec, threads);
    const Tensor* constant = op.constant(input);
    if (constant == nullptr) return;
    for (std::int64_t direction = 0; direction < directions_; ++direction) {
      const std::int64_t at = direction * per_direction_ + first_;
      kept_.push_back(op.packed<onednn::Packed>(
          {to_text("gates ", at, " ", matmul_->format()), {op.shared_constant(input)}},
          [&] { return matmul_->pack(constant->values<float>().data() + at, nullptr); }));
    }
  }

  // The packed weights of a direction. Constant weights are packed once and kept.
  [[nodiscard]] onednn::PackedPtr weights(const Operands& o, std::int64_t direction) const {
    if (!kept_.empty()) return kept_[static_cast<std::size_t>(direction)];
    return matmul_->pack(o.in<float>(input_) + direction * per_direction_ + first_, nullptr);
  }
  [[nodiscard]] std::int64_t directions() const { return directions_; }
  [[nodiscard]] std::int64_t workspace_bytes() const { return matmul_->workspace_bytes(); }
  [[nodiscard]] const onednn::Matmul& matmul() const { return *matmul_; }

 private:
  std::size_t input_;
  std::int64_t first_ = 0;  // first element that is read in each direction
  std::int64_t per_direction_ = 0;
  std::int64_t directions_ = 0;
  std::unique_ptr<onednn::Matmul> matmul_;
  std::vector<onednn::PackedPtr> kept_;
};

class FloatInput final : public InputProduct {
 public:
  FloatInput(const OpContext& op, const RecurrentSpec& spec)
      : product_(op, 1, spec.steps * spec.batch, {0, spec.columns()}, op.threads),
        elements_(spec.steps * spec.batch * spec.columns()) {}

  [[nodiscard]] std::int64_t workspace_bytes() const override { return product_.workspace_bytes(); }
  [[nodiscard]] std::string_view kernel() const override { return "matmul"; }
  void run(const Operands& o, float* gates, std::byte* workspace) const override {
    for (std::int64_t direction = 0; direction < product_.directions(); ++direction) {
      product_.matmul().run(o.in<float>(0), *product_.weights(o, direction), gates, workspace);
      gates += elements_;
    }
  }

 private:
  FloatGateProduct product_;
  std::int64_t elements_;  // elements of the gates of one direction
};

class FloatHidden final : public HiddenProduct {
 public:
  FloatHidden(const OpContext& op, std::int64_t sequences, const Range64& block)
      : product_(op, 2, sequences, block, 1) {}

  [[nodiscard]] std::int64_t workspace_bytes() const override { return product_.workspace_bytes(); }
  [[nodiscard]] std::function<void()> bind(const Operands& o, std::int64_t direction,
                                           const float* rows, float* out,
                                           std::byte* workspace) const override {
    return product_.matmul().bind(rows, product_.weights(o, direction), out, workspace);
  }

 private:
  FloatGateProduct product_;
};

}  // namespace

std::unique_ptr<InputProduct> make_input_product(const OpContext& op, const RecurrentSpec& spec) {
  if (spec.integer) return make_integer_input(op, spec);
  return std::make_unique<FloatInput>(op, spec);
}

std::unique_ptr<HiddenProduct> make_hidden_product(const OpContext& op, const RecurrentSpec& spec,
                                                   std::int64_t sequences, const Range64& block) {
  if (spec.integer) return make_integer_hidden(op, spec, sequences, block);
  return std::make_unique<FloatHidden>(op, sequences, block);
}

}  // namespace qtool

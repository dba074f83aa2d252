// Operators of two quantized tensors of any shapes that broadcast. Made by lowering: QAdd, QSub,
// QMul, QDiv, QSquaredDifference, QMin, QMax.
#include <algorithm>
#include <array>
#include <utility>

#include "kernels/add/add.h"
#include "kernels/div/div.h"
#include "kernels/lookup/lookup.h"
#include "kernels/mul/mul.h"
#include "kernels/square/square.h"
#include "ops/infer_rules.h"
#include "ops/integer/fixed_point.h"
#include "ops/operator.h"
#include "ops/strides.h"

namespace qtool {
namespace {

std::vector<ValueInfo> infer_qbinary(const OpContext& op) {
  return {{DType::kUInt8, broadcast(op, op.input(0).shape, op.input(1).shape)}};
}

// Runs `kernel(a, b, out, count)` over contiguous pieces; a broadcast operand is expanded first.
template <typename Kernel>
std::unique_ptr<Operator> make_binary(const OpContext& op, std::string_view kernel_name,
                                      const Kernel& kernel) {
  const Shape& out = op.output(0).shape;
  const LoopNest<3> nest(out.dims(),
                         {strides_of(out, op.output_layout(0)),
                          broadcast_strides(op.input(0).shape, op.input_layout(0), out),
                          broadcast_strides(op.input(1).shape, op.input_layout(1), out)});
  return make_operator(
      [nest, kernel](const Operands& o) {
        const auto* a = o.in<std::uint8_t>(0);
        const auto* b = o.in<std::uint8_t>(1);
        auto* y = o.out<std::uint8_t>(0);
        nest.run(o.threads(), [&](std::int64_t count, const LoopNest<3>::Offsets& at) {
          constexpr std::int64_t kPiece = 256;
          if (nest.inner_step(1) == 1 && nest.inner_step(2) == 1) {
            return kernel(a + at[1], b + at[2], y + at[0], count);
          }
          std::array<std::uint8_t, kPiece> left;
          std::array<std::uint8_t, kPiece> right;
          for (std::int64_t done = 0; done < count; done += kPiece) {
            const std::int64_t piece = std::min(kPiece, count - done);
            for (std::int64_t i = 0; i < piece; ++i) {
              left[static_cast<std::size_t>(i)] = a[at[1] + (done + i) * nest.inner_step(1)];
              right[static_cast<std::size_t>(i)] = b[at[2] + (done + i) * nest.inner_step(2)];
            }
            kernel(left.data(), right.data(), y + at[0] + done, piece);
          }
        });
      },
      kernel_name);
}

// Runs an operator of fixed_point.h instead of a kernel.
template <typename Fixed>
std::unique_ptr<Operator> make_fixed_binary(const OpContext& op) {
  const auto& [a, b, result] = op.params<QBinaryParams>();
  return make_binary(op, kernel_label("portable", op.requantization),
                     [fixed = Fixed(op.requantization, a, b, result.affine, result.limits())](
                         const std::uint8_t* l, const std::uint8_t* r, std::uint8_t* out,
                         std::int64_t count) { fixed.run(l, r, out, count); });
}

// An operator that runs a kernel. `params` already holds the factors that the kernel's contract
// names.
template <typename Kernel, typename Params>
std::unique_ptr<Operator> make_kernel(const OpContext& op, Params params) {
  const auto& [a, b, y] = op.params<QBinaryParams>();
  params.za = a.zero_point;
  params.zb = b.zero_point;
  params.zy = y.affine.zero_point;
  params.low = y.low;
  params.high = y.high;
  return make_binary(
      op, Kernel().kernel(),
      [params, kernel = Kernel()](const std::uint8_t* l, const std::uint8_t* r, std::uint8_t* out,
                                  std::int64_t count) { kernel.run(params, l, r, out, count); });
}

std::unique_ptr<Operator> make_qadd(const OpContext& op) {
  if (op.requantization != Requantization::kFloat) return make_fixed_binary<FixedAdd>(op);
  const auto& [a, b, y] = op.params<QBinaryParams>();
  AddParams params;
  params.ra = a.scale / y.affine.scale;
  params.rb = b.scale / y.affine.scale;
  return make_kernel<AddKernel>(op, params);
}

// a - b is the sum of a and the product of b with a negative factor.
std::unique_ptr<Operator> make_qsub(const OpContext& op) {
  if (op.requantization != Requantization::kFloat) return make_fixed_binary<FixedSub>(op);
  const auto& [a, b, y] = op.params<QBinaryParams>();
  AddParams params;
  params.ra = a.scale / y.affine.scale;
  params.rb = -(b.scale / y.affine.scale);
  return make_kernel<AddKernel>(op, params);
}

std::unique_ptr<Operator> make_qmul(const OpContext& op) {
  if (op.requantization != Requantization::kFloat) return make_fixed_binary<FixedMul>(op);
  const auto& [a, b, y] = op.params<QBinaryParams>();
  MulParams params;
  params.m = a.scale * b.scale / y.affine.scale;
  return make_kernel<MulKernel>(op, params);
}

// An operator whose kernel computes on real numbers and rounds once. It has no integer sums, so the
// plan's requantization does not matter.
template <typename Kernel>
std::unique_ptr<Operator> make_real(const OpContext& op) {
  const auto& [a, b, y] = op.params<QBinaryParams>();
  RealPairParams params;
  params.sa = a.scale;
  params.sb = b.scale;
  params.sy = y.affine.scale;
  return make_kernel<Kernel>(op, params);
}

// Rounding keeps the order of two numbers. So both operands are rescaled to the bytes of the
// result, and the smaller or larger byte is chosen.
template <typename Choose>
std::unique_ptr<Operator> make_choice(const OpContext& op, const Choose& choose) {
  const auto& [a, b, y] = op.params<QBinaryParams>();
  const auto a_table = rescale_table(op.requantization, a, y.affine, y.limits());
  const auto b_table = rescale_table(op.requantization, b, y.affine, y.limits());
  return make_binary(
      op, LookupKernel().kernel(),
      [a_table, b_table, choose, kernel = LookupKernel()](
          const std::uint8_t* l, const std::uint8_t* r, std::uint8_t* out, std::int64_t count) {
        constexpr std::int64_t kPiece = 1024;
        std::array<std::uint8_t, kPiece> right;
        for (std::int64_t done = 0; done < count; done += kPiece) {
          const std::int64_t piece = std::min(kPiece, count - done);
          kernel.run(b_table, r + done, right.data(), piece);
          kernel.run(a_table, l + done, out + done, piece);
          for (std::int64_t i = 0; i < piece; ++i) {
            out[done + i] = choose(out[done + i], right[static_cast<std::size_t>(i)]);
          }
        }
      });
}

std::unique_ptr<Operator> make_qmin(const OpContext& op) {
  return make_choice(op, [](std::uint8_t a, std::uint8_t b) { return b < a ? b : a; });
}
std::unique_ptr<Operator> make_qmax(const OpContext& op) {
  return make_choice(op, [](std::uint8_t a, std::uint8_t b) { return a < b ? b : a; });
}

}  // namespace

OpDef op_QAdd() { return {infer_qbinary, make_qadd, LayoutRule::kAny}; }
OpDef op_QSub() { return {infer_qbinary, make_qsub, LayoutRule::kAny}; }
OpDef op_QMul() { return {infer_qbinary, make_qmul, LayoutRule::kAny}; }
OpDef op_QDiv() { return {infer_qbinary, make_real<DivKernel>, LayoutRule::kAny}; }
OpDef op_QSquaredDifference() { return {infer_qbinary, make_real<SquareKernel>, LayoutRule::kAny}; }
OpDef op_QMin() { return {infer_qbinary, make_qmin, LayoutRule::kAny}; }
OpDef op_QMax() { return {infer_qbinary, make_qmax, LayoutRule::kAny}; }

}  // namespace qtool

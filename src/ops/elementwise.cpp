#include "ops/elementwise.h"

#include <utility>

namespace qtool {

LoopNest<2> nest_from_input(const OpContext& op, std::size_t input) {
  const Shape& shape = op.output(0).shape;
  return {shape.dims(),
          {strides_of(shape, op.output_layout(0)),
           broadcast_strides(op.input(input).shape, op.input_layout(input), shape)}};
}

LoopNest<3> nest_of_pair(const OpContext& op, std::size_t a, std::size_t b) {
  const Shape& shape = op.output(0).shape;
  return {shape.dims(),
          {strides_of(shape, op.output_layout(0)),
           broadcast_strides(op.input(a).shape, op.input_layout(a), shape),
           broadcast_strides(op.input(b).shape, op.input_layout(b), shape)}};
}

std::unique_ptr<Operator> make_strided_copy(const OpContext& op, const LoopNest<2>& nest) {
  return make_operator([nest, bytes = size_of(op.input(0).dtype)](const Operands& o) {
    copy_strided(nest, bytes, o.out<std::byte>(0), o.in<std::byte>(0), o.threads());
  });
}

template <std::size_t Inputs>
void run_rows(const LoopNest<Inputs + 1>& nest, const std::array<std::int64_t, Inputs + 1>& bytes,
              const RowFunction<Inputs>& f, void* out, const std::array<const void*, Inputs>& in,
              int threads) {
  nest.run(threads, [&](std::int64_t count, const typename LoopNest<Inputs + 1>::Offsets& at) {
    Row<Inputs> row;
    row.count = count;
    row.out = static_cast<std::byte*>(out) + at[0] * bytes[0];
    row.out_step = nest.inner_step(0) * bytes[0];
    for (std::size_t i = 0; i < Inputs; ++i) {
      row.in[i] = static_cast<const std::byte*>(in[i]) + at[i + 1] * bytes[i + 1];
      row.in_step[i] = nest.inner_step(i + 1) * bytes[i + 1];
    }
    f(row);
  });
}

template void run_rows<1>(const LoopNest<2>&, const std::array<std::int64_t, 2>&,
                          const RowFunction<1>&, void*, const std::array<const void*, 1>&, int);
template void run_rows<2>(const LoopNest<3>&, const std::array<std::int64_t, 3>&,
                          const RowFunction<2>&, void*, const std::array<const void*, 2>&, int);

template <>
std::unique_ptr<Operator> make_rows<1>(const OpContext& op, RowFunction<1> f) {
  const std::array bytes = {size_of(op.output(0).dtype), size_of(op.input(0).dtype)};
  return make_operator([nest = nest_from_input(op, 0), bytes, f = std::move(f)](const Operands& o) {
    run_rows<1>(nest, bytes, f, o.out<void>(0), {o.in<void>(0)}, o.threads());
  });
}

template <>
std::unique_ptr<Operator> make_rows<2>(const OpContext& op, RowFunction<2> f) {
  const std::array bytes = {size_of(op.output(0).dtype), size_of(op.input(0).dtype),
                            size_of(op.input(1).dtype)};
  return make_operator([nest = nest_of_pair(op, 0, 1), bytes, f = std::move(f)](const Operands& o) {
    run_rows<2>(nest, bytes, f, o.out<void>(0), {o.in<void>(0), o.in<void>(1)}, o.threads());
  });
}

}  // namespace qtool

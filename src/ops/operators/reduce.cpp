#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "ops/elementwise.h"
#include "ops/operator.h"

// Reductions over any axes. Floats are summed in double, always in the same order for an output
// element, so that results depend neither on threads nor (visibly) on the layout.
namespace qtool {
namespace {

using ReduceTypes = TypeList<float, std::int32_t, std::int64_t>;

std::vector<std::int64_t> reduced_axes(const OpContext& op) {
  const std::int64_t rank = op.input(0).shape.rank();
  std::vector<std::int64_t> axes =
      op.has_input(1) ? ints_of(op, 1, "the list of axes") : op.node.get_ints("axes", {});
  if (axes.empty() && op.node.get_int("noop_with_empty_axes", 0) == 0) {
    for (std::int64_t axis = 0; axis < rank; ++axis) axes.push_back(axis);
  }
  return axes_of(op, std::move(axes), rank);
}

bool keeps_axes(const OpContext& op) { return op.node.get_int("keepdims", 1) != 0; }

template <typename Types>
std::vector<ValueInfo> infer_reduce(const OpContext& op) {
  require_type(op, 0, Types{});
  const ValueInfo& in = op.input(0);
  const std::vector<std::int64_t> axes = reduced_axes(op);
  std::vector<std::int64_t> dims;
  for (std::int64_t axis = 0; axis < in.shape.rank(); ++axis) {
    if (!std::binary_search(axes.begin(), axes.end(), axis)) {
      dims.push_back(in.shape[axis]);
    } else if (keeps_axes(op)) {
      dims.push_back(1);
    }
  }
  return {{in.dtype, shape_of(op, std::move(dims))}};
}

struct ReduceLoops {
  LoopNest<2> kept;     // output, input
  LoopNest<1> reduced;  // input
};

ReduceLoops reduce_loops(const OpContext& op) {
  const Shape& in = op.input(0).shape;
  const std::vector<std::int64_t> axes = reduced_axes(op);
  const std::vector<std::int64_t> from = strides_of(in, op.input_layout(0));
  const std::vector<std::int64_t> to = strides_of(op.output(0).shape, op.output_layout(0));
  std::vector<std::int64_t> kept;
  std::vector<std::int64_t> reduced;
  std::array<std::vector<std::int64_t>, 2> kept_steps;
  std::vector<std::int64_t> reduced_steps;
  std::size_t out_axis = 0;
  for (std::int64_t axis = 0; axis < in.rank(); ++axis) {
    const std::int64_t step = from[static_cast<std::size_t>(axis)];
    if (std::binary_search(axes.begin(), axes.end(), axis)) {
      reduced.push_back(in[axis]);
      reduced_steps.push_back(step);
      if (keeps_axes(op)) ++out_axis;
    } else {
      kept.push_back(in[axis]);
      kept_steps[0].push_back(to[out_axis++]);
      kept_steps[1].push_back(step);
    }
  }
  return {LoopNest<2>(kept, kept_steps), LoopNest<1>(reduced, {reduced_steps})};
}

// A reducer R of elements T has a type `State`, `start()`, `step(state, x)`, `merge(a, b)` and
// `finish(state, count)`. `R::Loops` is the reducer that differs from R in `finish` only, so that
// sum and mean share their loops.
template <typename T, typename R>
class ReduceOperator final : public Operator {
 public:
  using State = typename R::State;
  using Finish = T (*)(State state, std::int64_t count);

  ReduceOperator(const OpContext& op, Finish finish) : loops_(reduce_loops(op)), finish_(finish) {}

  void run(const Operands& o) const override {
    const std::int64_t outputs = loops_.kept.total();
    const auto body = [&](std::int64_t begin, std::int64_t end, int) {
      run_outputs(begin, end, o.in<T>(0), o.out<T>(0));
    };
    if (outputs * loops_.reduced.total() < kParallelElements) return body(0, outputs, 0);
    parallel_ranges(outputs, o.threads(), body);
  }

 private:
  void run_outputs(std::int64_t begin, std::int64_t end, const T* in, T* out) const {
    const std::int64_t to = loops_.kept.inner_step(0);
    const std::int64_t from = loops_.kept.inner_step(1);
    const std::int64_t count = loops_.reduced.total();
    loops_.kept.run_range(begin, end, [&](std::int64_t run, const LoopNest<2>::Offsets& at) {
      const T* x = in + at[1];
      T* y = out + at[0];
      if constexpr (kIsHot<T>) {
        if (from == 1 && loops_.kept.inner_extent() > 1) {
          return reduce_side_by_side(x, y, run, to);
        }
      }
      for (std::int64_t i = 0; i < run; ++i) y[i * to] = finish_(reduce(x + i * from), count);
    });
  }

  // Reduces one output. The lanes let the compiler use vector instructions.
  State reduce(const T* in) const {
    constexpr std::size_t kLanes = kIsHot<T> ? 8 : 1;
    std::array<State, kLanes> lanes;
    lanes.fill(R::start());
    const std::int64_t step = loops_.reduced.inner_step(0);
    loops_.reduced.run_range(0, loops_.reduced.total(),
                             [&](std::int64_t run, const LoopNest<1>::Offsets& at) {
                               const T* x = in + at[0];
                               std::int64_t i = 0;
                               for (; i + std::ssize(lanes) <= run; i += std::ssize(lanes)) {
                                 for (std::size_t lane = 0; lane < kLanes; ++lane) {
                                   const auto next = static_cast<std::int64_t>(lane);
                                   lanes[lane] = R::step(lanes[lane], x[(i + next) * step]);
                                 }
                               }
                               for (std::size_t lane = 0; i < run; ++i, ++lane) {
                                 lanes[lane] = R::step(lanes[lane], x[i * step]);
                               }
                             });
    State state = lanes[0];
    for (std::size_t lane = 1; lane < kLanes; ++lane) state = R::merge(state, lanes[lane]);
    return state;
  }

  // Reduces adjacent outputs whose inputs are adjacent too.
  void reduce_side_by_side(const T* in, T* out, std::int64_t outputs, std::int64_t to) const {
    constexpr std::int64_t kReducedBlock = 64;
    State states[kReducedBlock];
    const std::int64_t step = loops_.reduced.inner_step(0);
    for (std::int64_t begin = 0; begin < outputs; begin += kReducedBlock) {
      const std::int64_t width = std::min(kReducedBlock, outputs - begin);
      std::fill_n(states, width, R::start());
      loops_.reduced.run_range(0, loops_.reduced.total(),
                               [&](std::int64_t run, const LoopNest<1>::Offsets& at) {
                                 const T* x = in + begin + at[0];
                                 for (std::int64_t i = 0; i < run; ++i, x += step) {
                                   for (std::int64_t j = 0; j < width; ++j) {
                                     states[j] = R::step(states[j], x[j]);
                                   }
                                 }
                               });
      for (std::int64_t j = 0; j < width; ++j) {
        out[(begin + j) * to] = finish_(states[j], loops_.reduced.total());
      }
    }
  }

  ReduceLoops loops_;
  Finish finish_;
};

template <typename T>
using Wide = std::conditional_t<std::is_floating_point_v<T>, double, std::int64_t>;

template <typename T>
struct SumReducer {
  using Loops = SumReducer;
  using State = Wide<T>;
  static State start() { return 0; }
  static State step(State s, T x) { return wrap_add(s, static_cast<State>(x)); }
  static State merge(State a, State b) { return wrap_add(a, b); }
  static T finish(State s, std::int64_t /*count*/) { return static_cast<T>(s); }
};

template <typename T>
struct MeanReducer : SumReducer<T> {
  using State = Wide<T>;
  static T finish(State s, std::int64_t count) {
    if constexpr (std::is_integral_v<T>) {
      if (count == 0) return 0;
    }
    return static_cast<T>(s / static_cast<State>(count));
  }
};

template <typename T>
struct ProdReducer {
  using Loops = ProdReducer;
  using State = Wide<T>;
  static State start() { return 1; }
  static State step(State s, T x) { return wrap_mul(s, static_cast<State>(x)); }
  static State merge(State a, State b) { return wrap_mul(a, b); }
  static T finish(State s, std::int64_t /*count*/) { return static_cast<T>(s); }
};

template <typename T>
struct MaxReducer {
  using Loops = MaxReducer;
  using State = T;
  static State start() {
    return std::is_floating_point_v<T> ? -std::numeric_limits<T>::infinity()
                                       : std::numeric_limits<T>::lowest();
  }
  static State step(State s, T x) { return larger(s, x); }
  static State merge(State a, State b) { return step(a, b); }
  static T finish(State s, std::int64_t /*count*/) { return s; }
};

template <typename T>
struct MinReducer {
  using Loops = MinReducer;
  using State = T;
  static State start() {
    return std::is_floating_point_v<T> ? std::numeric_limits<T>::infinity()
                                       : std::numeric_limits<T>::max();
  }
  static State step(State s, T x) { return smaller(s, x); }
  static State merge(State a, State b) { return step(a, b); }
  static T finish(State s, std::int64_t /*count*/) { return s; }
};

template <typename T>
struct L1Reducer : SumReducer<T> {
  using Loops = L1Reducer;
  static double step(double s, T x) { return s + std::abs(static_cast<double>(x)); }
};

template <typename T>
struct SumSquareReducer : SumReducer<T> {
  using Loops = SumSquareReducer;
  static double step(double s, T x) { return s + static_cast<double>(x) * static_cast<double>(x); }
};

template <typename T>
struct L2Reducer : SumSquareReducer<T> {
  static T finish(double s, std::int64_t /*count*/) { return static_cast<T>(std::sqrt(s)); }
};

template <typename T>
struct LogSumReducer : SumReducer<T> {
  static T finish(double s, std::int64_t /*count*/) { return static_cast<T>(std::log(s)); }
};

// log(sum of e^x) as highest + log(sum of e^(x - highest)), with the highest x so far.
template <typename T>
struct LogSumExpReducer {
  using Loops = LogSumExpReducer;
  struct State {
    double highest = -std::numeric_limits<double>::infinity();
    double sum = 0;
  };
  static State start() { return {}; }
  static State step(State s, T x) { return merge(s, {static_cast<double>(x), 1.0}); }
  static State merge(State a, State b) {
    if (b.sum == 0 || std::isinf(b.highest)) std::swap(a, b);
    if (a.sum == 0) return b;
    if (a.highest == b.highest) return {a.highest, a.sum + b.sum};
    if (a.highest < b.highest) std::swap(a, b);
    return {a.highest, a.sum + b.sum * std::exp(b.highest - a.highest)};
  }
  static T finish(State s, std::int64_t /*count*/) {
    return static_cast<T>(s.highest + std::log(s.sum));
  }
};

template <typename Types, template <typename> typename Reducer>
OpDef reduce_row() {
  return {infer_reduce<Types>,
          [](const OpContext& op) {
            return make_for_type(
                Types{}, op.input(0).dtype, [&](auto element) -> std::unique_ptr<Operator> {
                  using T = decltype(element);
                  using Loops = typename Reducer<T>::Loops;
                  return std::make_unique<ReduceOperator<T, Loops>>(op, Reducer<T>::finish);
                });
          },
          LayoutRule::kAny};
}

}  // namespace

OpDef op_ReduceSum() { return reduce_row<ReduceTypes, SumReducer>(); }
OpDef op_ReduceMean() { return reduce_row<ReduceTypes, MeanReducer>(); }
OpDef op_ReduceProd() { return reduce_row<ReduceTypes, ProdReducer>(); }
OpDef op_ReduceMax() { return reduce_row<ReduceTypes, MaxReducer>(); }
OpDef op_ReduceMin() { return reduce_row<ReduceTypes, MinReducer>(); }
OpDef op_ReduceL1() { return reduce_row<FloatType, L1Reducer>(); }
OpDef op_ReduceL2() { return reduce_row<FloatType, L2Reducer>(); }
OpDef op_ReduceSumSquare() { return reduce_row<FloatType, SumSquareReducer>(); }
OpDef op_ReduceLogSum() { return reduce_row<FloatType, LogSumReducer>(); }
OpDef op_ReduceLogSumExp() { return reduce_row<TypeList<float, double>, LogSumExpReducer>(); }

}  // namespace qtool

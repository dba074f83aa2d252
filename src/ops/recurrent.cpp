#include "ops/recurrent.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <utility>

#include "base/parallel.h"
#include "base/round_up.h"
#include "base/text.h"
#include "ops/infer_rules.h"

namespace qtool {
namespace {

void require_float(const OpContext& op, std::size_t input, const Shape& expected,
                   std::string_view what) {
  require_type(op, input, FloatType{});
  op.require(op.input(input).shape == expected,
             concat(what, " has shape ", op.input(input).shape.to_string(), ", expected ",
                    expected.to_string()));
}

Shape state_shape(const RecurrentSpec& spec) {
  return spec.batch_first ? Shape{spec.batch, spec.directions(), spec.hidden}
                          : Shape{spec.directions(), spec.batch, spec.hidden};
}

}  // namespace

RecurrentSpec recurrent_spec(const OpContext& op, std::int64_t gates,
                             std::initializer_list<std::string_view> defaults) {
  RecurrentSpec spec;
  spec.gates = gates;
  const std::string direction = op.node.get_string("direction", "forward");
  op.require(direction == "forward" || direction == "reverse" || direction == "bidirectional",
             concat("direction '", direction, "' is unknown"));
  if (direction != "reverse") spec.reverse.push_back(false);
  if (direction != "forward") spec.reverse.push_back(true);
  spec.batch_first = op.node.get_int("layout", 0) != 0;
  const Shape& x = op.input(0).shape;
  const Shape& r = op.input(2).shape;
  require_type(op, 0, FloatType{});
  op.require(x.rank() == 3 && r.rank() == 3,
             concat("X ", x.to_string(), " and R ", r.to_string(), " must have rank 3"));
  spec.steps = x[spec.batch_first ? 1 : 0];
  spec.batch = x[spec.batch_first ? 0 : 1];
  spec.inputs = x[2];
  spec.hidden = r[2];
  const std::int64_t declared = op.node.get_int("hidden_size", spec.hidden);
  op.require(declared == spec.hidden, concat("hidden_size is ", declared, ", R has ", spec.hidden));
  op.require(spec.inputs >= 1 && spec.hidden >= 1, "a tensor is empty");
  const std::int64_t columns = shape_of(op, {gates, spec.hidden}).elements();
  require_float(op, 1, {spec.directions(), columns, spec.inputs}, "W");
  require_float(op, 2, {spec.directions(), columns, spec.hidden}, "R");
  if (op.has_input(3)) require_float(op, 3, {spec.directions(), 2 * columns}, "B");
  if (op.has_input(4)) {
    op.require(op.input(4).dtype == DType::kInt32 && op.input(4).shape == Shape{spec.batch},
               concat("sequence_lens is ", name_of(op.input(4).dtype), " ",
                      op.input(4).shape.to_string(), ", expected int32 [", spec.batch, "]"));
  }
  if (op.has_input(5)) require_state(op, spec, 5);
  spec.clip = op.node.get_float("clip", std::numeric_limits<float>::infinity());
  op.require(spec.clip > 0.0F, concat("clip is ", spec.clip, ", expected a positive number"));
  spec.functions = read_gate_functions(op, spec.directions(), defaults);
  return spec;
}

void require_state(const OpContext& op, const RecurrentSpec& spec, std::size_t input) {
  require_float(op, input, state_shape(spec), "the initial state");
}

std::vector<ValueInfo> infer_recurrent(const OpContext& op, const RecurrentSpec& spec,
                                       std::int64_t states) {
  // Everything that run() needs is of this size or smaller.
  static_cast<void>(shape_of(op, {spec.steps, spec.batch, spec.directions(), spec.columns()}));
  const Shape y = spec.batch_first ? Shape{spec.batch, spec.steps, spec.directions(), spec.hidden}
                                   : Shape{spec.steps, spec.directions(), spec.batch, spec.hidden};
  std::vector<ValueInfo> infos{{DType::kFloat32, y}};
  infos.resize(static_cast<std::size_t>(states) + 1, {DType::kFloat32, state_shape(spec)});
  require_outputs(op, infos.size());
  return infos;
}

GateProduct::GateProduct(const OpContext& op, std::size_t input, std::int64_t rows,
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
        {concat("gates ", at, " ", matmul_->format()), {op.shared_constant(input)}},
        [&] { return matmul_->pack(constant->values<float>().data() + at, nullptr); }));
  }
}

std::vector<onednn::PackedPtr> GateProduct::weights(const Operands& o) const {
  if (!kept_.empty()) return kept_;
  std::vector<onednn::PackedPtr> packed;
  for (std::int64_t direction = 0; direction < directions_; ++direction) {
    packed.push_back(
        matmul_->pack(o.in<float>(input_) + direction * per_direction_ + first_, nullptr));
  }
  return packed;
}

Recurrent::Recurrent(const OpContext& op, RecurrentSpec given, const std::vector<Range64>& blocks,
                     std::int64_t scratch_columns, std::int64_t states)
    : spec_(std::move(given)), states_(states) {
  constexpr std::int64_t kFloat = sizeof(float);
  zeros_at_ = take(spec_.columns() * kFloat);
  const std::int64_t rows = spec_.steps * spec_.batch;
  if (spec_.batch == 0) return;
  gates_at_ = take(spec_.directions() * rows * spec_.columns() * kFloat);
  if (rows > 0) {
    input_product_ =
        std::make_unique<GateProduct>(op, 1, rows, Range64{0, spec_.columns()}, op.threads);
    input_product_at_ = take(input_product_->workspace_bytes());
  }
  const std::int64_t parts = ceil_div(op.threads, spec_.directions());
  for (std::int64_t direction = 0; direction < spec_.directions(); ++direction) {
    for (const Range64& range : divide_evenly(spec_.batch, parts)) {
      const std::int64_t count = range.end - range.begin;
      Job job{direction,
              range,
              {},
              take(2 * count * spec_.hidden * kFloat),
              take(count * scratch_columns * kFloat),
              0};
      std::int64_t most = 0;
      for (const Range64& block : blocks) {
        job.products.push_back(std::make_unique<GateProduct>(op, 2, count, block, 1));
        most = std::max(most, job.products.back()->workspace_bytes());
      }
      job.product_at = take(most);
      jobs_.push_back(std::move(job));
    }
  }
}

std::int64_t Recurrent::take(std::int64_t bytes) {
  return std::exchange(workspace_, workspace_ + align_up(bytes));
}

std::int64_t Recurrent::macs() const {
  return spec_.steps * spec_.batch * spec_.directions() * spec_.columns() *
         (spec_.inputs + spec_.hidden);
}

void Recurrent::multiply(const Step& step, std::size_t block, const float* rows, float* out) const {
  const auto direction = static_cast<std::size_t>(step.direction);
  jobs_[step.job].products[block]->run(rows, *(*step.weights)[block][direction], out,
                                       step.workspace);
}

void Recurrent::clip(float* values, std::int64_t count) const {
  if (std::isinf(spec_.clip)) return;
  for (std::int64_t i = 0; i < count; ++i) {
    values[i] = std::clamp(values[i], -spec_.clip, spec_.clip);
  }
}

const GateFunction& Recurrent::function(std::int64_t direction, std::size_t index) const {
  const std::size_t each = spec_.functions.size() / spec_.reverse.size();
  return spec_.functions[static_cast<std::size_t>(direction) * each + index];
}

std::int64_t Recurrent::state_row(std::int64_t direction, std::int64_t sequence) const {
  return spec_.batch_first ? sequence * spec_.directions() + direction
                           : direction * spec_.batch + sequence;
}

std::int64_t Recurrent::input_row(std::int64_t time, std::int64_t sequence) const {
  return spec_.batch_first ? sequence * spec_.steps + time : time * spec_.batch + sequence;
}

std::int64_t Recurrent::output_row(std::int64_t time, std::int64_t direction,
                                   std::int64_t sequence) const {
  return spec_.batch_first ? input_row(time, sequence) * spec_.directions() + direction
                           : (time * spec_.directions() + direction) * spec_.batch + sequence;
}

std::vector<std::int64_t> Recurrent::lengths_of(const Operands& o) const {
  std::vector<std::int64_t> lengths(static_cast<std::size_t>(spec_.batch), spec_.steps);
  if (!o.has_input(4)) return lengths;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    lengths[i] = o.in<std::int32_t>(4)[i];
    if (lengths[i] < 0 || lengths[i] > spec_.steps) {
      throw Error(ErrorCode::kInvalidArgument, concat("sequence_lens[", i, "] is ", lengths[i],
                                                      ", expected 0 to ", spec_.steps));
    }
  }
  return lengths;
}

void Recurrent::run(const Operands& o) const {
  const std::vector<std::int64_t> lengths = lengths_of(o);
  auto* zeros = reinterpret_cast<float*>(o.workspace() + zeros_at_);
  std::fill_n(zeros, spec_.columns(), 0.0F);
  if (input_product_ != nullptr) {
    const auto weights = input_product_->weights(o);
    auto* gates = reinterpret_cast<float*>(o.workspace() + gates_at_);
    const std::int64_t each = spec_.steps * spec_.batch * spec_.columns();
    for (std::size_t d = 0; d < weights.size(); ++d) {
      input_product_->run(o.in<float>(0), *weights[d], gates + static_cast<std::int64_t>(d) * each,
                          o.workspace() + input_product_at_);
    }
  }
  if (o.has_output(0)) std::fill_n(o.out<float>(0), o.output(0).shape.elements(), 0.0F);
  const auto count = static_cast<std::int64_t>(jobs_.size());
  parallel_ranges(count, o.threads(), [&](std::int64_t from, std::int64_t to, int) {
    for (std::int64_t i = from; i < to; ++i) run_job(o, static_cast<std::size_t>(i), lengths);
  });
}

void Recurrent::run_job(const Operands& o, std::size_t index,
                        const std::vector<std::int64_t>& lengths) const {
  const Job& job = jobs_[index];
  const std::int64_t hidden = spec_.hidden;
  const auto bytes = static_cast<std::size_t>(hidden) * sizeof(float);
  std::vector<std::vector<onednn::PackedPtr>> weights;
  for (const auto& product : job.products) weights.push_back(product->weights(o));
  const auto* zeros = reinterpret_cast<const float*>(o.workspace() + zeros_at_);
  const float* bias =
      o.has_input(3) ? o.in<float>(3) + job.direction * 2 * spec_.columns() : nullptr;
  std::vector<const float*> inputs(static_cast<std::size_t>(job.rows.end - job.rows.begin));
  Step step;
  step.direction = job.direction;
  step.rows = job.rows.end - job.rows.begin;
  step.inputs = inputs.data();
  step.input_bias = bias == nullptr ? zeros : bias;
  step.hidden_bias = bias == nullptr ? zeros : bias + spec_.columns();
  step.hidden = reinterpret_cast<float*>(o.workspace() + job.state_at);
  step.cell = step.hidden + step.rows * hidden;
  step.scratch = reinterpret_cast<float*>(o.workspace() + job.scratch_at);
  step.job = index;
  step.workspace = o.workspace() + job.product_at;
  step.weights = &weights;

  std::int64_t longest = 0;
  for (std::int64_t row = 0; row < step.rows; ++row) {
    const std::int64_t sequence = job.rows.begin + row;
    longest = std::max(longest, lengths[static_cast<std::size_t>(sequence)]);
    for (const std::size_t state : {std::size_t{0}, std::size_t{1}}) {
      float* to = (state == 0 ? step.hidden : step.cell) + row * hidden;
      if (o.has_input(5 + state) && static_cast<std::int64_t>(state) < states_) {
        std::memcpy(to, o.in<float>(5 + state) + state_row(job.direction, sequence) * hidden,
                    bytes);
      } else {
        std::fill_n(to, hidden, 0.0F);
      }
    }
  }
  const bool reverse = spec_.reverse[static_cast<std::size_t>(job.direction)];
  const auto* gates = reinterpret_cast<const float*>(o.workspace() + gates_at_) +
                      job.direction * spec_.steps * spec_.batch * spec_.columns();
  for (std::int64_t at = 0; at < longest; ++at) {
    const auto time_of = [&](std::int64_t sequence) {
      return reverse ? lengths[static_cast<std::size_t>(sequence)] - 1 - at : at;
    };
    for (std::int64_t row = 0; row < step.rows; ++row) {
      const std::int64_t sequence = job.rows.begin + row;
      const bool ended = at >= lengths[static_cast<std::size_t>(sequence)];
      inputs[static_cast<std::size_t>(row)] =
          ended ? nullptr : gates + input_row(time_of(sequence), sequence) * spec_.columns();
    }
    this->step(o, step);
    for (std::int64_t row = 0; o.has_output(0) && row < step.rows; ++row) {
      if (inputs[static_cast<std::size_t>(row)] == nullptr) continue;
      const std::int64_t sequence = job.rows.begin + row;
      std::memcpy(o.out<float>(0) + output_row(time_of(sequence), job.direction, sequence) * hidden,
                  step.hidden + row * hidden, bytes);
    }
  }
  for (std::int64_t state = 0; state < states_; ++state) {
    const auto output = static_cast<std::size_t>(state) + 1;
    if (!o.has_output(output)) continue;
    for (std::int64_t row = 0; row < step.rows; ++row) {
      const std::int64_t sequence = job.rows.begin + row;
      float* to = o.out<float>(output) + state_row(job.direction, sequence) * hidden;
      if (lengths[static_cast<std::size_t>(sequence)] == 0) {
        std::fill_n(to, hidden, 0.0F);
        continue;
      }
      std::memcpy(to, (state == 0 ? step.hidden : step.cell) + row * hidden, bytes);
    }
  }
}

}  // namespace qtool

#include "ops/recurrent/recurrent.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <utility>

#include "base/parallel.h"
#include "base/round_up.h"
#include "base/stop.h"
#include "base/text.h"
#include "ops/rows.h"

namespace qtool {

Recurrent::Recurrent(const OpContext& op, RecurrentSpec given, const std::vector<Range64>& blocks,
                     std::int64_t scratch_columns, std::int64_t states)
    : spec_(std::move(given)), states_(states) {
  constexpr std::int64_t kFloat = sizeof(float);
  zeros_at_ = take(spec_.columns() * kFloat);
  const std::int64_t rows = spec_.steps * spec_.batch;
  if (spec_.batch == 0) return;
  gates_at_ = take(spec_.directions() * rows * spec_.columns() * kFloat);
  if (rows > 0) {
    input_product_ = make_input_product(op, spec_);
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
        job.products.push_back(make_hidden_product(op, spec_, count, block));
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

std::string Recurrent::kernel() const {
  return input_product_ == nullptr ? "none" : std::string(input_product_->kernel());
}

void Recurrent::multiply(const Operands& o, const Step& step, std::size_t block, const float* rows,
                         float* out) const {
  BoundProduct& product = (*step.products)[block];
  if (product.rows != rows || product.out != out) {
    product = {rows, out,
               jobs_[step.job].products[block]->bind(o, step.direction, rows, out, step.workspace)};
  }
  product.run();
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
      throw Error(ErrorCode::kInvalidArgument, to_text("sequence_lens[", i, "] is ", lengths[i],
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
    input_product_->run(o, reinterpret_cast<float*>(o.workspace() + gates_at_),
                        o.workspace() + input_product_at_);
  }
  if (o.has_output(0)) fill_elements(o.out<float>(0), o.output(0).shape.elements(), 0.0F);
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
  std::vector<BoundProduct> products(job.products.size());
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
  step.products = &products;

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
  StopPace pace;
  for (std::int64_t at = 0; at < longest; ++at) {
    pace.step(step.rows * hidden * spec_.columns());
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

// LSTM, GRU and RNN. The products run through oneDNN or, on integers, through our kernels. The
// gates run in FP32 in our own loops, because oneDNN's recurrent primitives do not support
// sequences of unequal length, clip, peepholes of one batch layout, other activations or
// linear_before_reset.
#include <algorithm>

#include "base/text.h"
#include "ops/recurrent/recurrent.h"

namespace qtool {
namespace {

// gate += input + biases.
void add_input(const float* input, const float* input_bias, const float* hidden_bias,
               std::int64_t count, float* gate) {
  for (std::int64_t i = 0; i < count; ++i) {
    gate[i] += input[i] + (input_bias[i] + hidden_bias[i]);
  }
}

RecurrentSpec lstm_spec(const OpContext& op) {
  RecurrentSpec spec = recurrent_spec(op, 4, {"Sigmoid", "Tanh", "Tanh"});
  if (op.has_input(6)) require_state(op, spec, 6);
  if (op.has_input(7)) {
    const Shape expected{spec.directions(), 3 * spec.hidden};
    op.require(op.input(7).dtype == DType::kFloat32 && op.input(7).shape == expected,
               to_text("P is ", name_of(op.input(7).dtype), " ", op.input(7).shape.to_string(),
                       ", expected float32 ", expected.to_string()));
  }
  return spec;
}

// Gates i, o, f, c:
//   i = f(x Wi + h Ri + Pi C + bi), f likewise (1 - i with input_forget), c = g(x Wc + h Rc + bc)
//   C' = f C + i c, o = f(x Wo + h Ro + Po C' + bo), h' = o h(C')
// clip limits the inputs of f and g. ONNX's text could also mean the input of h; ONNX Runtime does
// not limit it.
class Lstm final : public Recurrent {
 public:
  explicit Lstm(const OpContext& op) : Lstm(op, lstm_spec(op)) {}

 private:
  Lstm(const OpContext& op, const RecurrentSpec& spec)
      : Recurrent(op, spec, {{0, spec.columns()}}, spec.columns(), 2),
        couples_(op.node.get_int("input_forget", 0) != 0) {}

  void step(const Operands& o, const Step& s) const override {
    multiply(o, s, 0, s.hidden, s.scratch);
    const float* peepholes =
        o.has_input(7) ? o.in<float>(7) + s.direction * 3 * spec().hidden : nullptr;
    for (std::int64_t row = 0; row < s.rows; ++row) {
      if (s.inputs[row] == nullptr) continue;
      float* gates = s.scratch + row * spec().columns();
      add_input(s.inputs[row], s.input_bias, s.hidden_bias, spec().columns(), gates);
      run_cell(s.direction, peepholes, gates, s.cell + row * spec().hidden,
               s.hidden + row * spec().hidden);
    }
  }

  void run_cell(std::int64_t direction, const float* peepholes, float* gates, float* cell,
                float* hidden) const {
    const std::int64_t n = spec().hidden;
    float* const in = gates;
    float* const out = gates + n;
    float* const forget = gates + 2 * n;
    float* const next = gates + 3 * n;
    if (peepholes != nullptr) {
      for (std::int64_t i = 0; i < n; ++i) in[i] += peepholes[i] * cell[i];
      for (std::int64_t i = 0; i < n; ++i) forget[i] += peepholes[2 * n + i] * cell[i];
    }
    activate(direction, 0, in);
    if (couples_) {
      for (std::int64_t i = 0; i < n; ++i) forget[i] = 1.0F - in[i];
    } else {
      activate(direction, 0, forget);
    }
    activate(direction, 1, next);
    for (std::int64_t i = 0; i < n; ++i) cell[i] = forget[i] * cell[i] + in[i] * next[i];
    if (peepholes != nullptr) {
      for (std::int64_t i = 0; i < n; ++i) out[i] += peepholes[n + i] * cell[i];
    }
    activate(direction, 0, out);
    for (std::int64_t i = 0; i < n; ++i) hidden[i] = cell[i];
    function(direction, 2).apply(hidden, n);
    for (std::int64_t i = 0; i < n; ++i) hidden[i] *= out[i];
  }

  void activate(std::int64_t direction, std::size_t index, float* gate) const {
    clip(gate, spec().hidden);
    function(direction, index).apply(gate, spec().hidden);
  }

  bool couples_;
};

RecurrentSpec gru_spec(const OpContext& op) { return recurrent_spec(op, 3, {"Sigmoid", "Tanh"}); }

bool resets_after(const OpContext& op) { return op.node.get_int("linear_before_reset", 0) != 0; }

// Gates z, r, h. The reset r is applied after the product with R or before it:
//   z = f(x Wz + h Rz + bz), r = f(x Wr + h Rr + br)
//   c = g(x Wh + r (h Rh + Rbh) + Wbh), or g(x Wh + (r h) Rh + Rbh + Wbh)
//   h' = (1 - z) c + z h
class Gru final : public Recurrent {
 public:
  explicit Gru(const OpContext& op) : Gru(op, gru_spec(op), resets_after(op)) {}

 private:
  Gru(const OpContext& op, const RecurrentSpec& spec, bool after)
      : Recurrent(op, spec, blocks_of(spec, after), 4 * spec.hidden, 1), resets_after_(after) {}

  static std::vector<Range64> blocks_of(const RecurrentSpec& spec, bool after) {
    if (after) return {{0, 3 * spec.hidden}};
    return {{0, 2 * spec.hidden}, {2 * spec.hidden, 3 * spec.hidden}};
  }

  void step(const Operands& o, const Step& s) const override {
    const std::int64_t n = spec().hidden;
    const std::int64_t width = resets_after_ ? 3 * n : 2 * n;
    float* const candidates = s.scratch + s.rows * width;  // used unless resets_after_
    float* const kept = candidates + s.rows * n;           // r h
    multiply(o, s, 0, s.hidden, s.scratch);
    for (std::int64_t row = 0; row < s.rows; ++row) {
      if (s.inputs[row] == nullptr) continue;
      float* gates = s.scratch + row * width;
      add_input(s.inputs[row], s.input_bias, s.hidden_bias, 2 * n, gates);
      clip(gates, 2 * n);
      function(s.direction, 0).apply(gates, 2 * n);
      if (resets_after_) continue;
      for (std::int64_t i = 0; i < n; ++i) kept[row * n + i] = gates[n + i] * s.hidden[row * n + i];
    }
    if (!resets_after_) multiply(o, s, 1, kept, candidates);
    for (std::int64_t row = 0; row < s.rows; ++row) {
      if (s.inputs[row] == nullptr) continue;
      float* gates = s.scratch + row * width;
      float* candidate = resets_after_ ? gates + 2 * n : candidates + row * n;
      const float* input = s.inputs[row] + 2 * n;
      const float* input_bias = s.input_bias + 2 * n;
      const float* hidden_bias = s.hidden_bias + 2 * n;
      if (resets_after_) {
        for (std::int64_t i = 0; i < n; ++i) {
          candidate[i] =
              gates[n + i] * (candidate[i] + hidden_bias[i]) + (input[i] + input_bias[i]);
        }
      } else {
        add_input(input, input_bias, hidden_bias, n, candidate);
      }
      clip(candidate, n);
      function(s.direction, 1).apply(candidate, n);
      float* hidden = s.hidden + row * n;
      for (std::int64_t i = 0; i < n; ++i) {
        hidden[i] = (1.0F - gates[i]) * candidate[i] + gates[i] * hidden[i];
      }
    }
  }

  bool resets_after_;
};

RecurrentSpec rnn_spec(const OpContext& op) { return recurrent_spec(op, 1, {"Tanh"}); }

// h' = f(x W + h R + b).
class Rnn final : public Recurrent {
 public:
  explicit Rnn(const OpContext& op) : Rnn(op, rnn_spec(op)) {}

 private:
  Rnn(const OpContext& op, const RecurrentSpec& spec)
      : Recurrent(op, spec, {{0, spec.hidden}}, spec.hidden, 1) {}

  void step(const Operands& o, const Step& s) const override {
    const std::int64_t n = spec().hidden;
    multiply(o, s, 0, s.hidden, s.scratch);
    for (std::int64_t row = 0; row < s.rows; ++row) {
      if (s.inputs[row] == nullptr) continue;
      float* gate = s.scratch + row * n;
      add_input(s.inputs[row], s.input_bias, s.hidden_bias, n, gate);
      clip(gate, n);
      function(s.direction, 0).apply(gate, n);
      std::copy_n(gate, n, s.hidden + row * n);
    }
  }
};

}  // namespace

OpDef op_LSTM() {
  return {
      [](const OpContext& op) { return infer_recurrent(op, lstm_spec(op), 2); },
      [](const OpContext& op) -> std::unique_ptr<Operator> { return std::make_unique<Lstm>(op); },
      LayoutRule::kPlain};
}

OpDef op_GRU() {
  return {
      [](const OpContext& op) { return infer_recurrent(op, gru_spec(op), 1); },
      [](const OpContext& op) -> std::unique_ptr<Operator> { return std::make_unique<Gru>(op); },
      LayoutRule::kPlain};
}

OpDef op_RNN() {
  return {
      [](const OpContext& op) { return infer_recurrent(op, rnn_spec(op), 1); },
      [](const OpContext& op) -> std::unique_ptr<Operator> { return std::make_unique<Rnn>(op); },
      LayoutRule::kPlain};
}

// Made by lowering: the same cells, with products of integers.
OpDef op_QLSTM() { return op_LSTM(); }
OpDef op_QGRU() { return op_GRU(); }
OpDef op_QRNN() { return op_RNN(); }

}  // namespace qtool

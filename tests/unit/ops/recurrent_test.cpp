// Compares LSTM, GRU and RNN with their definitions, computed one number at a time.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>

#include "qtool/base/error.h"
#include "unit/run_op.h"

namespace qtool {
namespace {

using tests::Attributes;
using tests::constant;
using tests::infer_error;
using tests::OpCase;
using tests::OpInput;
using tests::random_tensor;
using tests::run_op;
using Strings = std::vector<std::string>;
using Function = std::function<double(double)>;

double sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }
double tangent(double x) { return std::tanh(x); }

// The parameters of a case. Everything else follows from them.
struct Network {
  std::string op_type;
  std::int64_t gates;
  std::string direction = "forward";
  std::int64_t layout = 0;
  std::int64_t steps = 5;
  std::int64_t batch = 3;
  std::int64_t inputs = 4;
  std::int64_t hidden = 6;
  bool bias = true;
  bool initial = true;
  bool peepholes = false;
  std::vector<std::int32_t> lengths{};
  Attributes attributes{};
  std::vector<Function> functions{};  // of one direction
  bool constant_weights = true;

  [[nodiscard]] std::int64_t directions() const { return direction == "bidirectional" ? 2 : 1; }
  [[nodiscard]] double clip() const {
    const auto found = attributes.find("clip");
    return found == attributes.end() ? 1e30 : double{std::get<float>(found->second)};
  }
  [[nodiscard]] bool flag(const char* name) const {
    const auto found = attributes.find(name);
    return found != attributes.end() && std::get<std::int64_t>(found->second) != 0;
  }
};

OpCase recurrent_case(const Network& n) {
  const std::int64_t d = n.directions();
  const std::int64_t columns = n.gates * n.hidden;
  OpCase test{n.op_type, {}, n.attributes, n.op_type == "LSTM" ? std::size_t{3} : std::size_t{2}};
  test.attributes["direction"] = n.direction;
  test.attributes["hidden_size"] = n.hidden;
  if (n.layout != 0) test.attributes["layout"] = n.layout;
  const auto weights = [&](Shape shape, std::uint64_t seed) {
    Tensor tensor = random_tensor(std::move(shape), -0.6F, 0.6F, seed);
    return n.constant_weights ? constant(std::move(tensor)) : OpInput(std::move(tensor));
  };
  const Shape state = n.layout != 0 ? Shape{n.batch, d, n.hidden} : Shape{d, n.batch, n.hidden};
  test.inputs.emplace_back(random_tensor(
      n.layout != 0 ? Shape{n.batch, n.steps, n.inputs} : Shape{n.steps, n.batch, n.inputs}, -1, 1,
      1));
  test.inputs.push_back(weights({d, columns, n.inputs}, 2));
  test.inputs.push_back(weights({d, columns, n.hidden}, 3));
  test.inputs.resize(8);
  if (n.bias) test.inputs[3] = weights({d, 2 * columns}, 4);
  if (!n.lengths.empty()) {
    test.inputs[4] =
        OpInput(Tensor::of<std::int32_t>({n.batch}, std::span<const std::int32_t>(n.lengths)));
  }
  if (n.initial) test.inputs[5] = OpInput(random_tensor(state, -1, 1, 5));
  if (n.op_type == "LSTM") {
    if (n.initial) test.inputs[6] = OpInput(random_tensor(state, -1, 1, 6));
    if (n.peepholes) test.inputs[7] = weights({d, 3 * n.hidden}, 7);
  } else {
    test.inputs.resize(6);
  }
  return test;
}

using StateRow = std::vector<double>;

// Computes the states of one sequence in one direction, after each of its steps.
class Reference {
 public:
  Reference(const Network& network, const OpCase& test) : n_(network), test_(test) {}

  struct States {
    std::vector<StateRow> hidden;  // by step
    StateRow last_hidden;
    StateRow last_cell;
  };

  [[nodiscard]] States run(std::int64_t direction, std::int64_t sequence) const {
    const bool reverse = n_.direction == "reverse" || direction == 1;
    const std::int64_t length =
        n_.lengths.empty() ? n_.steps : n_.lengths[static_cast<std::size_t>(sequence)];
    States states;
    states.hidden.resize(static_cast<std::size_t>(n_.steps), StateRow(size(), 0.0));
    StateRow h = initial(5, direction, sequence);
    StateRow c = initial(6, direction, sequence);
    for (std::int64_t i = 0; i < length; ++i) {
      const std::int64_t time = reverse ? length - 1 - i : i;
      step(direction, input(time, sequence), h, c);
      states.hidden[static_cast<std::size_t>(time)] = h;
    }
    if (length == 0) h = c = StateRow(size(), 0.0);  // as in ONNX Runtime
    states.last_hidden = h;
    states.last_cell = c;
    return states;
  }

 private:
  [[nodiscard]] std::size_t size() const { return static_cast<std::size_t>(n_.hidden); }
  [[nodiscard]] double at(std::size_t input, std::int64_t index) const {
    const auto& tensor = test_.inputs[input].tensor;
    return tensor ? double{tensor->values<float>()[static_cast<std::size_t>(index)]} : 0.0;
  }
  [[nodiscard]] StateRow input(std::int64_t time, std::int64_t sequence) const {
    const std::int64_t row =
        n_.layout != 0 ? sequence * n_.steps + time : time * n_.batch + sequence;
    StateRow x;
    for (std::int64_t i = 0; i < n_.inputs; ++i) x.push_back(at(0, row * n_.inputs + i));
    return x;
  }
  [[nodiscard]] StateRow initial(std::size_t input, std::int64_t direction,
                                 std::int64_t sequence) const {
    StateRow state(size(), 0.0);
    if (input >= test_.inputs.size()) return state;
    const std::int64_t row =
        n_.layout != 0 ? sequence * n_.directions() + direction : direction * n_.batch + sequence;
    for (std::int64_t i = 0; i < n_.hidden; ++i) {
      state[static_cast<std::size_t>(i)] = at(input, row * n_.hidden + i);
    }
    return state;
  }
  // The product of row `row` of W or R and a vector.
  [[nodiscard]] double product(std::size_t input, std::int64_t direction, std::int64_t row,
                               const StateRow& with) const {
    const auto depth = static_cast<std::int64_t>(with.size());
    double sum = 0.0;
    for (std::int64_t k = 0; k < depth; ++k) {
      sum += at(input, (direction * n_.gates * n_.hidden + row) * depth + k) *
             with[static_cast<std::size_t>(k)];
    }
    return sum;
  }
  [[nodiscard]] double input_bias(std::int64_t direction, std::int64_t row) const {
    return at(3, direction * 2 * n_.gates * n_.hidden + row);
  }
  [[nodiscard]] double hidden_bias(std::int64_t direction, std::int64_t row) const {
    return at(3, (direction * 2 + 1) * n_.gates * n_.hidden + row);
  }
  [[nodiscard]] double clipped(double x) const { return std::clamp(x, -n_.clip(), n_.clip()); }

  void step(std::int64_t d, const StateRow& x, StateRow& h, StateRow& c) const {
    const auto sum = [&](std::int64_t gate, std::int64_t i) {
      const std::int64_t row = gate * n_.hidden + i;
      return product(1, d, row, x) + product(2, d, row, h) + input_bias(d, row) +
             hidden_bias(d, row);
    };
    const auto peephole = [&](std::int64_t gate, std::int64_t i, double cell) {
      return n_.peepholes ? at(7, (d * 3 + gate) * n_.hidden + i) * cell : 0.0;
    };
    StateRow next_h = h;
    StateRow next_c = c;
    if (n_.op_type == "RNN") {
      for (std::int64_t i = 0; i < n_.hidden; ++i) {
        next_h[static_cast<std::size_t>(i)] = n_.functions[0](clipped(sum(0, i)));
      }
    } else if (n_.op_type == "LSTM") {
      for (std::int64_t i = 0; i < n_.hidden; ++i) {
        const auto k = static_cast<std::size_t>(i);
        const double in = n_.functions[0](clipped(sum(0, i) + peephole(0, i, c[k])));
        const double forget = n_.flag("input_forget")
                                  ? 1.0 - in
                                  : n_.functions[0](clipped(sum(2, i) + peephole(2, i, c[k])));
        next_c[k] = forget * c[k] + in * n_.functions[1](clipped(sum(3, i)));
        const double out = n_.functions[0](clipped(sum(1, i) + peephole(1, i, next_c[k])));
        next_h[k] = out * n_.functions[2](next_c[k]);
      }
    } else {
      StateRow reset(size());
      for (std::int64_t i = 0; i < n_.hidden; ++i) {
        reset[static_cast<std::size_t>(i)] = n_.functions[0](clipped(sum(1, i)));
      }
      StateRow kept = h;
      for (std::size_t k = 0; k < kept.size(); ++k) kept[k] *= reset[k];
      for (std::int64_t i = 0; i < n_.hidden; ++i) {
        const auto k = static_cast<std::size_t>(i);
        const std::int64_t row = 2 * n_.hidden + i;
        const double update = n_.functions[0](clipped(sum(0, i)));
        const double recurrent = n_.flag("linear_before_reset")
                                     ? reset[k] * (product(2, d, row, h) + hidden_bias(d, row))
                                     : product(2, d, row, kept) + hidden_bias(d, row);
        const double candidate =
            n_.functions[1](clipped(product(1, d, row, x) + input_bias(d, row) + recurrent));
        next_h[k] = (1.0 - update) * candidate + update * h[k];
      }
    }
    h = next_h;
    c = next_c;
  }

  const Network& n_;
  const OpCase& test_;
};

void expect_row(const Tensor& found, std::int64_t row, const StateRow& expected,
                const std::string& what) {
  const auto width = static_cast<std::int64_t>(expected.size());
  for (std::int64_t i = 0; i < width; ++i) {
    ASSERT_NEAR(found.values<float>()[static_cast<std::size_t>(row * width + i)],
                expected[static_cast<std::size_t>(i)], 2e-6)
        << what << ", row " << row << ", element " << i;
  }
}

void expect_recurrence(const Network& n, int threads) {
  const OpCase test = recurrent_case(n);
  const std::vector<Tensor> found = run_op(test, Layout::kPlain, threads);
  const Reference reference(n, test);
  const std::int64_t directions = n.directions();
  for (std::int64_t d = 0; d < directions; ++d) {
    for (std::int64_t b = 0; b < n.batch; ++b) {
      const Reference::States states = reference.run(d, b);
      for (std::int64_t t = 0; t < n.steps; ++t) {
        const std::int64_t row =
            n.layout != 0 ? (b * n.steps + t) * directions + d : (t * directions + d) * n.batch + b;
        expect_row(found[0], row, states.hidden[static_cast<std::size_t>(t)], "Y");
      }
      const std::int64_t row = n.layout != 0 ? b * directions + d : d * n.batch + b;
      expect_row(found[1], row, states.last_hidden, "Y_h");
      if (n.op_type == "LSTM") expect_row(found[2], row, states.last_cell, "Y_c");
    }
  }
}

std::vector<Network> networks() {
  std::vector<Network> list;
  for (const auto& [op, gates] : {std::pair{"LSTM", 4}, {"GRU", 3}, {"RNN", 1}}) {
    Network plain{op, gates};
    plain.functions = {sigmoid, tangent, tangent};
    if (gates == 1) plain.functions = {tangent};
    list.push_back(plain);
    Network bare = plain;
    bare.bias = bare.initial = false;
    bare.constant_weights = false;
    bare.direction = "reverse";
    list.push_back(bare);
    for (const std::int64_t layout : {0, 1}) {
      Network both = plain;
      both.direction = "bidirectional";
      both.layout = layout;
      both.batch = 7;
      list.push_back(both);
      both.lengths = {5, 0, 3, 1, 4, 5, 2};
      list.push_back(both);
    }
    Network clipped = plain;
    clipped.attributes["clip"] = 0.3F;
    list.push_back(clipped);
    Network others = plain;
    others.direction = "bidirectional";
    if (gates == 1) {
      others.attributes["activations"] = Strings{"LeakyRelu", "leakyrelu"};
      others.attributes["activation_alpha"] = std::vector<float>{0.125F, 0.125F};
      others.functions = {[](double x) { return x < 0 ? 0.125 * x : x; }};
    } else {
      others.attributes["activations"] =
          gates == 4
              ? Strings{"HardSigmoid", "Softsign", "Affine", "HardSigmoid", "Softsign", "Affine"}
              : Strings{"HardSigmoid", "Softsign", "HardSigmoid", "Softsign"};
      others.attributes["activation_alpha"] =
          gates == 4 ? std::vector<float>{0.25F, 0.5F, 0.25F, 0.5F} : std::vector<float>{0.25F};
      others.attributes["activation_beta"] =
          gates == 4 ? std::vector<float>{0.5F, 0.125F, 0.5F, 0.125F} : std::vector<float>{};
      if (gates == 3) others.direction = "forward";
      if (gates == 3) others.attributes["activations"] = Strings{"HardSigmoid", "Softsign"};
      others.functions = {[](double x) { return std::clamp(0.25 * x + 0.5, 0.0, 1.0); },
                          [](double x) { return x / (1.0 + std::abs(x)); },
                          [](double x) { return 0.5 * x + 0.125; }};
    }
    list.push_back(others);
  }
  Network lstm = list[0];
  lstm.peepholes = true;
  list.push_back(lstm);
  lstm.direction = "bidirectional";
  lstm.attributes["input_forget"] = std::int64_t{1};
  lstm.attributes["clip"] = 0.5F;
  list.push_back(lstm);
  for (Network gru : std::vector<Network>(list.begin() + 8, list.begin() + 16)) {
    if (gru.op_type != "GRU") continue;
    gru.attributes["linear_before_reset"] = std::int64_t{1};
    list.push_back(gru);
  }
  return list;
}

TEST(Recurrent, EqualsItsDefinition) {
  for (const Network& network : networks()) {
    for (const int threads : {1, 5}) {
      SCOPED_TRACE(network.op_type + " " + network.direction + ", threads " +
                   std::to_string(threads));
      expect_recurrence(network, threads);
    }
  }
}

TEST(Recurrent, RefusesLengthsBeyondTheSequence) {
  Network network{"GRU", 3};
  for (const std::int32_t wrong : {-1, 6}) {
    network.lengths = {5, wrong, 1};
    EXPECT_THROW(run_op(recurrent_case(network)), Error);
  }
}

TEST(Recurrent, RefusesWhatDoesNotFit) {
  const auto error = [](const std::function<void(OpCase&)>& change) {
    OpCase test = recurrent_case(Network{"LSTM", 4});
    change(test);
    return infer_error(test);
  };
  EXPECT_EQ(error([](OpCase&) {}), "");
  EXPECT_NE(error([](OpCase& t) { t.inputs[0] = OpInput(random_tensor({5, 3})); }), "");
  EXPECT_NE(error([](OpCase& t) { t.inputs[1] = OpInput(random_tensor({1, 24, 5})); }), "");
  EXPECT_NE(error([](OpCase& t) { t.inputs[2] = OpInput(random_tensor({1, 23, 6})); }), "");
  EXPECT_NE(error([](OpCase& t) { t.inputs[3] = OpInput(random_tensor({1, 24})); }), "");
  EXPECT_NE(error([](OpCase& t) { t.inputs[5] = OpInput(random_tensor({1, 6})); }), "");
  EXPECT_NE(error([](OpCase& t) { t.inputs[6] = OpInput(random_tensor({3, 1, 6})); }), "");
  EXPECT_NE(error([](OpCase& t) { t.inputs[7] = OpInput(random_tensor({1, 24})); }), "");
  EXPECT_NE(error([](OpCase& t) { t.attributes["direction"] = std::string("up"); }), "");
  EXPECT_NE(error([](OpCase& t) { t.attributes["direction"] = std::string("bidirectional"); }), "");
  EXPECT_NE(error([](OpCase& t) { t.attributes["hidden_size"] = std::int64_t{7}; }), "");
  EXPECT_NE(error([](OpCase& t) { t.attributes["clip"] = -1.0F; }), "");
  EXPECT_NE(error([](OpCase& t) { t.attributes["activations"] = Strings{"Tanh"}; }), "");
  EXPECT_NE(error([](OpCase& t) {
              t.attributes["activations"] = Strings{"Tanh", "Cosh", "Tanh"};
            }),
            "");
}

}  // namespace
}  // namespace qtool

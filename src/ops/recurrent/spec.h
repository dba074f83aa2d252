#pragma once

#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <vector>

#include "ops/operator.h"
#include "ops/recurrent/gate_function.h"

// Extents and attributes of LSTM, GRU and RNN. Sources: ONNX LSTM, GRU, RNN.
namespace qtool {

/// Extents and attributes.
struct RecurrentSpec {
  std::int64_t steps = 0;
  std::int64_t batch = 0;
  std::int64_t inputs = 0;
  std::int64_t hidden = 0;
  std::int64_t gates = 0;
  std::vector<bool> reverse;            ///< one per direction
  std::vector<GateFunction> functions;  ///< first direction, then second direction
  float clip = 0.0F;                    ///< limit of the inputs of activations; infinite: none
  bool batch_first = false;             ///< X, Y and the states begin with the batch
  bool integer = false;                 ///< QLSTM, QGRU, QRNN: X is u8, W and R are s8

  [[nodiscard]] std::int64_t directions() const {
    return static_cast<std::int64_t>(reverse.size());
  }
  [[nodiscard]] std::int64_t columns() const { return gates * hidden; }
};

/// Reads a node with `gates` gates. `defaults`: the default activations of one direction. Inputs 0
/// to 5 are X, W, R, B, sequence_lens, initial_h. Throws Error(kInvalidModel) for contradictions.
RecurrentSpec recurrent_spec(const OpContext& op, std::int64_t gates,
                             std::initializer_list<std::string_view> defaults);

/// Types and shapes of Y and of `states` final states. Throws when a tensor would be absurdly
/// large.
std::vector<ValueInfo> infer_recurrent(const OpContext& op, const RecurrentSpec& spec,
                                       std::int64_t states);

/// Throws unless input `input` has the type and shape of a state, such as initial_h.
void require_state(const OpContext& op, const RecurrentSpec& spec, std::size_t input);

}  // namespace qtool

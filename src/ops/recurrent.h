#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string_view>
#include <vector>

#include "ops/gate_function.h"
#include "ops/onednn.h"
#include "ops/operator.h"
#include "ops/pieces.h"

// What LSTM, GRU and RNN have in common: extents, attributes, the products, and the way through
// time. Sources: ONNX LSTM, GRU, RNN.
namespace qtool {

/// Extents and attributes.
struct RecurrentSpec {
  std::int64_t steps = 0;
  std::int64_t batch = 0;
  std::int64_t inputs = 0;
  std::int64_t hidden = 0;
  std::int64_t gates = 0;
  std::vector<bool> reverse;            ///< one per direction
  std::vector<GateFunction> functions;  ///< of the directions, one after the other
  float clip = 0.0F;                    ///< of what the gates' activations read; infinite: none
  bool batch_first = false;             ///< X, Y and the states begin with the batch

  [[nodiscard]] std::int64_t directions() const {
    return static_cast<std::int64_t>(reverse.size());
  }
  [[nodiscard]] std::int64_t columns() const { return gates * hidden; }
};

/// Reads a node with `gates` gates and the activations `defaults`, those of one direction. Inputs 0
/// to 5 are X, W, R, B, sequence_lens, initial_h. Throws Error(kInvalidModel) for contradictions.
RecurrentSpec recurrent_spec(const OpContext& op, std::int64_t gates,
                             std::initializer_list<std::string_view> defaults);

/// Types and shapes of Y and of `states` final states. Throws when it would be absurdly large.
std::vector<ValueInfo> infer_recurrent(const OpContext& op, const RecurrentSpec& spec,
                                       std::int64_t states);

/// Throws unless input `input` is a state, as initial_h is.
void require_state(const OpContext& op, const RecurrentSpec& spec, std::size_t input);

/// Rows of float32 times the transpose of some rows of the weights at an input of the node,
/// [directions, gates * hidden, depth], by direction.
class GateProduct {
 public:
  GateProduct(const OpContext& op, std::size_t input, std::int64_t rows, const Range64& columns,
              int threads);

  /// The packed weights of each direction; those of constants are kept.
  [[nodiscard]] std::vector<onednn::PackedPtr> weights(const Operands& o) const;
  [[nodiscard]] std::int64_t workspace_bytes() const { return matmul_->workspace_bytes(); }
  void run(const float* rows, const onednn::Packed& weights, float* out,
           std::byte* workspace) const {
    matmul_->run(rows, weights, out, workspace);
  }

 private:
  std::size_t input_;
  std::int64_t first_;  // element of the first row that is read, in each direction
  std::int64_t per_direction_;
  std::int64_t directions_;
  std::unique_ptr<onednn::Matmul> matmul_;
  std::vector<onednn::PackedPtr> kept_;
};

/// The operator without its cell. The products of all inputs come first, in one go; then directions
/// and parts of the batch go through time on their own, each on one thread. A sequence of
/// length 0 ends in states of 0 whatever its initial ones are: ONNX leaves that open, ONNX Runtime
/// does so.
class Recurrent : public Operator {
 public:
  void run(const Operands& o) const override;
  [[nodiscard]] std::int64_t workspace_bytes() const override { return workspace_; }
  [[nodiscard]] std::int64_t macs() const override;
  [[nodiscard]] std::string kernel() const override { return "matmul"; }

 protected:
  /// One step of some sequences of one direction.
  struct Step {
    std::int64_t direction = 0;
    std::int64_t rows = 0;
    /// The input's part of the gates of each row, [gates * hidden]; null: the sequence has ended.
    const float* const* inputs = nullptr;
    const float* input_bias = nullptr;   ///< [gates * hidden]
    const float* hidden_bias = nullptr;  ///< the same
    float* hidden = nullptr;             ///< [rows][hidden], in and out
    float* cell = nullptr;               ///< the same, of LSTM
    float* scratch = nullptr;            ///< [rows][scratch columns]
    std::size_t job = 0;
    std::byte* workspace = nullptr;
    const std::vector<std::vector<onednn::PackedPtr>>* weights = nullptr;
  };

  /// `blocks`: the rows of R that are multiplied together. `states`: final states.
  Recurrent(const OpContext& op, RecurrentSpec spec, const std::vector<Range64>& blocks,
            std::int64_t scratch_columns, std::int64_t states);

  virtual void step(const Operands& o, const Step& step) const = 0;

  /// rows times the block of R.
  void multiply(const Step& step, std::size_t block, const float* rows, float* out) const;
  /// What an activation reads: clamped to +-clip.
  void clip(float* values, std::int64_t count) const;
  /// Function `index` of a direction.
  [[nodiscard]] const GateFunction& function(std::int64_t direction, std::size_t index) const;
  [[nodiscard]] const RecurrentSpec& spec() const { return spec_; }

 private:
  // A part of the batch in one direction.
  struct Job {
    std::int64_t direction;
    Range64 rows;
    std::vector<std::unique_ptr<GateProduct>> products;  // by block
    std::int64_t state_at;                               // in the workspace
    std::int64_t scratch_at;
    std::int64_t product_at;
  };

  void run_job(const Operands& o, std::size_t index,
               const std::vector<std::int64_t>& lengths) const;
  [[nodiscard]] std::vector<std::int64_t> lengths_of(const Operands& o) const;
  [[nodiscard]] std::int64_t take(std::int64_t bytes);
  // The place of a row in a state, and of a sequence's step in X; the directions of Y lie between.
  [[nodiscard]] std::int64_t state_row(std::int64_t direction, std::int64_t sequence) const;
  [[nodiscard]] std::int64_t input_row(std::int64_t time, std::int64_t sequence) const;
  [[nodiscard]] std::int64_t output_row(std::int64_t time, std::int64_t direction,
                                        std::int64_t sequence) const;

  RecurrentSpec spec_;
  std::int64_t states_;
  std::unique_ptr<GateProduct> input_product_;
  std::vector<Job> jobs_;
  std::int64_t workspace_ = 0;
  std::int64_t zeros_at_ = 0;  // a bias where there is none
  std::int64_t gates_at_ = 0;
  std::int64_t input_product_at_ = 0;
};

}  // namespace qtool

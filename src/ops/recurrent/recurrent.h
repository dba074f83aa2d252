#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "ops/operator.h"
#include "ops/pieces.h"
#include "ops/recurrent/product.h"
#include "ops/recurrent/spec.h"

namespace qtool {

/// The loop over time of LSTM, GRU and RNN; derived classes compute the cells. The products of all
/// inputs come first, at once. Then each part of the batch in each direction runs through time
/// independently, on one thread. A sequence of length 0 ends with states of 0, whatever its initial
/// states are: ONNX does not define this, ONNX Runtime does it.
class Recurrent : public Operator {
 public:
  void run(const Operands& o) const override;
  [[nodiscard]] std::int64_t workspace_bytes() const override { return workspace_; }
  [[nodiscard]] std::int64_t macs() const override;
  [[nodiscard]] std::string kernel() const override;

 protected:
  /// A product by a block of R, bound to its memory in the first step.
  struct BoundProduct {
    const float* rows = nullptr;
    float* out = nullptr;
    std::function<void()> run;
  };

  /// One step of some sequences of one direction.
  struct Step {
    std::int64_t direction = 0;
    std::int64_t rows = 0;
    /// The contribution of X to the gates of each row, [gates * hidden]; null: the sequence has
    /// ended.
    const float* const* inputs = nullptr;
    const float* input_bias = nullptr;   ///< [gates * hidden]
    const float* hidden_bias = nullptr;  ///< the same
    float* hidden = nullptr;             ///< [rows][hidden], in and out
    float* cell = nullptr;               ///< the same; LSTM only
    float* scratch = nullptr;            ///< [rows][scratch columns]
    std::size_t job = 0;
    std::byte* workspace = nullptr;
    std::vector<BoundProduct>* products = nullptr;  ///< by block
  };

  /// `blocks`: the ranges of rows of R, each of which is multiplied at once. `states`: the number
  /// of final states.
  Recurrent(const OpContext& op, RecurrentSpec spec, const std::vector<Range64>& blocks,
            std::int64_t scratch_columns, std::int64_t states);

  virtual void step(const Operands& o, const Step& step) const = 0;

  /// out = `rows` times block `block` of R. Fast where each step has the same pointers.
  void multiply(const Operands& o, const Step& step, std::size_t block, const float* rows,
                float* out) const;
  /// Clamps the input of an activation to +-clip.
  void clip(float* values, std::int64_t count) const;
  /// Function `index` of a direction.
  [[nodiscard]] const GateFunction& function(std::int64_t direction, std::size_t index) const;
  [[nodiscard]] const RecurrentSpec& spec() const { return spec_; }

 private:
  // A part of the batch in one direction.
  struct Job {
    std::int64_t direction;
    Range64 rows;
    std::vector<std::unique_ptr<HiddenProduct>> products;  // by block
    std::int64_t state_at;                                 // in the workspace
    std::int64_t scratch_at;
    std::int64_t product_at;
  };

  void run_job(const Operands& o, std::size_t index,
               const std::vector<std::int64_t>& lengths) const;
  [[nodiscard]] std::vector<std::int64_t> lengths_of(const Operands& o) const;
  [[nodiscard]] std::int64_t take(std::int64_t bytes);
  // The row of a sequence in a state, the row of a step of a sequence in X, and the row of such a
  // step in Y.
  [[nodiscard]] std::int64_t state_row(std::int64_t direction, std::int64_t sequence) const;
  [[nodiscard]] std::int64_t input_row(std::int64_t time, std::int64_t sequence) const;
  [[nodiscard]] std::int64_t output_row(std::int64_t time, std::int64_t direction,
                                        std::int64_t sequence) const;

  RecurrentSpec spec_;
  std::int64_t states_;
  std::unique_ptr<InputProduct> input_product_;
  std::vector<Job> jobs_;
  std::int64_t workspace_ = 0;
  std::int64_t zeros_at_ = 0;  // the bias of a node without one
  std::int64_t gates_at_ = 0;
  std::int64_t input_product_at_ = 0;
};

}  // namespace qtool

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ops/onednn/onednn.h"
#include "ops/operator.h"
#include "ops/pieces.h"
#include "ops/recurrent/spec.h"

// The products of recurrent layers: in FP32 through oneDNN, on integers through the kernels of
// convolutions, where a row is a pixel.
namespace qtool {

/// The contribution of X to the gates, for all steps and directions at once.
class InputProduct {
 public:
  InputProduct() = default;
  InputProduct(const InputProduct&) = delete;
  InputProduct& operator=(const InputProduct&) = delete;
  virtual ~InputProduct() = default;

  [[nodiscard]] virtual std::int64_t workspace_bytes() const = 0;
  [[nodiscard]] virtual std::string_view kernel() const = 0;
  /// `gates`: [directions][rows of X][gates * hidden].
  virtual void run(const Operands& o, float* gates, std::byte* workspace) const = 0;
};

/// The contribution of the hidden states of some sequences to some of the gates in one step.
class HiddenProduct {
 public:
  HiddenProduct() = default;
  HiddenProduct(const HiddenProduct&) = delete;
  HiddenProduct& operator=(const HiddenProduct&) = delete;
  virtual ~HiddenProduct() = default;

  [[nodiscard]] virtual std::int64_t workspace_bytes() const = 0;
  /// The product for all steps of an execution: it multiplies the `rows` [sequences][hidden] of
  /// that moment and writes `out` [sequences][columns of the block]. One thread. All that is given
  /// must outlive the function.
  [[nodiscard]] virtual std::function<void()> bind(const Operands& o, std::int64_t direction,
                                                   const float* rows, float* out,
                                                   std::byte* workspace) const = 0;
};

std::unique_ptr<InputProduct> make_input_product(const OpContext& op, const RecurrentSpec& spec);

/// `sequences` rows of hidden states times the rows `block` of R.
std::unique_ptr<HiddenProduct> make_hidden_product(const OpContext& op, const RecurrentSpec& spec,
                                                   std::int64_t sequences, const Range64& block);

}  // namespace qtool

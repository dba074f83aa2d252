#pragma once

#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <vector>

#include "kernels/elementary/elementary.h"
#include "ops/operator.h"

namespace qtool {

/// An activation function of gates: its kind, named as in ONNX, and its two parameters.
class GateFunction {
 public:
  enum class Kind : std::uint8_t {
    kAffine,
    kElu,
    kHardSigmoid,
    kLeakyRelu,
    kRelu,
    kScaledTanh,
    kSigmoid,
    kSoftplus,
    kSoftsign,
    kTanh,
    kThresholdedRelu
  };

  GateFunction(Kind kind, float alpha, float beta) : kind_(kind), alpha_(alpha), beta_(beta) {}
  /// values[i] = f(values[i]).
  void apply(float* values, std::int64_t count) const;

 private:
  ElementaryKernel kernel_;
  Kind kind_;
  float alpha_;
  float beta_;
};

/// The activations of `directions` directions: the attribute `activations`, or `defaults` for each.
/// The functions that have a parameter alpha or beta take it from the lists activation_alpha and
/// activation_beta, in order. Throws Error(kInvalidModel) for unknown names and for a wrong number
/// of names.
std::vector<GateFunction> read_gate_functions(const OpContext& op, std::int64_t directions,
                                              std::initializer_list<std::string_view> defaults);

}  // namespace qtool

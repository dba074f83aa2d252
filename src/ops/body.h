#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "qtool/tensor/tensor.h"

namespace qtool {

/// A subgraph of a node, ready to run. Any number of threads may run it at the same time.
class Body {
 public:
  Body() = default;
  Body(const Body&) = delete;
  Body& operator=(const Body&) = delete;
  virtual ~Body() = default;

  /// `inputs`: as many as the subgraph has, in plain layout; those that were constants when it was
  /// made are not looked at. Copies the bytes of each output to the memory given for it, unless it
  /// is null; that may be the memory of an input. `workspace`: workspace_bytes(), for this run
  /// only.
  virtual void run(std::span<const TensorView> inputs, std::span<std::byte* const> outputs,
                   std::byte* workspace) const = 0;
  [[nodiscard]] virtual std::int64_t workspace_bytes() const = 0;
  /// Of one run.
  [[nodiscard]] virtual std::int64_t macs() const = 0;
};

}  // namespace qtool

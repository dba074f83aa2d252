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

  /// `inputs`: one view per input of the subgraph, in plain layout. Inputs that were constants when
  /// the body was made are not read. Copies the bytes of each output to its pointer in `outputs`,
  /// unless that is null. The pointer may be the memory of an input. `workspace`: workspace_bytes()
  /// bytes, for this run only.
  virtual void run(std::span<const TensorView> inputs, std::span<std::byte* const> outputs,
                   std::byte* workspace) const = 0;
  [[nodiscard]] virtual std::int64_t workspace_bytes() const = 0;
  /// The multiplications and additions (MACs) of one run.
  [[nodiscard]] virtual std::int64_t macs() const = 0;
};

}  // namespace qtool

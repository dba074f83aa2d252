// Runs a model on a little data, or not at all when it is not small: one execution has
// milliseconds.
#pragma once

#include <cstdint>

#include "qtool/exec/executor.h"
#include "qtool/graph/graph.h"

namespace qtool::fuzz {

inline constexpr std::int64_t kMaxElements = 1 << 12;  ///< of an input
inline constexpr std::int64_t kMaxArena = 1 << 20;     ///< bytes
inline constexpr std::int64_t kMaxMacs = 1 << 22;      ///< of all steps

/// Asks to stop from five seconds on. A small model may run for hours, and must end when it is
/// asked to.
StopCheck stop_soon();

/// A shape for every input, open extents 2. Throws Error for extents that are no shape.
InputShapes closed_shapes(const Graph& graph);

/// Compiles and runs a model on values of either sign, if it is small, and reads every byte of
/// every output. Tables for large shapes may need more memory than there is while it is compiled;
/// nothing else may.
void run_small(const Executor& executor, const InputShapes& shapes,
               const CompileOptions& options = {});

}  // namespace qtool::fuzz

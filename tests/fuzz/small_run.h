// Runs a model on a little data if the model is small, because one execution may take only
// milliseconds. Does not run any other model.
#pragma once

#include <cstdint>

#include "qtool/exec/executor.h"
#include "qtool/graph/graph.h"

namespace qtool::fuzz {

inline constexpr std::int64_t kMaxElements = 1 << 12;  ///< of an input
inline constexpr std::int64_t kMaxArena = 1 << 20;     ///< bytes
inline constexpr std::int64_t kMaxMacs = 1 << 22;      ///< of all steps

/// Asks the work on an input to stop after five seconds of processor time. Work on a small model
/// may take hours, and must end when it is asked to.
StopCheck stop_soon();

/// A shape for every input, in which open extents are 2. Throws Error if the extents form no valid
/// shape.
InputShapes closed_shapes(const Graph& graph);

/// Compiles and runs a model on values of either sign, if it is small, and reads every byte of
/// every output. Compiling may run out of memory because of tables for large shapes; then the model
/// is not run. Nothing else may run out of memory.
void run_small(const Executor& executor, const InputShapes& shapes,
               const CompileOptions& options = {});

}  // namespace qtool::fuzz

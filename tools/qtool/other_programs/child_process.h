#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/descriptor.h"

namespace qtool::tool {

/// What a program left behind.
struct ChildOutput {
  int code = 0;              ///< its exit code; 128 + the signal's number if a signal ended it
  std::string output{};      ///< what it wrote to stdout
  std::string last_error{};  ///< the last line that it wrote to stderr
};

/// The most that a child may write to stdout.
inline constexpr std::size_t kMostChildOutput = std::size_t{1} << 26;

/// Runs a program, found by PATH, without a shell. `words`: the program and its arguments. `input`:
/// a file that the program reads as stdin, from its beginning. nullopt if there is no such program.
/// The program, with those that it starts, is killed when it writes more than kMostChildOutput, and
/// Error(kInvalidArgument) is thrown; when it takes longer than `limit` (Error(kUnsupported)); and
/// when the user asks to stop (Error(kCancelled)). Throws Error(kIo) for failures of the system.
std::optional<ChildOutput> run_child(const std::vector<std::string>& words, const Descriptor& input,
                                     std::chrono::duration<double> limit);

}  // namespace qtool::tool

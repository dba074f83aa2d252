#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/partial_results.h"
#include "cli/command.h"

namespace qtool::tool {

/// --resume FILE: long work keeps its partial results in this file until all of the work is done.
class ResumeOption {
 public:
  void add_to(Command& command);
  [[nodiscard]] bool given() const { return !file_.empty(); }
  /// Declares the file as an output. Call before the work, as for all outputs.
  void declare() const;
  /// Reads the file and prints whether its results can be used. Null if the option is not given.
  /// `key`: a hash of everything that the results depend on. The caller calls
  /// PartialResults::remove() when the work is done. Throws as PartialResults().
  [[nodiscard]] std::unique_ptr<PartialResults> open(std::uint64_t key) const;

 private:
  std::string file_;
};

}  // namespace qtool::tool

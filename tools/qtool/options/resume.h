#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/partial_results.h"
#include "program/command.h"

namespace qtool::tool {

/// --resume FILE, where long work keeps what it has done until all of it is done.
class ResumeOption {
 public:
  void add_to(Command& command);
  [[nodiscard]] bool given() const { return !file_.empty(); }
  /// Declares the file. Before the work, as all outputs.
  void declare() const;
  /// Reads the file and says what of it is of use; null where the option is not given. `key`: a
  /// hash of all that the results depend on. Whoever finishes the work calls
  /// PartialResults::remove(). Throws as PartialResults().
  [[nodiscard]] std::unique_ptr<PartialResults> open(std::uint64_t key) const;

 private:
  std::string file_;
};

}  // namespace qtool::tool

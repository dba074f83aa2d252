#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace qtool {

/// What a file of partial results turned out to be.
enum class PartialFile : std::uint8_t {
  kAbsent,
  kThisWork,
  kOtherWork,  ///< written under another key: nothing of it is used, and it will be replaced
  kDamaged,    ///< cut off or changed: the same
};

/// Results of long work by name, kept in a file, so that work that was stopped can go on where it
/// was. The file is untrusted: its checksum and every size in it are checked before use, and
/// whoever reads a result still checks that it fits. Several threads may use one object.
class PartialResults {
 public:
  /// Reads what the file holds. `key`: a hash of all that the results depend on (model, table,
  /// options, samples); results under another key are not used. Throws Error(kIo) when the file
  /// cannot be read, Error(kInvalidArgument) when it is no file of partial results: such a file is
  /// never overwritten. Memory: twice the size of the file.
  PartialResults(std::filesystem::path path, std::uint64_t key);
  PartialResults(const PartialResults&) = delete;
  PartialResults& operator=(const PartialResults&) = delete;
  /// Saves what was not saved yet; errors are lost.
  ~PartialResults();

  [[nodiscard]] PartialFile found() const;
  [[nodiscard]] std::int64_t size() const;

  /// The result called `name`; nothing when it is not known.
  [[nodiscard]] std::optional<std::string> find(std::string_view name) const;
  /// Keeps a result, in place of an earlier one of that name, and saves all of them when the last
  /// time was long ago, so that saving costs a few percent of the work. Throws as save().
  void keep(std::string_view name, std::string bytes);
  /// Writes the file anew: complete or not at all. Throws Error(kIo).
  void save();
  /// Removes the file, unless it is of other work and nothing was kept: the work is done.
  void remove();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace qtool

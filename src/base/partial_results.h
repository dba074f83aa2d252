#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace qtool {

/// The state in which a file of partial results was found.
enum class PartialFile : std::uint8_t {
  kAbsent,
  kThisWork,
  kOtherWork,  ///< written under another key: not used; saving replaces it
  kDamaged,    ///< cut off or changed: not used; saving replaces it
};

/// Named results of long work, kept in a file, so that stopped work can continue later. The file is
/// untrusted: its checksum and every size in it are checked before use, and the caller must still
/// check that a result fits its work. Several threads may use one object.
class PartialResults {
 public:
  /// Reads the file. `key` is a hash of everything the results depend on (model, table, options,
  /// samples); results written under another key are not used. Throws Error(kIo) when the file
  /// cannot be read, and Error(kInvalidArgument) when it is not a file of partial results; such a
  /// file is never overwritten. Memory: twice the size of the file.
  PartialResults(std::filesystem::path path, std::uint64_t key);
  PartialResults(const PartialResults&) = delete;
  PartialResults& operator=(const PartialResults&) = delete;
  /// Saves the results that are not saved yet; errors are ignored.
  ~PartialResults();

  [[nodiscard]] PartialFile found() const;
  [[nodiscard]] std::int64_t size() const;

  /// The result called `name`; nullopt when there is none.
  [[nodiscard]] std::optional<std::string> find(std::string_view name) const;
  /// Stores a result; it replaces an earlier one of the same name. Saves all results when the last
  /// save was long ago, so that saving costs a few percent of the work. Throws the errors of
  /// save().
  void keep(std::string_view name, std::string bytes);
  /// Writes the whole file again, completely or not at all. Throws Error(kIo).
  void save();
  /// Removes the file when the work is done. A damaged file, or one of other work, stays if no
  /// result was kept.
  void remove();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace qtool

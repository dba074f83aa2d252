#include "base/partial_results.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <map>
#include <mutex>
#include <system_error>
#include <utility>

#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "qtool/base/error.h"

namespace qtool {
namespace {

using Clock = std::chrono::steady_clock;

// A file holds this line, the key, the number of results, the results, and a checksum of everything
// before it. A result is the size of its name, the number of its bytes, the name and the bytes.
// Numbers have 8 bytes, the lowest byte first.
constexpr std::string_view kBegin = "qtool partial 1\n";
constexpr std::int64_t kMaxFile = std::int64_t{1} << 32;
constexpr std::size_t kMaxName = 1U << 16;
// keep() saves after a pause of at least ten seconds and thirty times the duration of the last
// save.
constexpr Clock::duration kPause = std::chrono::seconds(10);
constexpr int kWorkPerSave = 30;

void append(std::string& to, std::uint64_t number) {
  for (int shift = 0; shift < 64; shift += 8) to.push_back(static_cast<char>(number >> shift));
}

/// Takes numbers and texts from the front of `bytes`; returns nullopt when `bytes` ends too early.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}

  std::optional<std::uint64_t> number() {
    const std::optional<std::string_view> bytes = text(sizeof(std::uint64_t));
    if (!bytes) return std::nullopt;
    std::uint64_t value = 0;
    for (std::size_t i = sizeof value; i-- > 0;) {
      value = value << 8 | static_cast<unsigned char>((*bytes)[i]);
    }
    return value;
  }

  std::optional<std::string_view> text(std::uint64_t size) {
    if (size > rest_.size()) return std::nullopt;
    const std::string_view taken = rest_.substr(0, static_cast<std::size_t>(size));
    rest_.remove_prefix(taken.size());
    return taken;
  }

  [[nodiscard]] bool is_empty() const { return rest_.empty(); }

 private:
  std::string_view rest_;
};

using Results = std::map<std::string, std::string, std::less<>>;

/// Reads the results that follow the key; returns nullopt when they are damaged.
std::optional<Results> read_results(Reader reader) {
  const std::optional<std::uint64_t> count = reader.number();
  if (!count) return std::nullopt;
  Results results;
  for (std::uint64_t i = 0; i < *count; ++i) {
    const std::optional<std::uint64_t> name_size = reader.number();
    const std::optional<std::uint64_t> size = reader.number();
    if (!name_size || !size || *name_size > kMaxName) return std::nullopt;
    const std::optional<std::string_view> name = reader.text(*name_size);
    const std::optional<std::string_view> bytes = reader.text(*size);
    if (!name || !bytes || !results.emplace(*name, *bytes).second) return std::nullopt;
  }
  return reader.is_empty() ? std::optional(std::move(results)) : std::nullopt;
}

}  // namespace

struct PartialResults::State {
  /// Writes all results, with `mutex` held.
  void save();

  std::filesystem::path path;
  std::uint64_t key = 0;
  std::mutex mutex;
  PartialFile found = PartialFile::kAbsent;
  Results results;
  bool unsaved = false;
  Clock::time_point last_save = Clock::now();
  Clock::duration last_cost{};
};

void PartialResults::State::save() {
  if (!unsaved) return;
  const Clock::time_point begin = Clock::now();
  std::string file(kBegin);
  append(file, key);
  append(file, results.size());
  for (const auto& [name, bytes] : results) {
    append(file, name.size());
    append(file, bytes.size());
    file += name;
    file += bytes;
  }
  append(file, hash_bytes(file));
  write_file(path, file);
  unsaved = false;
  found = PartialFile::kThisWork;
  last_save = Clock::now();
  last_cost = last_save - begin;
}

PartialResults::PartialResults(std::filesystem::path path, std::uint64_t key)
    : state_(std::make_unique<State>()) {
  state_->path = std::move(path);
  state_->key = key;
  std::error_code ec;
  if (!std::filesystem::exists(state_->path, ec) && !ec) return;
  const std::string file = read_file(state_->path, kMaxFile);
  const std::string_view all = file;
  if (!all.starts_with(kBegin)) {
    throw Error(ErrorCode::kInvalidArgument,
                to_text("file '", state_->path.string(),
                        "': found something else, expected partial results of qtool"));
  }
  state_->found = PartialFile::kDamaged;
  if (all.size() < kBegin.size() + sizeof(std::uint64_t)) return;
  const std::string_view checked = all.substr(0, all.size() - sizeof(std::uint64_t));
  if (Reader(all.substr(checked.size())).number() != hash_bytes(checked)) return;
  Reader reader(checked.substr(kBegin.size()));
  const std::optional<std::uint64_t> written_under = reader.number();
  if (!written_under) return;
  std::optional<Results> results = read_results(reader);
  if (!results) return;
  const bool is_ours = *written_under == key;
  state_->found = is_ours ? PartialFile::kThisWork : PartialFile::kOtherWork;
  if (is_ours) state_->results = *std::move(results);
}

PartialResults::~PartialResults() {
  try {
    save();
  } catch (...) {  // NOLINT(bugprone-empty-catch): the work is done or has failed already
  }
}

PartialFile PartialResults::found() const {
  const std::lock_guard lock(state_->mutex);
  return state_->found;
}

std::int64_t PartialResults::size() const {
  const std::lock_guard lock(state_->mutex);
  return std::ssize(state_->results);
}

std::optional<std::string> PartialResults::find(std::string_view name) const {
  const std::lock_guard lock(state_->mutex);
  const auto found = state_->results.find(name);
  return found == state_->results.end() ? std::nullopt : std::optional(found->second);
}

void PartialResults::keep(std::string_view name, std::string bytes) {
  const std::lock_guard lock(state_->mutex);
  state_->results.insert_or_assign(std::string(name.substr(0, kMaxName)), std::move(bytes));
  state_->unsaved = true;
  const Clock::duration pause = std::max(kPause, kWorkPerSave * state_->last_cost);
  if (Clock::now() - state_->last_save >= pause) state_->save();
}

void PartialResults::save() {
  const std::lock_guard lock(state_->mutex);
  state_->save();
}

void PartialResults::remove() {
  const std::lock_guard lock(state_->mutex);
  const bool is_ours = state_->found == PartialFile::kThisWork || !state_->results.empty();
  state_->results.clear();
  state_->unsaved = false;
  if (!is_ours) return;
  std::error_code ec;
  std::filesystem::remove(state_->path, ec);  // an error here is ignored: the work is done
  state_->found = PartialFile::kAbsent;
}

}  // namespace qtool

#include "samples/npz.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "qtool/base/error.h"

namespace qtool {
namespace fs = std::filesystem;
namespace {

constexpr std::int64_t kEndBytes = 22;  // size of the record at the end, without its comment
constexpr std::int64_t kMaxCommentBytes = 65535;
constexpr std::int64_t kMaxDirectoryBytes = std::int64_t{1} << 24;
constexpr std::size_t kEntryBytes = 46;  // size of a directory entry, without its texts
constexpr std::size_t kLocalBytes = 30;  // size of a member's local header, without its texts
constexpr std::int64_t kStoredMethod = 0;
constexpr std::int64_t kDeflateMethod = 8;
constexpr std::int64_t kMaxDeflated = 1032;
constexpr std::int64_t kMaxUnpackedBytes = std::int64_t{1} << 30;
constexpr std::int64_t kBeyond4GiB = 0xFFFFFFFF;

[[noreturn]] void refuse_archive(const fs::path& path, std::string_view message,
                                 ErrorCode code = ErrorCode::kInvalidArgument) {
  throw Error(code, to_text("file '", path.string(), "': ", message));
}

// Little-endian numbers of 2 or 4 bytes at `at`. All their bytes must lie within `bytes`.
std::int64_t u16(std::string_view bytes, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(bytes.at(at + i)); };
  return byte(0) | byte(1) << 8;
}
std::int64_t u32(std::string_view bytes, std::size_t at) {
  return u16(bytes, at) | u16(bytes, at + 2) << 16;
}

std::string read_text(FileBytes& file, std::int64_t position, std::int64_t size) {
  std::string text(static_cast<std::size_t>(size), '\0');
  file.read(position, std::as_writable_bytes(std::span(text)));
  return text;
}

// The directory at the end of the archive, which lists all members.
std::string read_directory(FileBytes& file, const fs::path& path) {
  const std::int64_t tail = std::min(file.size(), kEndBytes + kMaxCommentBytes);
  const std::string end = read_text(file, file.size() - tail, tail);
  const std::size_t record = end.rfind("PK\x05\x06");
  if (record == std::string::npos || end.size() - record < kEndBytes) {
    refuse_archive(path, "is not an .npz archive");
  }
  const std::int64_t size = u32(end, record + 12);
  const std::int64_t offset = u32(end, record + 16);
  if (offset == kBeyond4GiB) {
    refuse_archive(path, "is an archive beyond 4 GiB, which is not read", ErrorCode::kUnsupported);
  }
  if (size > kMaxDirectoryBytes || offset > file.size() || size > file.size() - offset) {
    refuse_archive(path, "is a corrupt archive: its directory lies outside of it");
  }
  return read_text(file, offset, size);
}

// The unpacked bytes of a compressed member.
class InflatedBytes : public ByteSource {
 public:
  InflatedBytes(std::unique_ptr<FileBytes> packed, std::int64_t size, fs::path path)
      : packed_(std::move(packed)), size_(size), path_(std::move(path)) {
    // The negative number means that the data has no zlib header.
    if (inflateInit2(&stream_, -MAX_WBITS) != Z_OK) {
      refuse_archive(path_, "found no memory to unpack it", ErrorCode::kIo);
    }
  }
  ~InflatedBytes() override { inflateEnd(&stream_); }

  [[nodiscard]] std::int64_t size() const noexcept override { return size_; }

  void read(std::int64_t position, std::span<std::byte> out) override {
    if (position < done_) {
      inflateReset(&stream_);
      stream_.avail_in = 0;
      done_ = taken_ = 0;
    }
    std::array<std::byte, 16384> skipped{};
    while (done_ < position) {
      const std::int64_t some = std::min(position - done_, std::ssize(skipped));
      unpack(std::span(skipped).first(static_cast<std::size_t>(some)));
    }
    unpack(out);
  }

 private:
  void unpack(std::span<std::byte> out) {
    constexpr std::size_t kMaxAtOnce = std::size_t{1} << 30;
    while (!out.empty()) {
      const std::span<std::byte> part = out.first(std::min(out.size(), kMaxAtOnce));
      stream_.next_out = reinterpret_cast<Bytef*>(part.data());
      stream_.avail_out = static_cast<uInt>(part.size());
      while (stream_.avail_out > 0) {
        if (stream_.avail_in == 0) refill();
        const int state = inflate(&stream_, Z_NO_FLUSH);
        if (state != Z_OK && (state != Z_STREAM_END || stream_.avail_out > 0)) {
          refuse_archive(path_,
                         "is a corrupt archive: what is compressed in it cannot be unpacked");
        }
      }
      done_ += std::ssize(part);
      out = out.subspan(part.size());
    }
  }

  void refill() {
    const std::int64_t some = std::min(packed_->size() - taken_, std::ssize(buffer_));
    if (some == 0) {
      refuse_archive(path_, "is a corrupt archive: what is compressed in it ends early");
    }
    packed_->read(taken_, std::span(buffer_).first(static_cast<std::size_t>(some)));
    taken_ += some;
    stream_.next_in = reinterpret_cast<Bytef*>(buffer_.data());
    stream_.avail_in = static_cast<uInt>(some);
  }

  std::unique_ptr<FileBytes> packed_;
  std::int64_t size_;
  fs::path path_;
  z_stream stream_{};
  std::array<std::byte, 16384> buffer_{};
  std::int64_t taken_ = 0;  // packed bytes read so far
  std::int64_t done_ = 0;   // unpacked bytes so far
};

}  // namespace

std::vector<NpzMember> npz_members(const fs::path& path) {
  FileBytes file(path);
  const std::string directory = read_directory(file, path);
  std::vector<NpzMember> members;
  std::string_view rest = directory;
  while (rest.size() >= kEntryBytes && rest.starts_with("PK\x01\x02")) {
    const auto name_bytes = static_cast<std::size_t>(u16(rest, 28));
    const auto others = static_cast<std::size_t>(u16(rest, 30) + u16(rest, 32));
    if (rest.size() - kEntryBytes < name_bytes + others) break;
    NpzMember member;
    member.name = rest.substr(kEntryBytes, name_bytes);
    member.stored = u32(rest, 20);
    member.size = u32(rest, 24);
    member.offset = u32(rest, 42);
    const std::int64_t method = u16(rest, 10);
    member.deflated = method == kDeflateMethod;
    const bool encrypted = (u16(rest, 8) & 1) != 0;
    rest.remove_prefix(kEntryBytes + name_bytes + others);
    if (!member.name.ends_with(".npy")) continue;
    member.name.resize(member.name.size() - 4);
    if (encrypted || (method != kStoredMethod && !member.deflated)) {
      refuse_archive(
          path,
          to_text("array '", member.name, "' is ", encrypted ? "encrypted" : "compressed",
                  ", expected it stored or deflated as numpy.savez does"),
          ErrorCode::kUnsupported);
    }
    if (std::max({member.stored, member.size, member.offset}) == kBeyond4GiB) {
      refuse_archive(path,
                     to_text("array '", member.name, "' lies beyond 4 GiB, which is not read"),
                     ErrorCode::kUnsupported);
    }
    // Deflate expands one byte to at most 1032 bytes.
    if (member.deflated ? member.size / kMaxDeflated > member.stored
                        : member.size != member.stored) {
      refuse_archive(path,
                     to_text("is a corrupt archive: array '", member.name, "' has two sizes"));
    }
    if (member.deflated && member.size > kMaxUnpackedBytes) {
      refuse_archive(
          path,
          to_text("array '", member.name, "' has ", member.size, " bytes unpacked, at most ",
                  kMaxUnpackedBytes, " are accepted; use .npy"),
          ErrorCode::kUnsupported);
    }
    members.push_back(std::move(member));
  }
  if (!rest.empty()) refuse_archive(path, "is a corrupt archive: its directory is broken");
  return members;
}

std::vector<std::string> npz_array_names(const fs::path& path) {
  std::vector<std::string> names;
  for (NpzMember& member : npz_members(path)) names.push_back(std::move(member.name));
  return names;
}

std::unique_ptr<ByteSource> open_member(const fs::path& path, const NpzMember& member) {
  auto file = std::make_unique<FileBytes>(path);
  constexpr auto kLocal = static_cast<std::int64_t>(kLocalBytes);
  const auto outside = [&](std::int64_t offset, std::int64_t size) {
    return offset > file->size() || size > file->size() - offset;
  };
  const auto corrupt = [&] {
    refuse_archive(path,
                   to_text("is a corrupt archive: array '", member.name, "' lies outside of it"));
  };
  if (outside(member.offset, kLocal)) corrupt();
  const std::string local = read_text(*file, member.offset, kLocal);
  if (!local.starts_with("PK\x03\x04")) corrupt();
  const std::int64_t begin = member.offset + kLocal + u16(local, 26) + u16(local, 28);
  if (outside(begin, member.stored)) corrupt();
  file->narrow(begin, member.stored);
  if (!member.deflated) return file;
  return std::make_unique<InflatedBytes>(std::move(file), member.size, path);
}

}  // namespace qtool

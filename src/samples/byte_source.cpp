#include "samples/byte_source.h"

#include <system_error>

#include "base/check.h"
#include "base/text.h"
#include "qtool/base/error.h"

namespace qtool {
namespace fs = std::filesystem;

FileBytes::FileBytes(const fs::path& path) : path_(path) {
  std::error_code ec;
  if (!fs::is_regular_file(path, ec)) {
    throw Error(ErrorCode::kIo,
                to_text("file '", path.string(),
                        "': ", fs::exists(path, ec) ? "is not a regular file" : "does not exist"));
  }
  in_.open(path, std::ios::binary);
  in_.seekg(0, std::ios::end);
  size_ = in_ ? static_cast<std::int64_t>(in_.tellg()) : -1;
  if (size_ < 0) {
    throw Error(ErrorCode::kIo, to_text("file '", path.string(), "': cannot be opened"));
  }
}

void FileBytes::narrow(std::int64_t offset, std::int64_t size) {
  QTOOL_CHECK(offset >= 0 && size >= 0 && offset <= size_ && size <= size_ - offset);
  offset_ += offset;
  size_ = size;
}

void FileBytes::read(std::int64_t position, std::span<std::byte> out) {
  QTOOL_CHECK(position >= 0 && position <= size_ && std::ssize(out) <= size_ - position);
  in_.seekg(offset_ + position);
  if (!out.empty()) in_.read(reinterpret_cast<char*>(out.data()), std::ssize(out));
  if (!in_) throw Error(ErrorCode::kIo, to_text("file '", path_.string(), "': cannot be read"));
}

}  // namespace qtool

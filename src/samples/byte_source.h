#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <span>

namespace qtool {

/// The bytes of an array file, read in pieces.
class ByteSource {
 public:
  ByteSource() = default;
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;
  virtual ~ByteSource() = default;

  /// The number of bytes, as the file states it.
  [[nodiscard]] virtual std::int64_t size() const noexcept = 0;
  /// Fills `out` with the bytes from `position` on; all of them must lie within size(). Throws
  /// Error(kIo) when they cannot be read, Error(kInvalidArgument) when they are corrupt.
  virtual void read(std::int64_t position, std::span<std::byte> out) = 0;
};

/// A regular file, or a part of one.
class FileBytes : public ByteSource {
 public:
  /// Opens the whole file. Throws Error(kIo) when it does not exist or is not a regular file.
  explicit FileBytes(const std::filesystem::path& path);
  /// Restricts the source to `size` bytes from `offset` on. All of them must lie within the file.
  void narrow(std::int64_t offset, std::int64_t size);

  [[nodiscard]] std::int64_t size() const noexcept override { return size_; }
  void read(std::int64_t position, std::span<std::byte> out) override;

 private:
  std::filesystem::path path_;
  std::ifstream in_;
  std::int64_t offset_ = 0;
  std::int64_t size_ = 0;
};

}  // namespace qtool

#include "samples/wav.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <optional>
#include <span>
#include <string>

#include "base/text.h"
#include "qtool/base/error.h"

namespace qtool {
namespace {

constexpr std::int64_t kChunkHeader = 8;

std::uint32_t little_endian(std::span<const std::byte> bytes) {
  std::uint32_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) {
    value = value << 8U | std::to_integer<std::uint32_t>(bytes[i]);
  }
  return value;
}

bool begins_with(std::span<const std::byte> bytes, std::string_view text) {
  return std::memcmp(bytes.data(), text.data(), text.size()) == 0;
}

[[noreturn]] void refuse(ErrorCode code, std::string_view what, const std::string& why) {
  throw Error(code, to_text(what, ": ", why));
}

// Reads the encoding from the chunk `fmt `, which has `size` bytes at position `at`.
WavHeader::Encoding read_format(ByteSource& bytes, std::int64_t at, std::int64_t size,
                                std::string_view what) {
  constexpr std::uint32_t kExtensible = 0xFFFE;
  std::array<std::byte, 26> head{};
  if (size < 16) {
    refuse(ErrorCode::kInvalidArgument, what,
           to_text("its format takes ", size, " bytes, expected at least 16"));
  }
  const auto read = std::min<std::int64_t>(size, std::ssize(head));
  const std::span<std::byte> all(head);
  bytes.read(at, all.first(static_cast<std::size_t>(read)));
  std::uint32_t format = little_endian(all.subspan(0, 2));
  if (format == kExtensible && size >= std::ssize(head)) format = little_endian(all.subspan(24, 2));
  const std::uint32_t channels = little_endian(all.subspan(2, 2));
  const std::uint32_t bits = little_endian(all.subspan(14, 2));
  if (channels != 1) {
    refuse(ErrorCode::kUnsupported, what, to_text("has ", channels, " channels, expected 1"));
  }
  if (format == 1 && bits == 16) return WavHeader::Encoding::kInt16;
  if (format == 3 && bits == 32) return WavHeader::Encoding::kFloat32;
  refuse(ErrorCode::kUnsupported, what,
         to_text("holds values of format ", format, " in ", bits,
                 " bits, expected 16-bit integers (format 1) or 32-bit floats (format 3)"));
}

}  // namespace

WavHeader read_wav_header(ByteSource& bytes, std::string_view what) {
  std::array<std::byte, 12> riff{};
  if (bytes.size() < std::ssize(riff)) {
    refuse(ErrorCode::kInvalidArgument, what, "is no RIFF WAVE file");
  }
  bytes.read(0, riff);
  const std::span<const std::byte> head(riff);
  if (!begins_with(head, "RIFF") || !begins_with(head.subspan(8), "WAVE")) {
    refuse(ErrorCode::kInvalidArgument, what, "is no RIFF WAVE file");
  }
  std::optional<WavHeader::Encoding> encoding;
  for (std::int64_t at = std::ssize(riff); at + kChunkHeader <= bytes.size();) {
    std::array<std::byte, kChunkHeader> chunk{};
    bytes.read(at, chunk);
    const std::span<const std::byte> name(chunk);
    const std::int64_t size = little_endian(name.subspan(4));
    at += kChunkHeader;
    if (size > bytes.size() - at) {
      refuse(ErrorCode::kInvalidArgument, what,
             to_text("a chunk of ", size, " bytes begins where ", bytes.size() - at, " are left"));
    }
    if (begins_with(name, "fmt ")) encoding = read_format(bytes, at, size, what);
    if (begins_with(name, "data")) {
      if (!encoding) refuse(ErrorCode::kInvalidArgument, what, "its values come before its format");
      WavHeader header{*encoding, 0, at};
      header.frames = size / header.bytes_per_frame();
      return header;
    }
    at += size + size % 2;
  }
  refuse(ErrorCode::kInvalidArgument, what, "holds no values");
}

std::int64_t first_frame(const AudioCut& cut, std::int64_t index) {
  return (index + 1) * cut.hop - cut.window;
}

std::vector<float> read_frames(ByteSource& bytes, const WavHeader& header, std::int64_t first,
                               std::int64_t count) {
  std::vector<float> values(static_cast<std::size_t>(count), 0.0F);
  const std::int64_t begin = std::clamp<std::int64_t>(first, 0, header.frames);
  const std::int64_t end = std::clamp<std::int64_t>(first + count, begin, header.frames);
  const std::int64_t size = header.bytes_per_frame();
  std::vector<std::byte> stored(static_cast<std::size_t>((end - begin) * size));
  bytes.read(header.data_offset + begin * size, stored);
  for (std::int64_t i = begin; i < end; ++i) {
    const std::uint32_t bits = little_endian(std::span<const std::byte>(stored).subspan(
        static_cast<std::size_t>((i - begin) * size), static_cast<std::size_t>(size)));
    values[static_cast<std::size_t>(i - first)] =
        header.encoding == WavHeader::Encoding::kFloat32
            ? std::bit_cast<float>(bits)
            : static_cast<float>(static_cast<std::int16_t>(bits)) / 32768.0F;
  }
  return values;
}

}  // namespace qtool

// The only file that uses stb_image.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "base/text.h"
#include "image/image_header.h"

namespace {

// Bytes that the running decode may still allocate. The decoder allocates the sizes that a file
// claims before it reads the data.
thread_local std::size_t bytes_left = 0;
thread_local bool wanted_more = false;
constexpr std::size_t kPrefix = 16;  // holds the size of a block and keeps malloc's alignment

std::size_t size_of_block(const void* block) {
  std::size_t size = 0;
  std::memcpy(&size, static_cast<const char*>(block) - kPrefix, sizeof size);
  return size;
}

// Zeroed, because the decoder reads tables that a corrupt file left undefined.
void* allocate(std::size_t size) {
  if (size > bytes_left) {
    wanted_more = true;
    return nullptr;
  }
  auto* block = static_cast<char*>(std::calloc(1, size + kPrefix));
  if (block == nullptr) return nullptr;
  bytes_left -= size;
  std::memcpy(block, &size, sizeof size);
  return block + kPrefix;
}

void release(void* block) {
  if (block == nullptr) return;
  bytes_left += size_of_block(block);
  std::free(static_cast<char*>(block) - kPrefix);
}

void* reallocate(void* block, std::size_t size) {
  void* larger = allocate(size);
  if (larger == nullptr || block == nullptr) return larger;
  const std::size_t old = size_of_block(block);
  std::memcpy(larger, block, old < size ? old : size);
  release(block);
  return larger;
}

}  // namespace

#define STB_IMAGE_STATIC
#define STB_IMAGE_IMPLEMENTATION
#define STBI_ONLY_JPEG
#define STBI_ONLY_PNG
#define STBI_ONLY_BMP
#define STBI_NO_STDIO
#define STBI_FAILURE_USERMSG
#define STBI_MAX_DIMENSIONS 65535
#define STBI_MALLOC(size) allocate(size)
#define STBI_REALLOC(block, size) reallocate(block, size)
#define STBI_FREE(block) release(block)
// A corrupt file must not end the program; the decoder goes on and stays inside its arrays.
#define STBI_ASSERT(condition) static_cast<void>(0)
// stb's casts contain our macros, so the compiler warns about them in spite of the system header.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wold-style-cast"
#include <stb_image.h>
#pragma GCC diagnostic pop

namespace qtool {
namespace {

// Hands the file to the decoder in pieces, to notice when it reads beyond the end: the decoder
// itself would continue with zeros.
struct Reader {
  std::string_view bytes;
  std::size_t at = 0;
  bool ended_early = false;
};

int read(void* user, char* data, int size) {
  auto& reader = *static_cast<Reader*>(user);
  const std::string_view part = reader.bytes.substr(reader.at, static_cast<std::size_t>(size));
  std::memcpy(data, part.data(), part.size());
  reader.at += part.size();
  if (part.empty() && size > 0) reader.ended_early = true;
  return static_cast<int>(part.size());
}

void skip(void* user, int count) {
  auto& reader = *static_cast<Reader*>(user);
  if (count <= 0) return;
  reader.at += std::min(static_cast<std::size_t>(count), reader.bytes.size() - reader.at);
}

int at_end(void* user) {
  const auto& reader = *static_cast<Reader*>(user);
  return reader.at == reader.bytes.size() ? 1 : 0;
}

struct Release {
  void operator()(stbi_uc* pixels) const { release(pixels); }
};

}  // namespace

Image decode_with_stb(std::string_view bytes, const ImageHeader& header, Alpha alpha) {
  const std::int64_t pixels = header.width * header.height;
  constexpr std::size_t kTables = std::size_t{1} << 20;  // memory that does not depend on the image
  const int wanted = alpha == Alpha::kKeep ? 4 : 3;
  const std::int64_t more = alpha == Alpha::kKeep ? kAlphaBytes * pixels : 0;
  bytes_left = static_cast<std::size_t>(header.decoder_bytes + more) + kTables;
  wanted_more = false;
  Reader reader{header.rewritten.empty() ? bytes : std::string_view(header.rewritten)};
  const stbi_io_callbacks callbacks{read, skip, at_end};
  int width = 0;
  int height = 0;
  int channels = 0;
  const std::unique_ptr<stbi_uc, Release> decoded(
      stbi_load_from_callbacks(&callbacks, &reader, &width, &height, &channels, wanted));
  if (reader.ended_early) fail_truncated();
  if (wanted_more) fail_image("is corrupt: it holds more than its header says");
  if (!decoded) fail_image(to_text("cannot be decoded: ", stbi_failure_reason()));
  if (width != header.width || height != header.height) {
    fail_image(to_text("decodes to ", width, "x", height, " pixels, its header says ", header.width,
                       "x", header.height));
  }
  return image_of(header.width, header.height, {decoded.get(), decoded.get() + wanted * pixels},
                  alpha);
}

}  // namespace qtool

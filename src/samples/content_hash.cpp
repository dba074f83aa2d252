#include <span>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "base/hash.h"
#include "qtool/base/error.h"
#include "qtool/samples/samples.h"

namespace qtool {
namespace {

constexpr std::int64_t kMaxImageBytes = std::int64_t{1} << 28;  // the limit of load_image()

std::uint64_t hash_of_image(const std::filesystem::path& path, std::uint64_t seed) try {
  return hash_bytes(std::string_view(read_file(path, kMaxImageBytes)), seed);
} catch (const Error&) {
  return hash_bytes("unreadable", seed);
}

}  // namespace

std::uint64_t content_hash_of(const Samples& samples) {
  std::uint64_t hash = hash_of(samples);
  std::vector<BadImage> bad;  // stays empty: tensors are never left out
  for (std::int64_t i = 0; i < samples.size(); ++i) {
    if (samples.are_images()) {
      hash = hash_of_image(samples.path(i), hash);
      continue;
    }
    const auto tensors = samples.load(i, Preprocess(), BadImages::kFail, bad);
    for (const Tensor& tensor : *tensors) {
      hash = hash_bytes({tensor.data(), static_cast<std::size_t>(tensor.bytes())}, hash);
    }
  }
  return hash;
}

}  // namespace qtool

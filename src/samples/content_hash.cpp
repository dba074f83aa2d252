#include <optional>
#include <string_view>

#include "base/hash.h"
#include "base/text.h"
#include "qtool/samples/samples.h"

namespace qtool {

std::uint64_t content_hash_of(const Samples& samples) {
  std::uint64_t hash = hash_of(samples);
  for (std::int64_t i = 0; i < samples.size(); ++i) {
    const std::optional<std::uint64_t> id = content_id(samples, i);
    hash = hash_bytes(std::string_view(id ? to_hex(*id) : "unreadable"), hash);
  }
  return hash;
}

}  // namespace qtool

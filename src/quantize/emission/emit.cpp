#include "quantize/emission/emit.h"

#include <cstddef>

#include "base/hash.h"

namespace qtool {

std::uint64_t digest(const Tensor& integers) {
  return hash_bytes(
      {reinterpret_cast<const char*>(integers.data()), static_cast<std::size_t>(integers.bytes())});
}

std::string name_stem(std::string_view name) {
  constexpr std::size_t kMax = 40;
  if (name.size() <= kMax) return std::string(name);
  name.remove_prefix(name.size() - kMax);
  const auto continues = [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; };
  // Bytes of a UTF-8 character whose first byte was cut off.
  while (!name.empty() && continues(name.front())) name.remove_prefix(1);
  return std::string(name);
}

}  // namespace qtool

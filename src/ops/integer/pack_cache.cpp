#include "ops/integer/pack_cache.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include "base/hash.h"
#include "base/text.h"

namespace qtool {
namespace {

std::span<const std::byte> tensor_bytes(const Tensor& tensor) {
  return {tensor.data(), static_cast<std::size_t>(tensor.bytes())};
}

std::uint64_t hash_of(const PackSource& source) {
  std::uint64_t hash = hash_bytes(source.form);
  for (const auto& tensor : source.tensors) {
    if (tensor == nullptr) {
      hash = hash_bytes("none", hash);
      continue;
    }
    hash = hash_bytes(to_text(name_of(tensor->dtype()), tensor->shape().to_string()), hash);
    hash = hash_bytes(tensor_bytes(*tensor), hash);
  }
  return hash;
}

bool equal(const std::shared_ptr<const Tensor>& a, const std::shared_ptr<const Tensor>& b) {
  if (a == b) return true;
  if (a == nullptr || b == nullptr) return false;
  // Bits, not numbers: NaN equals itself, -0 is not 0.
  return a->dtype() == b->dtype() && a->shape() == b->shape() &&
         (a->bytes() == 0 ||
          std::memcmp(a->data(), b->data(), static_cast<std::size_t>(a->bytes())) == 0);
}

bool equal(const PackSource& a, const PackSource& b) {
  return a.form == b.form &&
         std::equal(a.tensors.begin(), a.tensors.end(), b.tensors.begin(), b.tensors.end(),
                    [](const auto& x, const auto& y) { return equal(x, y); });
}

}  // namespace

std::shared_ptr<const void> PackCache::get(PackSource source, const Make& make) {
  const std::uint64_t hash = hash_of(source);
  const std::lock_guard lock(mutex_);  // held while packing, so that nothing is packed twice
  const auto [begin, end] = entries_.equal_range(hash);
  for (auto it = begin; it != end; ++it) {
    const std::shared_ptr<const Entry> entry = it->second.lock();
    if (entry != nullptr && equal(entry->source, source)) return {entry, entry->pack.get()};
  }
  const auto added = std::make_shared<const Entry>(Entry{std::move(source), make()});
  if (entries_.size() >= sweep_at_) {
    std::erase_if(entries_, [](const auto& item) { return item.second.expired(); });
    sweep_at_ = std::max<std::size_t>(64, 2 * entries_.size());
  }
  entries_.emplace(hash, added);
  return {added, added->pack.get()};
}

std::size_t PackCache::size() const {
  const std::lock_guard lock(mutex_);
  return static_cast<std::size_t>(std::count_if(
      entries_.begin(), entries_.end(), [](const auto& item) { return !item.second.expired(); }));
}

}  // namespace qtool

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "qtool/tensor/tensor.h"

namespace qtool {

/// Everything a pack is made of: equal sources make equal packs. Names do not count, a name may
/// stand for other data in the next plan (a constant folded from a shape).
struct PackSource {
  std::string form;  ///< kind of pack, layouts of both sides, parameters
  std::vector<std::shared_ptr<const Tensor>> tensors{};  ///< null where one is left out
};

/// Weights in the form a kernel wants, shared by the plans of an executor. A pack lives as long as
/// somebody holds it; with its last plan it goes. Safe to use from several threads.
class PackCache {
 public:
  using Make = std::function<std::shared_ptr<const void>()>;

  /// The pack of `source`; `make` makes it when nobody holds one. Found by a hash of all bytes and
  /// then compared with them. Cost: 0.2 ns per byte when it is there.
  std::shared_ptr<const void> get(PackSource source, const Make& make);

  /// Packs that somebody holds.
  [[nodiscard]] std::size_t size() const;

 private:
  struct Entry {
    PackSource source;
    std::shared_ptr<const void> pack;
  };

  mutable std::mutex mutex_;
  std::unordered_multimap<std::uint64_t, std::weak_ptr<const Entry>> entries_;
  std::size_t sweep_at_ = 64;  // entries at which those of packs that are gone are dropped
};

}  // namespace qtool

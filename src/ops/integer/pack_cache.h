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

/// Everything that a pack is computed from: equal sources give equal packs. Names are ignored,
/// because a name may belong to other data in the next plan (a constant folded from a shape).
struct PackSource {
  std::string form;  ///< kind of pack, layouts of both sides, parameters
  std::vector<std::shared_ptr<const Tensor>> tensors{};  ///< null where one is left out
};

/// Weights in the form a kernel wants, shared by the plans of an executor. A pack lives as long as
/// a plan holds it. Safe to use from several threads.
class PackCache {
 public:
  using Make = std::function<std::shared_ptr<const void>()>;

  /// The pack of `source`; calls `make` when there is none. The look-up uses a hash of all bytes
  /// and then compares all bytes. Cost: 0.2 ns per byte when the pack exists.
  std::shared_ptr<const void> get(PackSource source, const Make& make);

  /// The number of packs in use.
  [[nodiscard]] std::size_t size() const;

 private:
  struct Entry {
    PackSource source;
    std::shared_ptr<const void> pack;
  };

  mutable std::mutex mutex_;
  std::unordered_multimap<std::uint64_t, std::weak_ptr<const Entry>> entries_;
  std::size_t sweep_at_ = 64;  // number of entries at which expired ones are removed
};

}  // namespace qtool

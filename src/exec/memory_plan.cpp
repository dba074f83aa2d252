#include "exec/memory_plan.h"

#include <algorithm>
#include <cstddef>
#include <map>

#include "base/memory.h"
#include "base/round_up.h"
#include "base/text.h"
#include "qtool/base/error.h"

namespace qtool {
namespace {

// The storages that have an offset, indexed by the steps during which they live.
class Placed {
 public:
  explicit Placed(const std::vector<Storage>& storages) : storages_(storages) {
    std::int32_t last = 0;
    for (const Storage& storage : storages) last = std::max(last, storage.last_step);
    while (leaves_ <= static_cast<std::size_t>(last)) leaves_ *= 2;
    spans_.resize(2 * leaves_);
  }

  void add(std::size_t index) {
    const Storage& storage = storages_[index];
    starts_[storage.first_step].push_back(index);
    // The few nodes of a segment tree that cover the steps of the storage.
    auto begin = leaves_ + static_cast<std::size_t>(storage.first_step);
    auto end = leaves_ + static_cast<std::size_t>(storage.last_step) + 1;
    for (; begin < end; begin /= 2, end /= 2) {
      if (begin % 2 == 1) spans_[begin++].push_back(index);
      if (end % 2 == 1) spans_[--end].push_back(index);
    }
  }

  // Collects the storages that live at the same time as `storage`, each once. Returns false when
  // there are more than `limit`.
  bool meeting(const Storage& storage, std::size_t limit, std::vector<std::size_t>& found) const {
    found.clear();
    const auto take = [&](const std::vector<std::size_t>& some) {
      if (some.size() > limit - found.size()) return false;
      found.insert(found.end(), some.begin(), some.end());
      return true;
    };
    for (auto node = leaves_ + static_cast<std::size_t>(storage.first_step); node > 0; node /= 2) {
      if (!take(spans_[node])) return false;
    }
    for (auto it = starts_.upper_bound(storage.first_step);
         it != starts_.end() && it->first <= storage.last_step; ++it) {
      if (!take(it->second)) return false;
    }
    return true;
  }

 private:
  const std::vector<Storage>& storages_;
  std::size_t leaves_ = 1;
  std::vector<std::vector<std::size_t>> spans_;
  std::map<std::int32_t, std::vector<std::size_t>> starts_;
};

}  // namespace

void widen_lives(const Plan::State& plan, std::vector<Storage>& storages) {
  const auto last = static_cast<std::int32_t>(plan.steps.size());
  const auto reach = [&](std::int32_t value, std::int32_t step) {
    if (value < 0) return;
    Storage& storage =
        storages[static_cast<std::size_t>(plan.values[static_cast<std::size_t>(value)].storage)];
    storage.first_step = std::min(storage.first_step, step);
    storage.last_step = std::max(storage.last_step, step);
  };
  for (std::int32_t i = 0; i < last; ++i) {
    const PlanStep& step = plan.steps[static_cast<std::size_t>(i)];
    for (const std::int32_t value : step.inputs) reach(value, i);
    for (const std::int32_t value : step.outputs) reach(value, i);
  }
  for (const std::int32_t value : plan.outputs) reach(value, last);
  for (const ProbePoint& probe : plan.probes) reach(probe.value, std::max(probe.step, 0));
}

std::int64_t assign_offsets(std::vector<Storage>& storages) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < storages.size(); ++i) {
    if (storages[i].graph_input < 0 && storages[i].constant == nullptr) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return storages[a].bytes > storages[b].bytes;
  });
  // Limits of the search for gaps: the comparisons of one storage, and of all. A storage beyond
  // them goes to the end of the arena without a search. kFewMeets are always allowed.
  constexpr std::size_t kMaxMeets = 4096;
  constexpr std::size_t kMaxMeetsOfAll = std::size_t{1} << 22;
  constexpr std::size_t kFewMeets = 64;
  std::size_t left = kMaxMeetsOfAll;
  std::int64_t total = 0;
  Placed placed(storages);
  std::vector<std::size_t> meets;
  for (const std::size_t i : order) {
    Storage& storage = storages[i];
    const std::int64_t size = align_up(storage.bytes);
    std::int64_t offset = 0;
    const std::size_t limit = std::min(kMaxMeets, std::max(kFewMeets, left));
    const bool seen = placed.meeting(storage, limit, meets);
    left -= std::min(left, meets.size());
    if (seen) {
      std::sort(meets.begin(), meets.end(), [&](std::size_t a, std::size_t b) {
        return storages[a].offset < storages[b].offset;
      });
      for (const std::size_t other : meets) {
        const Storage& o = storages[other];
        if (offset + size <= o.offset) break;
        offset = std::max(offset, o.offset + align_up(o.bytes));
      }
    } else {
      offset = total;
    }
    storage.offset = offset;
    total = std::max(total, offset + size);
    placed.add(i);
  }
  return total;
}

void require_memory(std::int64_t bytes) {
  if (bytes <= physical_memory()) return;
  throw Error(ErrorCode::kUnsupported, to_text("the activations need ", bytes,
                                               " bytes, this machine has ", physical_memory()));
}

}  // namespace qtool

#include "image/decode_budget.h"

#include <algorithm>

#include "base/memory.h"

namespace qtool {

DecodeBudget& DecodeBudget::of_process() {
  // Enough for 28 photographs of 12 megapixels.
  constexpr std::int64_t kMax = std::int64_t{1} << 31;
  static DecodeBudget budget(std::min(kMax, physical_memory() / 4));
  return budget;
}

DecodeBudget::Lease::Lease(DecodeBudget& budget, std::int64_t bytes)
    : budget_(budget), bytes_(bytes) {
  std::unique_lock lock(budget_.mutex_);
  const std::uint64_t ticket = budget_.next_ticket_++;
  budget_.changed_.wait(lock, [&] {
    const bool fits = budget_.held_ == 0 || bytes_ <= budget_.bytes_ - budget_.held_;
    return budget_.served_ == ticket && fits;
  });
  ++budget_.served_;
  budget_.held_ += bytes_;
  budget_.changed_.notify_all();
}

DecodeBudget::Lease::~Lease() {
  {
    const std::lock_guard lock(budget_.mutex_);
    budget_.held_ -= bytes_;
  }
  budget_.changed_.notify_all();
}

}  // namespace qtool

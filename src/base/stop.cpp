#include "base/stop.h"

#include <utility>

#include "base/text.h"

namespace qtool {
namespace {

thread_local const StopScope* current_scope = nullptr;

}  // namespace

StopScope::StopScope(const StopCheck& stop, std::chrono::milliseconds patience)
    : stop_(stop), outermost_(current_scope == nullptr && stop) {
  if (!outermost_) return;
  end_of_patience_ = Clock::now() + patience;
  current_scope = this;
}

StopScope::~StopScope() {
  if (outermost_) current_scope = nullptr;
}

const StopScope* StopScope::current() noexcept { return current_scope; }

const StopScope* StopScope::enter(const StopScope* scope) noexcept {
  return std::exchange(current_scope, scope);
}

void StopScope::check() const {
  if (!stop_() || Clock::now() < end_of_patience_) return;
  throw Error(ErrorCode::kCancelled, "stopped on request");
}

void report_progress(const Progress& progress, std::int64_t done, std::int64_t total,
                     std::string_view work, std::string_view items) {
  if (progress && progress(done, total) == ProgressAnswer::kStop) {
    throw Error(ErrorCode::kCancelled,
                to_text(work, " stopped after ", done, " of ", total, " ", items));
  }
}

}  // namespace qtool

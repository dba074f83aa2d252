#include "qtool/image/image_loader.h"

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

#include "qtool/base/error.h"
#include "qtool/base/parallel.h"
#include "qtool/base/text.h"
#include "qtool/image/image.h"

namespace qtool {

std::optional<Tensor> load_preprocessed(const ImageEntry& entry, const Preprocess& preprocess,
                                        BadImages policy, std::vector<BadImage>& bad) {
  // A wrong option is nobody's bad file, so it is refused before a file is blamed.
  check(preprocess);
  const std::string name = entry.path.string();
  try {
    const Image image = load_image(entry.path);
    try {
      return preprocess_image(image, preprocess);
    } catch (const Error& error) {
      throw Error(error.code(), concat("image '", name, "': ", error.what()));
    }
  } catch (const Error& error) {
    if (policy == BadImages::kFail) throw;
    bad.push_back({entry.path, error.what()});
    return std::nullopt;
  }
}

struct ImageLoader::State {
  // One decoded picture, a bad file, or the exception of its decoding; empty until then.
  struct Slot {
    bool ready = false;
    std::optional<Tensor> tensor;
    std::vector<BadImage> bad;
    std::exception_ptr error;
  };

  State(const ImageSet& set_, Preprocess preprocess_, BadImages policy_, std::int64_t ahead)
      : set(set_),
        preprocess(std::move(preprocess_)),
        policy(policy_),
        count(std::ssize(set.entries)),
        slots(static_cast<std::size_t>(ahead)) {}

  Slot& slot_of(std::int64_t index) {
    return slots[static_cast<std::size_t>(index) % slots.size()];
  }

  void work(const std::stop_token& stop) {
    std::unique_lock lock(mutex);
    while (true) {
      room.wait(lock, stop,
                [&] { return to_decode == count || to_decode < to_deliver + std::ssize(slots); });
      if (stop.stop_requested() || to_decode == count) return;
      const std::int64_t index = to_decode++;
      lock.unlock();
      Slot slot;
      slot.ready = true;
      try {
        slot.tensor = load_preprocessed(set.entries[static_cast<std::size_t>(index)], preprocess,
                                        policy, slot.bad);
      } catch (...) {
        slot.error = std::current_exception();
      }
      lock.lock();
      slot_of(index) = std::move(slot);
      done.notify_all();
    }
  }

  const ImageSet& set;
  const Preprocess preprocess;
  const BadImages policy;
  const std::int64_t count;

  std::mutex mutex;  // guards what follows
  std::condition_variable_any room;
  std::condition_variable done;
  std::vector<Slot> slots;      // picture i is in slot i % size
  std::int64_t to_decode = 0;   // the next picture that a thread takes
  std::int64_t to_deliver = 0;  // the next picture that next() looks at
  std::vector<BadImage> bad;
  std::exception_ptr failure;
  std::vector<std::jthread> threads;  // last: they end before what they use
};

ImageLoader::ImageLoader(const ImageSet& set, Preprocess preprocess, BadImages policy, int threads,
                         std::int64_t ahead) {
  check(preprocess);
  const std::int64_t workers = std::min<std::int64_t>(resolve_threads(threads), ahead);
  if (ahead < 1) {
    throw Error(ErrorCode::kUsage, concat("images ahead: found ", ahead, ", expected 1 or more"));
  }
  const auto count = std::max<std::int64_t>(1, std::ssize(set.entries));
  state_ = std::make_unique<State>(set, std::move(preprocess), policy, std::min(ahead, count));
  for (std::int64_t i = 0; i < std::min(workers, count); ++i) {
    state_->threads.emplace_back(
        [state = state_.get()](const std::stop_token& stop) { state->work(stop); });
  }
}

ImageLoader::~ImageLoader() = default;

std::optional<LoadedImage> ImageLoader::next() {
  State& state = *state_;
  std::unique_lock lock(state.mutex);
  while (true) {
    // Other consumers may take the picture that this one waited for, so the index is read anew.
    state.done.wait(lock, [&] {
      return state.failure || state.to_deliver == state.count ||
             state.slot_of(state.to_deliver).ready;
    });
    if (state.failure) std::rethrow_exception(state.failure);
    if (state.to_deliver == state.count) return std::nullopt;
    const std::int64_t index = state.to_deliver++;
    State::Slot slot = std::exchange(state.slot_of(index), {});
    if (slot.error) state.failure = slot.error;
    state.bad.insert(state.bad.end(), slot.bad.begin(), slot.bad.end());
    state.room.notify_one();
    // The consumers that wait for the last picture or a failure have nothing else to wake them.
    if (state.failure || state.to_deliver == state.count) state.done.notify_all();
    if (slot.tensor) {
      const std::int64_t label = state.set.entries[static_cast<std::size_t>(index)].label;
      return LoadedImage{index, label, std::move(*slot.tensor)};
    }
  }
}

std::vector<BadImage> ImageLoader::bad() const {
  const std::lock_guard lock(state_->mutex);
  return state_->bad;
}

}  // namespace qtool

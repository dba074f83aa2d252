#include "qtool/samples/samples.h"

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "image/keep_spread.h"
#include "qtool/base/error.h"

namespace qtool {

/// Preprocessed images by path.
class KeptImages {
 public:
  /// A copy; nothing if the image is not kept with this preprocessing.
  [[nodiscard]] std::optional<Tensor> find(const std::filesystem::path& path,
                                           const Preprocess& preprocess) {
    std::shared_ptr<const Tensor> image;
    {
      const std::lock_guard lock(mutex_);
      const auto found = images_.find(path);
      if (found == images_.end() || found->second.image == nullptr) return std::nullopt;
      if (!(found->second.preprocess == preprocess)) return std::nullopt;
      image = found->second.image;
    }
    return image->clone();
  }

  /// Keeps a copy if there is room for it and no other of the same path.
  void add(const std::filesystem::path& path, const Preprocess& preprocess, const Tensor& image) {
    {
      const std::lock_guard lock(mutex_);
      if (image.bytes() > bytes_left_ || !images_.try_emplace(path).second) return;
      bytes_left_ -= image.bytes();
    }
    try {
      Kept kept{preprocess, std::make_shared<const Tensor>(image.clone())};
      const std::lock_guard lock(mutex_);
      images_[path] = std::move(kept);
    } catch (const Error&) {
      // There is no memory for a copy. It will be decoded again.
    }
  }

 private:
  struct Kept {
    Preprocess preprocess;
    std::shared_ptr<const Tensor> image;
  };

  std::mutex mutex_;
  std::int64_t bytes_left_ = kMostKeptBytes;
  std::map<std::filesystem::path, Kept> images_;  // without an image while it is being copied
};

Samples::Samples(ImageSet images) : set_(std::move(images)) {}
Samples::Samples(TensorSet tensors) : set_(std::move(tensors)) {}

std::int64_t Samples::size() const noexcept {
  return std::visit([](const auto& set) { return std::ssize(set.entries); }, set_);
}

bool Samples::are_images() const noexcept { return std::holds_alternative<ImageSet>(set_); }

std::size_t Samples::inputs() const noexcept {
  const auto* tensors = std::get_if<TensorSet>(&set_);
  return tensors == nullptr ? 1 : tensors->inputs.size();
}

const std::vector<StateFeed>& Samples::states() const noexcept {
  static const std::vector<StateFeed> none;
  const auto* tensors = std::get_if<TensorSet>(&set_);
  return tensors == nullptr ? none : tensors->states;
}

bool Samples::begins(std::int64_t i) const {
  const auto* tensors = std::get_if<TensorSet>(&set_);
  if (tensors == nullptr || i == 0) return true;
  const TensorSet::Entry& entry = tensors->entries.at(static_cast<std::size_t>(i));
  const TensorSet::Entry& before = tensors->entries.at(static_cast<std::size_t>(i - 1));
  return entry.row != before.row || entry.index != before.index + 1;
}

std::string_view Samples::noun() const noexcept { return are_images() ? "image" : "sample"; }

std::filesystem::path Samples::path(std::int64_t i) const {
  const auto at = static_cast<std::size_t>(i);
  if (const auto* images = std::get_if<ImageSet>(&set_)) return images->entries.at(at).path;
  const auto& tensors = std::get<TensorSet>(set_);
  return path_of(tensors, tensors.entries.at(at));
}

std::int64_t Samples::label(std::int64_t i) const {
  const auto* images = std::get_if<ImageSet>(&set_);
  return images == nullptr ? -1 : images->entries.at(static_cast<std::size_t>(i)).label;
}

const std::vector<std::string>& Samples::class_names() const noexcept {
  static const std::vector<std::string> none;
  const auto* images = std::get_if<ImageSet>(&set_);
  return images == nullptr ? none : images->class_names;
}

const PassedOver& Samples::passed_over() const noexcept {
  static const PassedOver none;
  const auto* images = std::get_if<ImageSet>(&set_);
  return images == nullptr ? none : images->passed_over;
}

bool Samples::names_given() const noexcept {
  const auto* images = std::get_if<ImageSet>(&set_);
  return images != nullptr && images->names_given;
}

Samples Samples::part(std::int64_t first, std::int64_t parts) const {
  Samples some = *this;
  std::visit(
      [&](auto& set) {
        if (!states().empty()) {  // a sequence has no gaps
          const auto at = [&](std::int64_t part) {
            return set.entries.begin() + size() * part / parts;
          };
          set.entries.erase(at(first + 1), set.entries.end());
          set.entries.erase(set.entries.begin(), at(first));
          return;
        }
        std::size_t kept = 0;
        for (std::int64_t i = first; i < size(); i += parts) {
          set.entries[kept++] = set.entries[static_cast<std::size_t>(i)];
        }
        set.entries.resize(kept);
      },
      some.set_);
  return some;
}

Samples Samples::all_but_part(std::int64_t first, std::int64_t parts) const {
  Samples rest = *this;
  std::visit(
      [&](auto& set) {
        const bool in_sequence = !states().empty();
        const std::int64_t begin = size() * first / parts;
        const std::int64_t end = size() * (first + 1) / parts;
        std::int64_t i = 0;
        std::erase_if(set.entries, [&](const auto&) {
          const std::int64_t entry = i++;
          return in_sequence ? entry >= begin && entry < end : entry % parts == first;
        });
      },
      rest.set_);
  return rest;
}

Samples Samples::spread(std::int64_t count) const {
  Samples some = *this;
  std::visit(
      [&](auto& set) {
        if (states().empty()) return keep_spread(set.entries, count);
        set.entries.resize(static_cast<std::size_t>(std::min(count, size())));
      },
      some.set_);
  return some;
}

std::vector<Shape> Samples::shapes(std::int64_t i) const {
  std::vector<Shape> shapes;
  if (const auto* tensors = std::get_if<TensorSet>(&set_)) {
    const TensorSet::Entry& entry = tensors->entries.at(static_cast<std::size_t>(i));
    for (const SampleArray& array : tensors->rows.at(entry.row)) shapes.push_back(array.sample);
  }
  return shapes;
}

void Samples::keep() {
  if (!kept_) kept_ = std::make_shared<KeptImages>();
}

Samples Samples::unkept() const {
  Samples same = *this;
  same.kept_.reset();
  return same;
}

std::optional<std::vector<Tensor>> Samples::load(std::int64_t i, const Preprocess& preprocess,
                                                 BadImages policy,
                                                 std::vector<BadImage>& bad) const {
  const auto at = static_cast<std::size_t>(i);
  if (const auto* tensors = std::get_if<TensorSet>(&set_)) {
    return load_tensors(*tensors, tensors->entries.at(at));
  }
  const ImageEntry& entry = std::get<ImageSet>(set_).entries.at(at);
  std::optional<Tensor> image = kept_ ? kept_->find(entry.path, preprocess) : std::nullopt;
  if (!image) {
    image = load_preprocessed(entry, preprocess, policy, bad);
    if (!image) return std::nullopt;
    if (kept_) kept_->add(entry.path, preprocess, *image);
  }
  std::vector<Tensor> inputs;
  inputs.push_back(*std::move(image));
  return inputs;
}

std::uint64_t hash_of(const Samples& samples) {
  return std::visit([](const auto& set) { return hash_of(set); }, samples.set_);
}

}  // namespace qtool

#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "qtool/image/image_set.h"
#include "qtool/image/load.h"
#include "qtool/image/preprocess.h"
#include "qtool/samples/tensor_set.h"
#include "qtool/tensor/tensor.h"

namespace qtool {

/// What a network is run on, one sample at a time: images that are preprocessed, or tensors from
/// files. Whatever runs networks on many inputs takes this.
class Samples {
 public:
  Samples(ImageSet images);  // NOLINT(google-explicit-constructor): the usual samples
  explicit Samples(TensorSet tensors);

  [[nodiscard]] std::int64_t size() const noexcept;
  [[nodiscard]] bool are_images() const noexcept;
  /// Tensors of each sample.
  [[nodiscard]] std::size_t inputs() const noexcept;
  /// `image` or `sample`, for messages.
  [[nodiscard]] std::string_view noun() const noexcept;
  /// Names sample `i` in messages.
  [[nodiscard]] std::filesystem::path path(std::int64_t i) const;
  /// Class index from 0; -1 = unlabelled, as tensors always are.
  [[nodiscard]] std::int64_t label(std::int64_t i) const;
  [[nodiscard]] const std::vector<std::string>& class_names() const noexcept;

  /// Shapes of tensors of sample `i`, known without reading it; of images nothing is.
  [[nodiscard]] std::vector<Shape> shapes(std::int64_t i) const;

  /// Every `parts`-th of them, beginning with number `first`, from 0. Parts of one list have no
  /// sample in common, and each holds of every class what the others do if the list is sorted by
  /// class.
  [[nodiscard]] Samples part(std::int64_t first, std::int64_t parts) const;

  /// `count` of them, at most all, spread evenly.
  [[nodiscard]] Samples spread(std::int64_t count) const;

  /// The tensors of sample `i`, one for each input of the network. An image goes through
  /// `preprocess`; one that is not usable is left out and noted, or ends the work, see
  /// load_preprocessed(). Tensors are fed as they are, and throw as load_tensors(). May be called
  /// by several threads at once.
  [[nodiscard]] std::optional<std::vector<Tensor>> load(std::int64_t i,
                                                        const Preprocess& preprocess,
                                                        BadImages policy,
                                                        std::vector<BadImage>& bad) const;

  friend std::uint64_t hash_of(const Samples& samples);

 private:
  std::variant<ImageSet, TensorSet> set_;
};

/// The fingerprint of the list, for provenance.
std::uint64_t hash_of(const Samples& samples);

}  // namespace qtool

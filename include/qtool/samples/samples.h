#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "qtool/image/image.h"
#include "qtool/image/preprocess.h"
#include "qtool/tensor/tensor.h"

namespace qtool {

class Graph;

/// What a network declares of one of its inputs.
struct InputSpec {
  std::string name;
  DType dtype = DType::kFloat32;  ///< where the network does not say
  /// None: of any rank. An extent that is left open is none.
  std::optional<std::vector<std::optional<std::int64_t>>> extents;
};

/// The inputs of a network in their order.
std::vector<InputSpec> input_specs(const Graph& graph);

/// The declared extents for messages: `[1, ?, 64]`, or `any shape`.
std::string shape_text(const InputSpec& spec);

/// Whether a tensor of these extents can be fed to the input.
bool accepts(const InputSpec& spec, const std::vector<std::int64_t>& dims);

/// How an audio file is cut into samples. Each has `window` values and begins `hop` values after
/// the one before; it ends with `hop` new ones, so that the first begins with window - hop zeros.
/// The last is filled up with zeros.
struct AudioCut {
  std::int64_t window = 0;  ///< 0: the input's last extent, or the whole file where that is open
  std::int64_t hop = 0;     ///< 1 to `window`; 0: the window
};

/// An input that is fed with an output of the run on the sample before, and with zeros in the first
/// sample of each file.
struct StateFeed {
  std::string input;
  std::string output;
};

/// How list_tensors() reads files.
struct TensorReading {
  AudioCut audio{};
  std::vector<StateFeed> states{};  ///< these inputs come from no file
};

/// An array of samples of one input in a file.
struct SampleArray {
  std::filesystem::path path;
  std::string member;      ///< of an .npz archive; empty for other files
  std::int64_t count = 1;  ///< samples in it, one behind the other
  Shape sample;            ///< of one, as the network takes it
};

/// Samples for a network in files of tensors: .npy, .npz, .pb (ONNX's TensorProto), .bin and .raw
/// (elements as they are in memory), and .wav (one channel, 16-bit integers as multiples of 2^-15,
/// or float32). In a fixed order.
struct TensorSet {
  struct Entry {
    std::size_t row = 0;     ///< in `rows`
    std::int64_t index = 0;  ///< in arrays of more than one sample
  };
  std::filesystem::path root;  ///< the folder, or that of the list file
  std::vector<InputSpec> inputs;
  AudioCut audio;
  std::vector<StateFeed> states;
  /// Arrays that belong together, one per input; that of a state has no path and holds zeros.
  std::vector<std::vector<SampleArray>> rows;
  std::vector<Entry> entries;  ///< one per sample
};

inline constexpr std::int64_t kMaxSamples = std::int64_t{1} << 22;

/// The samples in `source`, for a network with these inputs:
/// - one file: an array for the only input, or an .npz archive with an array for each input, under
///   its name;
/// - a folder of such files, in the order of their names; other files are left out;
/// - a folder with a folder for each input, under its name; files of one name, whatever their
///   ending, belong together;
/// - a folder with `input_0.pb`, `input_1.pb` ... for the inputs in their order, or a folder of
///   such folders: the data sets of ONNX's own tests;
/// - a list file `.jsonl`: in each line an object that names a file for each input, relative to the
///   list: {"ids": "a/ids.npy", "mask": "a/mask.npy"}.
/// An array has the input's shape, or one axis more in front: the samples. Where the input's first
/// extent is 1, or is open and not the only one, that axis counts samples too; it may also be
/// missing. Arrays that belong together have equally many samples, or one for all. With `limit` > 0
/// and more samples, entry i is sample trunc(i * count / limit).
/// Reads the headers of all files. Throws Error(kIo) when there is nothing to read,
/// Error(kInvalidArgument) naming the file that is corrupt, Error(kMismatch) naming file and input
/// where shape or number differ, Error(kUnsupported) for element types and orders that are not
/// read, Error(kUsage) for a list without the inputs, more than kMaxSamples samples or a negative
/// `limit`, a state that is no input, has an open extent besides the first or is not float32, and a
/// hop or window outside its domain.
TensorSet list_tensors(const std::filesystem::path& source, std::vector<InputSpec> inputs,
                       std::int64_t limit = 0, TensorReading reading = {});

/// The tensors of a sample, one for each input. Floats become the input's float type, integers its
/// integer type where all values fit; others are not converted. Throws as list_tensors() does, and
/// Error(kMismatch) when a file has changed since. Cost: reads these elements only, all before them
/// where they are compressed, the whole file of a TensorProto or in Fortran order.
std::vector<Tensor> load_tensors(const TensorSet& set, const TensorSet::Entry& entry);

/// The file of a sample's first input, with its index where the file has several: `x.npy[3]`.
std::filesystem::path path_of(const TensorSet& set, const TensorSet::Entry& entry);

/// A fingerprint for provenance: XXH64 over relative paths, file sizes and indices, in order.
std::uint64_t hash_of(const TensorSet& set);

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
  /// The inputs that follow from the run before: samples then must be run in their order. load()
  /// gives zeros for them.
  [[nodiscard]] const std::vector<StateFeed>& states() const noexcept;
  /// Whether sample `i` is the first one of its file, where states begin with zeros.
  [[nodiscard]] bool begins(std::int64_t i) const;
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
  /// class. Where there are states, parts are stretches.
  [[nodiscard]] Samples part(std::int64_t first, std::int64_t parts) const;

  /// `count` of them, at most all, spread evenly; the first ones where there are states.
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

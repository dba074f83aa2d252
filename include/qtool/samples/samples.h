#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "qtool/base/progress.h"
#include "qtool/image/image.h"
#include "qtool/image/preprocess.h"
#include "qtool/tensor/tensor.h"

namespace qtool {

class Graph;

/// The declaration of one input of a network.
struct InputSpec {
  std::string name;
  DType dtype = DType::kFloat32;  ///< float32 if the network declares no type
  /// The declared extents; std::nullopt if any rank is accepted. An open extent is std::nullopt.
  std::optional<std::vector<std::optional<std::int64_t>>> extents;
};

/// The inputs of a network in their order.
std::vector<InputSpec> input_specs(const Graph& graph);

/// The declared extents for messages: `[1, ?, 64]`, or `any shape`.
std::string shape_text(const InputSpec& spec);

/// Whether a tensor of these extents can be fed to the input.
bool accepts(const InputSpec& spec, const std::vector<std::int64_t>& dims);

/// How an audio file is cut into samples. Each sample has `window` values and begins `hop` values
/// after the sample before, so that its last `hop` values are new. The first sample therefore
/// begins with window - hop zeros. The last sample is filled up with zeros.
struct AudioCut {
  std::int64_t window = 0;  ///< 0: the input's last extent, or the whole file if that is open
  std::int64_t hop = 0;     ///< 1 to `window`; 0: the window
};

/// An input that receives an output of the run on the previous sample. For the first sample of each
/// file it receives zeros.
struct StateFeed {
  std::string input;
  std::string output;
};

/// How list_tensors() reads files.
struct TensorReading {
  AudioCut audio{};
  std::vector<StateFeed> states{};  ///< these inputs are not read from files
};

/// An array in a file that holds samples of one input.
struct SampleArray {
  std::filesystem::path path;
  std::string member;      ///< the array's name in an .npz archive; empty for other files
  std::int64_t count = 1;  ///< number of samples in it, one after the other
  Shape sample;            ///< shape of one sample, as the network takes it
};

/// Samples for a network in files of tensors, in a fixed order. The files are .npy, .npz, .pb
/// (ONNX's TensorProto), .bin and .raw (elements as they are in memory), and .wav (one channel,
/// 16-bit integers as multiples of 2^-15, or float32).
struct TensorSet {
  struct Entry {
    std::size_t row = 0;     ///< index in `rows`
    std::int64_t index = 0;  ///< sample number in arrays with several samples
  };
  std::filesystem::path root;  ///< the given folder, or the folder of the given file
  std::vector<InputSpec> inputs;
  AudioCut audio;
  std::vector<StateFeed> states;
  /// Arrays that belong together, one per input. The array of a state has no path and stands for
  /// zeros.
  std::vector<std::vector<SampleArray>> rows;
  std::vector<Entry> entries;  ///< one per sample
};

inline constexpr std::int64_t kMaxSamples = std::int64_t{1} << 22;

/// The samples in `source`, for a network with these inputs:
/// - one file: an array for the only input, or an .npz archive with an array for each input, which
///   has the name of the input;
/// - a folder of such files, in the order of their names; other files are left out;
/// - a folder with a folder for each input, which has the name of the input; files with the same
///   name, whatever their extension, belong together;
/// - a folder with `input_0.pb`, `input_1.pb` ... for the inputs in their order, or a folder of
///   such folders: the data sets of ONNX's own tests;
/// - a list file `.jsonl`: in each line an object that names a file for each input, relative to the
///   list: {"ids": "a/ids.npy", "mask": "a/mask.npy"}.
/// An array has the input's shape, or one more axis in front that counts samples. If the input's
/// first extent is 1, or is open and not the only extent, that axis of the array counts samples as
/// well, and the array may also lack it. Arrays that belong together have the same number of
/// samples; an array with one sample is used for all of them. With `limit` > 0 and more samples
/// than that, entry i is sample trunc(i * count / limit); with states, it is sample i.
/// Reads the headers of all files. Throws Error(kIo) when there is nothing to read,
/// Error(kInvalidArgument) that names a corrupt file, Error(kMismatch) that names file and input if
/// a shape or a number of samples differs, and Error(kUnsupported) for element types and byte
/// orders that are not supported. Throws Error(kUsage) for a list without the inputs, more than
/// kMaxSamples samples, a negative `limit`, a hop or window outside its range, and a state that is
/// not an input, is not float32, has an unknown rank or has more than one open extent.
TensorSet list_tensors(const std::filesystem::path& source, std::vector<InputSpec> inputs,
                       std::int64_t limit = 0, TensorReading reading = {});

/// The tensors of a sample, one for each input. Floats become float32, and integers become the
/// integer type of the input if all values fit; other conversions throw Error(kMismatch). Throws as
/// list_tensors() does, and Error(kMismatch) when a file has changed since it was listed. Cost:
/// reads only these elements. If the array is compressed, it also reads all elements before them. A
/// TensorProto or an array in Fortran order is read as a whole.
std::vector<Tensor> load_tensors(const TensorSet& set, const TensorSet::Entry& entry);

/// The file of a sample's first input that is not a state. If there are several samples in its
/// files, the index of the sample follows: `x.npy[3]`.
std::filesystem::path path_of(const TensorSet& set, const TensorSet::Entry& entry);

/// A fingerprint for provenance: XXH64 over relative paths, file sizes and indices, in order.
std::uint64_t hash_of(const TensorSet& set);

class KeptImages;

/// The most bytes of preprocessed images that Samples::keep() keeps.
inline constexpr std::int64_t kMostKeptBytes = std::int64_t{128} << 20;

/// The samples on which a network is run, one at a time: images that are preprocessed, or tensors
/// from files. All functions that run a network on many samples take this type.
class Samples {
 public:
  Samples(ImageSet images);  // NOLINT(google-explicit-constructor): the usual samples
  explicit Samples(TensorSet tensors);

  [[nodiscard]] std::int64_t size() const noexcept;
  [[nodiscard]] bool are_images() const noexcept;
  /// The number of tensors of each sample.
  [[nodiscard]] std::size_t inputs() const noexcept;
  /// The inputs that receive an output of the previous run. If there are any, samples must be run
  /// in their order. load() gives zeros for these inputs.
  [[nodiscard]] const std::vector<StateFeed>& states() const noexcept;
  /// Whether sample `i` is the first sample of its file. States begin with zeros there.
  [[nodiscard]] bool begins(std::int64_t i) const;
  /// `image` or `sample`, for messages.
  [[nodiscard]] std::string_view noun() const noexcept;
  /// Names sample `i` in messages.
  [[nodiscard]] std::filesystem::path path(std::int64_t i) const;
  /// The class index of sample `i`, from 0; -1 if it has no label. Tensors never have a label.
  [[nodiscard]] std::int64_t label(std::int64_t i) const;
  [[nodiscard]] const std::vector<std::string>& class_names() const noexcept;
  /// The pictures beside the images that are not read. Part and spread samples have those of the
  /// whole list; tensors have none.
  [[nodiscard]] const PassedOver& passed_over() const noexcept;
  /// Whether class_names() are a list that the caller gave, see ImageSet.
  [[nodiscard]] bool names_given() const noexcept;

  /// The shapes of the tensors of sample `i`, without reading it. Empty for images, whose shapes
  /// are not known in advance.
  [[nodiscard]] std::vector<Shape> shapes(std::int64_t i) const;

  /// Every `parts`-th sample, beginning with sample `first`, counted from 0. The parts of a list
  /// have no sample in common. If the list is sorted by class, all parts hold about the same number
  /// of samples of each class. If there are states, each part is a contiguous range of samples
  /// instead.
  [[nodiscard]] Samples part(std::int64_t first, std::int64_t parts) const;
  /// The samples that part(first, parts) does not have, in the order of the list.
  [[nodiscard]] Samples all_but_part(std::int64_t first, std::int64_t parts) const;

  /// `count` samples, spread evenly over the list, or all samples if there are fewer. If there are
  /// states, the first `count` samples.
  [[nodiscard]] Samples spread(std::int64_t count) const;

  /// From now on, load() keeps the preprocessed images in memory while they take at most
  /// kMostKeptBytes together, for callers that run the same images several times. Copies and parts
  /// that are made afterwards share them. Each file is kept with the first preprocessing that it is
  /// loaded with; changes of the file are not noticed then. Cost: a copy per load.
  void keep();
  /// The same samples, of which none are kept.
  [[nodiscard]] Samples unkept() const;

  /// The tensors of sample `i`, one for each input of the network. An image is preprocessed with
  /// `preprocess`. An unusable image is added to `bad` and the result is std::nullopt, or its error
  /// is thrown; `policy` decides, see load_preprocessed(). Tensors are not preprocessed; throws as
  /// load_tensors() does. Several threads may call this at the same time.
  [[nodiscard]] std::optional<std::vector<Tensor>> load(std::int64_t i,
                                                        const Preprocess& preprocess,
                                                        BadImages policy,
                                                        std::vector<BadImage>& bad) const;

  friend std::uint64_t hash_of(const Samples& samples);

 private:
  std::variant<ImageSet, TensorSet> set_;
  std::shared_ptr<KeptImages> kept_;  ///< null: none are kept
};

/// The fingerprint of the list, for provenance.
std::uint64_t hash_of(const Samples& samples);

/// A fingerprint of the list of samples and of their contents: the bytes of images and the values
/// of tensors. It detects that stored results belong to files that have changed since. Cost: reads
/// all samples once. A sample that cannot be read is hashed as unreadable.
std::uint64_t content_hash_of(const Samples& samples);

/// The most samples of a set that are told apart. A table of more samples does not name them.
inline constexpr std::int64_t kMaxImageIds = 100'000;

/// Identifies the content of a sample of tensors: XXH64 of their values, as the network takes them.
std::uint64_t content_id(std::span<const Tensor> sample) noexcept;

/// Identifies the content of sample `i`, whatever its file is called: XXH64 of the bytes of an
/// image file, or content_id() of the tensors. std::nullopt if it cannot be read. Cost: reads the
/// file, which must be no larger than load_image() allows.
std::optional<std::uint64_t> content_id(const Samples& samples, std::int64_t i);

/// content_id() of every sample, in their order. `threads`: 0 = all available. The result does not
/// depend on it. Throws Error(kCancelled).
std::vector<std::optional<std::uint64_t>> content_ids(const Samples& samples, int threads = 0);

/// How many samples of a set are copies of samples of another set.
struct Overlap {
  std::string noun = "image";  ///< word for a sample, see Samples::noun()
  std::int64_t samples = 0;    ///< samples of the set that could be read
  std::int64_t common = 0;     ///< those among them that are in the other set, too
  friend bool operator==(const Overlap&, const Overlap&) = default;
};

/// The overlap of `samples` with a set of the contents `ids`, which are sorted.
/// CalibrationTable::image_ids are such contents. std::nullopt if `ids` is empty: that set is not
/// known. `stop` is asked for every sample. Throws Error(kCancelled). Cost: that of content_ids().
std::optional<Overlap> overlap_of(std::span<const std::uint64_t> ids, const Samples& samples,
                                  int threads = 0, const StopCheck& stop = {});

}  // namespace qtool

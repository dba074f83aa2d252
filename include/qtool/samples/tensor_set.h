#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "qtool/samples/input_spec.h"
#include "qtool/tensor/tensor.h"

namespace qtool {

/// An array of samples of one input in a file.
struct SampleArray {
  std::filesystem::path path;
  std::string member;      ///< of an .npz archive; empty for other files
  std::int64_t count = 1;  ///< samples in it, one behind the other
  Shape sample;            ///< of one, as the network takes it
};

/// Samples for a network in files of tensors: .npy, .npz, .pb (ONNX's TensorProto), .bin and .raw
/// (elements as they are in memory). In a fixed order.
struct TensorSet {
  struct Entry {
    std::size_t row = 0;     ///< in `rows`
    std::int64_t index = 0;  ///< in arrays of more than one sample
  };
  std::filesystem::path root;  ///< the folder, or that of the list file
  std::vector<InputSpec> inputs;
  std::vector<std::vector<SampleArray>> rows;  ///< arrays that belong together, one per input
  std::vector<Entry> entries;                  ///< one per sample
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
/// `limit`.
TensorSet list_tensors(const std::filesystem::path& source, std::vector<InputSpec> inputs,
                       std::int64_t limit = 0);

/// The tensors of a sample, one for each input. Floats become the input's float type, integers its
/// integer type where all values fit; others are not converted. Throws as list_tensors() does, and
/// Error(kMismatch) when a file has changed since. Cost: reads these elements only, all before them
/// where they are compressed, the whole file of a TensorProto or in Fortran order.
std::vector<Tensor> load_tensors(const TensorSet& set, const TensorSet::Entry& entry);

/// The file of a sample's first input, with its index where the file has several: `x.npy[3]`.
std::filesystem::path path_of(const TensorSet& set, const TensorSet::Entry& entry);

/// A fingerprint for provenance: XXH64 over relative paths, file sizes and indices, in order.
std::uint64_t hash_of(const TensorSet& set);

}  // namespace qtool

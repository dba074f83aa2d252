#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "qtool/samples/samples.h"
#include "qtool/tensor/tensor.h"
#include "samples/byte_source.h"
#include "samples/npy.h"
#include "samples/wav.h"

namespace qtool {

/// The format of a file that holds arrays.
enum class ArrayKind : std::uint8_t { kNpy, kNpz, kProto, kRaw, kWav };

/// The format of a file, from its file name extension; std::nullopt for files that hold no arrays.
std::optional<ArrayKind> array_kind(const std::filesystem::path& path);

/// One array of a file. Opening it reads only the header; a TensorProto is read as a whole.
class ArrayFile {
 public:
  /// `member` names the array of an .npz archive. `spec` gives the type and shape of files without
  /// a header. Such a file holds one or more samples one after the other; their number follows from
  /// the file's size. An open first extent counts as 1; if it is the only extent, the whole file is
  /// one sample. `audio` cuts a .wav file into samples one after the other if the rank of the input
  /// is known. Throws as list_tensors() does.
  ArrayFile(const std::filesystem::path& path, ArrayKind kind, const std::string& member,
            const InputSpec& spec, const AudioCut& audio = {});

  [[nodiscard]] const ArrayHeader& header() const noexcept { return header_; }
  /// Reads the elements from `first` on into a tensor of `shape`. All of them must lie within the
  /// array.
  [[nodiscard]] Tensor read(std::int64_t first, const Shape& shape);

 private:
  void open_raw(const std::filesystem::path& path, const InputSpec& spec);
  void open_wav(const std::filesystem::path& path, const InputSpec& spec, const AudioCut& audio);

  std::string what_;  // for messages
  std::unique_ptr<ByteSource> bytes_;
  ArrayHeader header_;
  std::optional<WavHeader> wav_;
  AudioCut cut_;                 // for a .wav file, with both members set
  std::optional<Tensor> whole_;  // for a TensorProto and for an array in Fortran order
};

/// `tensor` in the element type of the input: floats become float32, integers become the integer
/// type of the input. Throws Error(kMismatch), whose message begins with `what`, for other types
/// and for integers that do not fit.
Tensor converted(Tensor tensor, const InputSpec& spec, std::string_view what);

}  // namespace qtool

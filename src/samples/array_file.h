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

/// How a file holds arrays.
enum class ArrayKind : std::uint8_t { kNpy, kNpz, kProto, kRaw, kWav };

/// By the ending of its name; nothing for files that hold none.
std::optional<ArrayKind> array_kind(const std::filesystem::path& path);

/// One array of a file. Opening it reads the header only, but for a TensorProto, which is read as a
/// whole.
class ArrayFile {
 public:
  /// `member` names the array of an .npz archive. `spec` gives type and shape to files without a
  /// header; there the first extent follows from the file's size if it is open or 1. `audio` cuts a
  /// .wav file into samples, one behind the other, where the rank is known. Throws as
  /// list_tensors() does.
  ArrayFile(const std::filesystem::path& path, ArrayKind kind, const std::string& member,
            const InputSpec& spec, const AudioCut& audio = {});

  [[nodiscard]] const ArrayHeader& header() const noexcept { return header_; }
  /// The elements from `first` on as a tensor of `shape`, all of them within the array.
  [[nodiscard]] Tensor read(std::int64_t first, const Shape& shape);

 private:
  void open_raw(const std::filesystem::path& path, const InputSpec& spec);
  void open_wav(const std::filesystem::path& path, const InputSpec& spec, const AudioCut& audio);

  std::string what_;  // for messages
  std::unique_ptr<ByteSource> bytes_;
  ArrayHeader header_;
  std::optional<WavHeader> wav_;
  AudioCut cut_;                 // of a .wav file, both members set
  std::optional<Tensor> whole_;  // of a TensorProto, and of an array in Fortran order
};

/// `tensor` in the element type of the input: floats become float32, integers the input's integers.
/// Throws Error(kMismatch) that begins with `what` for other types and for integers that do not
/// fit.
Tensor converted(Tensor tensor, const InputSpec& spec, std::string_view what);

}  // namespace qtool

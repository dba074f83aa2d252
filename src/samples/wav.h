#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "samples/byte_source.h"

namespace qtool {

/// How the values of a .wav file lie in it.
struct WavHeader {
  enum class Encoding : std::uint8_t { kInt16, kFloat32 };
  Encoding encoding = Encoding::kInt16;
  std::int64_t frames = 0;       ///< values, of the only channel
  std::int64_t data_offset = 0;  ///< bytes before the first one

  [[nodiscard]] std::int64_t bytes_per_frame() const {
    return encoding == Encoding::kInt16 ? 2 : 4;
  }
};

/// The header of a RIFF WAVE file. `what` names the file in messages. Throws
/// Error(kInvalidArgument) for bytes that are no such file or end too early, Error(kUnsupported)
/// for more than one channel and for encodings other than 16-bit integers and float32. The sampling
/// rate is not looked at: a network does not say what it takes. Source: Microsoft and IBM,
/// Multimedia Programming Interface and Data Specifications 1.0; WAVE_FORMAT_EXTENSIBLE.
WavHeader read_wav_header(ByteSource& bytes, std::string_view what);

/// `count` values from frame `first` on, in [-1, 1) where they are integers; frames before the
/// first and behind the last are 0.
std::vector<float> read_frames(ByteSource& bytes, const WavHeader& header, std::int64_t first,
                               std::int64_t count);

}  // namespace qtool

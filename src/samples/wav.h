#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "qtool/samples/samples.h"
#include "samples/byte_source.h"

namespace qtool {

/// The layout of the values in a .wav file.
struct WavHeader {
  enum class Encoding : std::uint8_t { kInt16, kFloat32 };
  Encoding encoding = Encoding::kInt16;
  std::int64_t frames = 0;       ///< number of values; there is one channel
  std::int64_t data_offset = 0;  ///< bytes before the first value

  [[nodiscard]] std::int64_t bytes_per_frame() const {
    return encoding == Encoding::kInt16 ? 2 : 4;
  }
};

/// The header of a RIFF WAVE file. `what` names the file in messages. Throws
/// Error(kInvalidArgument) for bytes that are not such a file or end too early, and
/// Error(kUnsupported) for more than one channel and for encodings other than 16-bit integers and
/// float32. The sampling rate is ignored, because a network does not state the rate that it
/// expects. Source: Microsoft and IBM, Multimedia Programming Interface and Data Specifications
/// 1.0; WAVE_FORMAT_EXTENSIBLE.
WavHeader read_wav_header(ByteSource& bytes, std::string_view what);

/// The frame at which sample `index` of a cut file begins. The first sample ends after one hop, so
/// it may begin before the file, where frames are 0.
std::int64_t first_frame(const AudioCut& cut, std::int64_t index);

/// `count` values from frame `first` on. Integers are scaled to [-1, 1). Frames before the start
/// and after the end of the file are 0.
std::vector<float> read_frames(ByteSource& bytes, const WavHeader& header, std::int64_t first,
                               std::int64_t count);

}  // namespace qtool

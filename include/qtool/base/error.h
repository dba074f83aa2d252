#pragma once

#include <stdexcept>
#include <string>

namespace qtool {

/// The kinds of errors. The code is for programs, the message for people.
enum class ErrorCode {
  kUsage,            ///< the caller's options contradict each other or name something unknown
  kIo,               ///< a file or folder cannot be read or written
  kInvalidModel,     ///< a model breaks the ONNX specification or a limit of qtool
  kInvalidImage,     ///< an image file cannot be decoded
  kInvalidTable,     ///< a calibration table cannot be parsed or does not fit the model
  kInvalidArgument,  ///< a value passed to the library is out of range
  kUnsupported,      ///< valid input that qtool cannot process
  kMismatch,         ///< two inputs that must belong together do not
  kCancelled,        ///< the progress callback asked to stop
};

/// The only exception the library throws: a code and one plain sentence that names the object,
/// what was found and what was expected.
class Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& message) : std::runtime_error(message), code_(code) {}

  [[nodiscard]] ErrorCode code() const noexcept { return code_; }

 private:
  ErrorCode code_;
};

}  // namespace qtool

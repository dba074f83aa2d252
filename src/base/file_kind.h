#pragma once

#include <string>
#include <string_view>

namespace qtool {

/// Describes a file that a reader of models, tables or images cannot use, by its first bytes. The
/// result is the end of a sentence that begins with the file's name, with advice where there is
/// any. It is empty when the kind is unknown.
///   "is a Git LFS pointer, not the file itself; run 'git lfs pull'"
/// Image files of every format are recognised too, so an image reader calls this only after its own
/// formats have failed. No ONNX model, calibration table or list begins with any of these bytes.
std::string_view recognise_foreign_file(std::string_view bytes) noexcept;

/// `text` without the byte order mark that some editors put in front of UTF-8.
std::string_view without_byte_order_mark(std::string_view text) noexcept;

}  // namespace qtool

#pragma once

#include <string>
#include <string_view>

namespace qtool {

/// Describes a file that is neither an image, a model nor a table of ours, by its first bytes: the
/// end of a sentence that begins with the file's name, with advice where there is some. Empty when
/// the kind is unknown.
///   "is a Git LFS pointer, not the file itself; run 'git lfs pull'"
/// Image files of every format are described too, so a reader of images asks only after its own
/// formats failed. No ONNX model, table or list begins like one of these.
std::string_view recognise_foreign_file(std::string_view bytes) noexcept;

/// `text` without the byte order mark that some editors put in front of UTF-8.
std::string_view without_byte_order_mark(std::string_view text) noexcept;

}  // namespace qtool

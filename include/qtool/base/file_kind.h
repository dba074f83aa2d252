#pragma once

#include <string>
#include <string_view>

namespace qtool {

/// What a file is that is neither picture, model nor table of ours, by its first bytes: the rest of
/// a sentence that begins with its name, with advice where there is some. Empty for a file that
/// nothing is known of.
///   "is a Git LFS pointer, not the file itself; run 'git lfs pull'"
/// Pictures of every format count, so a reader of pictures asks only when it knows the file is none
/// of its own. No ONNX model, table or list begins like one of these.
std::string_view recognise_foreign_file(std::string_view bytes) noexcept;

/// `text` behind the byte order mark that some editors put in front of UTF-8.
std::string_view without_byte_order_mark(std::string_view text) noexcept;

}  // namespace qtool

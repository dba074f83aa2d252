#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace qtool {

/// A field of a CSV file in the form of RFC 4180: in quotes if it holds a quote, a comma or a line
/// break. A text that a spreadsheet would take for a formula, because it begins with = + - @, a tab
/// or a carriage return, gets an apostrophe in front. Do not use this function for numbers; write
/// them unchanged.
std::string csv_text(std::string_view text);

/// A path as a field of a CSV file. A path that a spreadsheet would take for a formula gets `./` in
/// front, so that it still names the file.
std::string csv_path(const std::filesystem::path& path);

/// The fields as one record, which ends with CRLF.
std::string csv_record(std::span<const std::string> fields);

}  // namespace qtool

#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace qtool {

/// A field of a CSV file as RFC 4180 has it: in quotes where it holds a quote, a comma or a line
/// break. A text that a spreadsheet would take for a formula, because it begins with = + - @, a tab
/// or a carriage return, gets an apostrophe in front. Numbers are not texts: write them as they
/// are.
std::string csv_text(std::string_view text);

/// The same of a path. One that would be taken for a formula gets `./` in front, so that it still
/// names the file.
std::string csv_path(const std::filesystem::path& path);

/// The fields as one record, with its CRLF.
std::string csv_record(std::span<const std::string> fields);

}  // namespace qtool

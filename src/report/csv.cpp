#include "report/csv.h"

#include "base/text.h"

namespace qtool {
namespace {

bool looks_like_a_formula(std::string_view text) {
  return !text.empty() && std::string_view("=+-@\t\r").find(text.front()) != std::string_view::npos;
}

std::string in_quotes(std::string_view text) {
  if (text.find_first_of("\",\r\n") == std::string_view::npos) return std::string(text);
  std::string field = "\"";
  for (const char c : text) {
    if (c == '"') field += '"';
    field += c;
  }
  return field + '"';
}

}  // namespace

std::string csv_text(std::string_view text) {
  return in_quotes(to_text(looks_like_a_formula(text) ? "'" : "", text));
}

std::string csv_path(const std::filesystem::path& path) {
  const std::string text = path.string();
  return in_quotes(to_text(looks_like_a_formula(text) ? "./" : "", text));
}

std::string csv_record(std::span<const std::string> fields) {
  std::string record;
  for (std::size_t i = 0; i < fields.size(); ++i) record += to_text(i == 0 ? "" : ",", fields[i]);
  return record + "\r\n";
}

}  // namespace qtool

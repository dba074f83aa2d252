#pragma once

#include <string>

#include "qtool/compare/profile.h"
#include "report/text_table.h"

// The measurements of `bench`.
// Text ends with a line feed. JSON has two-space indentation and a fixed order of keys. A number
// that is not finite becomes null. Shares lie in [0, 1], and times are in seconds unless the key
// says otherwise. Tables in a text are made to fit into `width` columns; other lines may be longer.
namespace qtool {

std::string text_of(const ProfileResult& result, std::size_t width = kAnyWidth);
std::string json_of(const ProfileResult& result);

}  // namespace qtool

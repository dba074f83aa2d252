#pragma once

#include <string>

#include "qtool/compare/profile.h"
#include "report/text_table.h"

// The measurements of `bench`.
namespace qtool {

std::string text_of(const ProfileResult& result, std::size_t width = kAnyWidth);
std::string json_of(const ProfileResult& result);

}  // namespace qtool

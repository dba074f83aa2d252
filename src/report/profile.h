#pragma once

#include <string>

#include "qtool/compare/profile.h"
#include "report/text_table.h"

// The measurements of `bench`.
namespace qtool {

/// A short list has the slowest steps.
std::string text_of(const ProfileResult& result, std::size_t width = kAnyWidth,
                    ListLength length = ListLength::kFull);
std::string json_of(const ProfileResult& result);

}  // namespace qtool

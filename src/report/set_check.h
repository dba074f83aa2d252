#pragma once

#include <cstddef>
#include <string>

#include "measure/set_check.h"
#include "qtool/samples/samples.h"

namespace qtool {

/// What a check of samples found, for people: the verdict first, then at most ten lines of each
/// kind.
std::string text_of(const SetCheck& check, const Samples& samples, std::size_t width);

/// All of it.
std::string json_of(const SetCheck& check, const Samples& samples);

}  // namespace qtool

#pragma once

#include <cstdint>

namespace qtool {

/// Whether `hits` right answers on `images` images look like guessing among `classes` classes. Two
/// conditions must hold: guessing gives `hits` or more right answers with a probability above 1 %,
/// and a network half way between guessing and perfection gives `hits` or fewer with a probability
/// below 1 %. For a few images the result is always false. Cost: O(images).
bool is_near_chance(std::int64_t hits, std::int64_t images, std::int64_t classes);

}  // namespace qtool

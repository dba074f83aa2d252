// The source of random numbers for the mutator and for the generator of networks. A seed gives the
// same sequence on every machine (the distributions of the standard library differ between
// libraries).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <random>

namespace qtool::fuzz {

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}

  /// A number below `count`, which is at least 1.
  std::size_t below(std::size_t count) { return static_cast<std::size_t>(engine_() % count); }
  std::int64_t between(std::int64_t least, std::int64_t most) {
    return least + static_cast<std::int64_t>(below(static_cast<std::size_t>(most - least + 1)));
  }
  bool one_in(std::size_t count) { return below(count) == 0; }
  /// Uniform in [-1, 1).
  float real() { return static_cast<float>(engine_() >> 40U) / 8388608.0F - 1.0F; }
  template <typename List>
  const auto& pick(const List& list) {
    return *(std::begin(list) + static_cast<std::ptrdiff_t>(below(std::size(list))));
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace qtool::fuzz

#pragma once

#include <cstdlib>
#include <iostream>
#include <random>
#include <string_view>

namespace qtool::tests {

/// The seed of a random test, which is printed. It is the same in every run, so that no change
/// fails by chance. QTOOL_TEST_SEED takes another number, or `random`.
inline unsigned test_seed() {
  unsigned seed = 1;
  if (const char* text = std::getenv("QTOOL_TEST_SEED")) {
    seed = std::string_view(text) == "random"
               ? std::random_device{}()
               : static_cast<unsigned>(std::strtoul(text, nullptr, 10));
  }
  std::cout << "QTOOL_TEST_SEED=" << seed << '\n';
  return seed;
}

}  // namespace qtool::tests

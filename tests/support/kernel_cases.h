#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <iostream>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/isa.h"
#include "kernels/select.h"
#include "support/test_seed.h"

namespace qtool::tests {

inline std::mt19937 seeded_generator() { return std::mt19937(test_seed()); }

inline std::int64_t pick(std::mt19937& random, std::int64_t low, std::int64_t high) {
  return std::uniform_int_distribution<std::int64_t>(low, high)(random);
}

/// How random bytes are spread: everywhere, or over the extremes only.
enum class Spread : std::uint8_t { kUniform, kExtremes };

template <typename T>
void randomize(std::mt19937& random, Spread spread, T* data, std::size_t count) {
  constexpr int kLowest = std::is_signed_v<T> ? -128 : 0;
  std::uniform_int_distribution<int> value(kLowest, kLowest + 255);
  std::uniform_int_distribution<int> coin(0, 5);
  for (std::size_t i = 0; i < count; ++i) {
    int drawn = value(random);
    if (spread == Spread::kExtremes) drawn = coin(random) == 0 ? kLowest : kLowest + 255;
    data[i] = static_cast<T>(drawn);
  }
}

/// The kernels of a list that this machine can run; fails when a list lacks its portable row.
template <typename Functions>
std::vector<KernelRow<Functions>> runnable(std::span<const KernelRow<Functions>> rows) {
  std::vector<KernelRow<Functions>> usable;
  for (const KernelRow<Functions>& row : rows) {
    if (detect_cpu().holds(row.needs)) {
      usable.push_back(row);
    } else {
      std::cout << "not run here: " << row.name << '\n';
    }
  }
  EXPECT_FALSE(usable.empty());
  EXPECT_EQ(rows.front().name, "portable");
  return usable;
}

/// The names of the instruction sets that this machine has. QTOOL_KERNEL may force any of them.
inline std::vector<std::string> forcible_names() {
  std::vector<std::string> names;
  for (const Isa& isa : isas()) {
    if (detect_cpu().holds(isa.needs)) names.emplace_back(isa.name);
  }
  return names;
}

/// A selection of exactly the kernel row with this name.
inline KernelSelection only(std::string_view name) {
  KernelSelection selection;
  selection.name = std::string(name);
  return selection;
}

}  // namespace qtool::tests

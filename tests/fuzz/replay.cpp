// Runs a fuzz target on every file of a folder, on beginnings of it, and on mutations with a fixed
// seed, for machines without a fuzzing engine.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <random>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

using Bytes = std::vector<std::uint8_t>;

constexpr int kMutations = 300;
constexpr std::uint8_t kTelling[] = {0x00, 0x01, 0x7F, 0x80, 0xFF};

Bytes mutated(Bytes bytes, std::mt19937& random) {
  const auto place = [&] { return random() % bytes.size(); };
  for (unsigned change = 0, changes = 1 + random() % 4; change < changes && !bytes.empty();
       ++change) {
    switch (random() % 5) {
      case 0:
        bytes[place()] = static_cast<std::uint8_t>(random());
        break;
      case 1:
        bytes[place()] = kTelling[random() % std::size(kTelling)];
        break;
      case 2:
        bytes.resize(place());
        break;
      case 3:
        bytes.erase(bytes.begin() + static_cast<std::ptrdiff_t>(place()));
        break;
      default: {
        const std::size_t from = place();
        const std::size_t count = std::min<std::size_t>(bytes.size() - from, 1 + random() % 16);
        const Bytes part(bytes.begin() + static_cast<std::ptrdiff_t>(from),
                         bytes.begin() + static_cast<std::ptrdiff_t>(from + count));
        bytes.insert(bytes.begin() + static_cast<std::ptrdiff_t>(place()), part.begin(),
                     part.end());
      }
    }
  }
  return bytes;
}

}  // namespace

int main(int argc, char** argv) {
  std::size_t inputs = 0;
  for (int i = 1; i < argc; ++i) {
    std::vector<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::directory_iterator(argv[i])) {
      if (entry.is_regular_file()) files.push_back(entry.path());
    }
    std::sort(files.begin(), files.end());
    for (const auto& file : files) {
      std::ifstream stream(file, std::ios::binary);
      const Bytes bytes{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
      LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
      std::mt19937 random(7);
      for (int mutation = 0; mutation < kMutations; ++mutation) {
        const Bytes other = mutated(bytes, random);
        LLVMFuzzerTestOneInput(other.data(), other.size());
      }
      inputs += 1 + kMutations;
    }
  }
  std::cout << inputs << " inputs\n";
  return inputs > 0 ? 0 : 1;
}

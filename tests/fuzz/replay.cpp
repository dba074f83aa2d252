// Runs a fuzz target on every file of a folder and on mutations of it with a fixed seed, for
// machines without a fuzzing engine. A target that has its own mutator uses it.
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <random>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
extern "C" __attribute__((weak)) std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data,
                                                                     std::size_t size,
                                                                     std::size_t max_size,
                                                                     unsigned int seed);

namespace {

using Bytes = std::vector<std::uint8_t>;

constexpr std::size_t kMutations = 3000;  // of all files together
constexpr std::size_t kMaxBytes = 1 << 14;
constexpr unsigned kMaxSeconds = 10;          // of one input, of processor time
constexpr unsigned kMaxWait = 120;            // of one input that hangs, in seconds
constexpr long kMaxMemoryKb = long{2} << 20;  // of the process, as tools/fuzz.sh allows
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

std::mt19937& chance() {
  static std::mt19937 random(7);
  return random;
}

// The input that runs now. A signal handler should not write a file, but at that point only the
// input is left to save.
const std::uint8_t* current_data = nullptr;
std::size_t current_size = 0;

void keep_current(int signal) {
  std::ofstream("crash-input", std::ios::binary)
      .write(reinterpret_cast<const char*>(current_data),
             static_cast<std::streamsize>(current_size));
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

// Ends the process after so many seconds, processor time and wall time. 0: not at all.
void limit_time(unsigned processor, unsigned wall) {
  ::itimerval time = {};
  time.it_value.tv_sec = processor;
  ::setitimer(ITIMER_PROF, &time, nullptr);
  ::alarm(wall);
}

void run(const Bytes& bytes) {
  current_data = bytes.data();
  current_size = bytes.size();
  limit_time(kMaxSeconds, kMaxWait);
  LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
  limit_time(0, 0);
  ::rusage usage = {};
  ::getrusage(RUSAGE_SELF, &usage);
  if (usage.ru_maxrss <= kMaxMemoryKb) return;
  std::cerr << "the process takes " << usage.ru_maxrss << " KB\n";
  std::raise(SIGABRT);
}

Bytes next_mutation(const Bytes& bytes) {
  if (LLVMFuzzerCustomMutator == nullptr) return mutated(bytes, chance());
  Bytes other = bytes;
  other.resize(std::max(bytes.size(), kMaxBytes));
  other.resize(LLVMFuzzerCustomMutator(other.data(), bytes.size(), other.size(),
                                       static_cast<unsigned int>(chance()())));
  return other;
}

}  // namespace

// Replaces the function that libFuzzer offers to mutators.
extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size,
                                        std::size_t max_size) {
  const Bytes other = mutated(Bytes(data, data + size), chance());
  const std::size_t kept = std::min(other.size(), max_size);
  std::copy_n(other.begin(), kept, data);
  return kept;
}

int main(int argc, char** argv) {
  for (const int signal : {SIGABRT, SIGSEGV, SIGFPE, SIGILL, SIGALRM, SIGPROF})
    std::signal(signal, keep_current);
  std::size_t inputs = 0;
  for (int i = 1; i < argc; ++i) {
    std::vector<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::directory_iterator(argv[i])) {
      if (entry.is_regular_file()) files.push_back(entry.path());
    }
    std::sort(files.begin(), files.end());
    const std::size_t mutations = kMutations / std::max<std::size_t>(files.size(), 1) + 1;
    for (const auto& file : files) {
      std::ifstream stream(file, std::ios::binary);
      const Bytes bytes{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
      run(bytes);
      for (std::size_t mutation = 0; mutation < mutations; ++mutation) {
        run(next_mutation(bytes));
      }
      inputs += 1 + mutations;
    }
  }
  std::cout << inputs << " inputs\n";
  return inputs > 0 ? 0 : 1;
}

// Reading any bytes as a file of partial results gives an Error, or finds that the file belongs to
// this work, belongs to other work, or is damaged. The bytes are read as they are, and once more
// with the beginning and the checksum of such a file around them.
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/hash.h"
#include "base/partial_results.h"
#include "memory_file.h"
#include "qtool/base/error.h"

namespace {

void read(const std::string& bytes) {
  static const qtool::MemoryFile file;
  file.write(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  try {
    const qtool::PartialResults results(file.path(), 7);
    const bool used = results.found() == qtool::PartialFile::kThisWork;
    if (!used && results.size() > 0) std::abort();
    static_cast<void>(results.find("layer"));
  } catch (const qtool::Error& error) {
    if (error.code() == qtool::ErrorCode::kIo) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  read(bytes);
  std::string file = "qtool partial 1\n" + bytes;
  std::uint64_t hash = qtool::hash_bytes(file);
  for (int i = 0; i < 8; ++i, hash >>= 8) file.push_back(static_cast<char>(hash));
  read(file);
  return 0;
}

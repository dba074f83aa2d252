#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>

namespace qtool::tests {

/// Memory that ends (or begins) exactly at a protected page, so that an access one byte too far
/// ends the test.
class GuardedBuffer {
 public:
  enum class Side : std::uint8_t { kEnd, kBegin };

  explicit GuardedBuffer(std::size_t bytes, Side side = Side::kEnd) : bytes_(bytes) {
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    const std::size_t usable = (bytes + page - 1) / page * page;
    mapped_ = usable + 2 * page;
    void* place = ::mmap(nullptr, mapped_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (place == MAP_FAILED) throw std::bad_alloc();
    mapping_ = static_cast<std::byte*>(place);
    if (usable > 0 && ::mprotect(mapping_ + page, usable, PROT_READ | PROT_WRITE) != 0) {
      ::munmap(mapping_, mapped_);
      throw std::bad_alloc();
    }
    data_ = mapping_ + page + (side == Side::kEnd ? usable - bytes : 0);
  }
  ~GuardedBuffer() { ::munmap(mapping_, mapped_); }
  GuardedBuffer(const GuardedBuffer&) = delete;
  GuardedBuffer& operator=(const GuardedBuffer&) = delete;

  template <typename T = std::uint8_t>
  [[nodiscard]] T* data() const {
    return reinterpret_cast<T*>(data_);
  }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  void fill(unsigned char value) const { std::memset(data_, value, bytes_); }

 private:
  std::byte* mapping_ = nullptr;
  std::byte* data_ = nullptr;
  std::size_t mapped_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace qtool::tests

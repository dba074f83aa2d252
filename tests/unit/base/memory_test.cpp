#include "base/memory.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <limits>
#include <vector>

#include "base/text.h"

namespace qtool {
namespace {

namespace fs = std::filesystem;
constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max();

// A folder that the tests use as the root of the file system.
class ControlGroups : public ::testing::Test {
 protected:
  ControlGroups() : root_(fs::temp_directory_path() / to_text("qtool_memory_test.", ::getpid())) {
    fs::remove_all(root_);
  }
  ~ControlGroups() override { fs::remove_all(root_); }
  ControlGroups(const ControlGroups&) = delete;
  ControlGroups& operator=(const ControlGroups&) = delete;

  void put(const fs::path& path, const char* text) {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }

  const fs::path root_;
};

TEST_F(ControlGroups, LimitNothingWhereThereAreNone) {
  EXPECT_EQ(control_group_limit(root_), kNoLimit);
  put("proc/self/cgroup", "garbage\n0::\n");
  EXPECT_EQ(control_group_limit(root_), kNoLimit);
}

TEST_F(ControlGroups, OfVersionTwoCountTheSmallestOfTheParents) {
  put("proc/self/cgroup", "0::/system/outer/inner\n");
  put("sys/fs/cgroup/system/outer/inner/memory.max", "max\n");
  EXPECT_EQ(control_group_limit(root_), kNoLimit);
  put("sys/fs/cgroup/system/outer/memory.max", "3000000\n");
  put("sys/fs/cgroup/system/memory.max", "5000000\n");
  EXPECT_EQ(control_group_limit(root_), 3000000);
  put("sys/fs/cgroup/memory.max", "2000000\n");
  EXPECT_EQ(control_group_limit(root_), 2000000);
}

TEST_F(ControlGroups, OfVersionOneAreFoundByTheirController) {
  put("proc/self/cgroup", "5:cpu,cpuacct:/docker/1\n4:hugetlb,memory:/docker/1\n0::/docker/2\n");
  put("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  put("sys/fs/cgroup/memory/docker/1/memory.limit_in_bytes", "4000000\n");
  EXPECT_EQ(control_group_limit(root_), 4000000);
}

TEST_F(ControlGroups, OfAContainerLieAtTheMountWhateverThePathSays) {
  put("proc/self/cgroup", "4:memory:/docker/of/the/host\n");
  put("sys/fs/cgroup/memory/memory.limit_in_bytes", "7000000\n");
  EXPECT_EQ(control_group_limit(root_), 7000000);
}

TEST(PhysicalMemory, IsWithinTheMachineAndItsGroup) {
  EXPECT_GT(physical_memory(), 0);
  EXPECT_LE(physical_memory(), control_group_limit());
}

TEST(Memory, IsPopulatedInside) {
  constexpr std::int64_t kBytes = 1 << 20;
  void* const mapped =
      ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(mapped, MAP_FAILED);
  ::madvise(mapped, kBytes, MADV_NOHUGEPAGE);  // a huge page would hold them all
  auto* const bytes = static_cast<unsigned char*>(mapped);
  const std::int64_t page = ::sysconf(_SC_PAGESIZE);
  bytes[2 * page] = 7;
  populate(bytes + 100, 1000);                      // too little to be worth it
  populate(bytes + page + 100, kBytes - 2 * page);  // begins and ends within a page
  std::vector<unsigned char> resident(static_cast<std::size_t>(kBytes / page));
  ASSERT_EQ(::mincore(mapped, kBytes, resident.data()), 0);
  EXPECT_EQ(resident.front() & 1, 0);
  EXPECT_EQ(resident[1] & 1, 0);
  EXPECT_EQ(resident.back() & 1, 0);
  EXPECT_EQ(bytes[2 * page], 7);
#ifdef MADV_POPULATE_WRITE
  if (::madvise(mapped, static_cast<std::size_t>(page), MADV_POPULATE_WRITE) == 0) {
    EXPECT_EQ(std::count_if(resident.begin() + 2, resident.end() - 1,
                            [](unsigned char one) { return (one & 1) == 0; }),
              0);
  }
#endif
  ::munmap(mapped, kBytes);
}

}  // namespace
}  // namespace qtool

#include "base/memory.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <limits>

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

}  // namespace
}  // namespace qtool

// Tests that files are synced to the disk before they get their names. The functions below replace
// the system's in this program: they record the call while a test listens, and forward it.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/text.h"

namespace qtool {
namespace {

namespace fs = std::filesystem;

struct Call {
  std::string name;
  ino_t file = 0;  // that is synced, or gets a name
  off_t bytes = 0;
  bool is_folder = false;
};

thread_local std::vector<Call>* listener = nullptr;

void note(const char* name, const struct stat& info) {
  listener->push_back({name, info.st_ino, info.st_size, S_ISDIR(info.st_mode)});
}

void note_file(const char* name, const char* path) {
  struct stat info = {};
  if (listener != nullptr && ::stat(path, &info) == 0) note(name, info);
}

}  // namespace
}  // namespace qtool

extern "C" {

int fsync(int descriptor) {
  struct stat info = {};
  if (qtool::listener != nullptr && ::fstat(descriptor, &info) == 0) qtool::note("fsync", info);
  return static_cast<int>(::syscall(SYS_fsync, descriptor));
}

int rename(const char* from, const char* to) noexcept {
  qtool::note_file("rename", from);
  return static_cast<int>(::syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0U));
}

int renameat2(int from_folder, const char* from, int to_folder, const char* to,
              unsigned flags) noexcept {
  qtool::note_file("rename", from);
  return static_cast<int>(::syscall(SYS_renameat2, from_folder, from, to_folder, to, flags));
}

}  // extern "C"

namespace qtool {
namespace {

class FileSync : public testing::Test {
 protected:
  FileSync() {
    folder_ = fs::path(testing::TempDir()) /
              concat("qtool_sync_", testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    listener = &calls_;
  }
  ~FileSync() override {
    listener = nullptr;
    fs::remove_all(folder_);
  }

  // All bytes of every file that got a name were synced before, and the folder was afterwards.
  void expect_synced_before_named(std::size_t files) const {
    std::size_t named = 0;
    for (std::size_t i = 0; i < calls_.size(); ++i) {
      const Call& rename = calls_[i];
      if (rename.name != "rename") continue;
      ++named;
      bool synced = false;
      for (std::size_t k = 0; k < i; ++k) {
        const Call& before = calls_[k];
        synced = synced || (before.name == "fsync" && before.file == rename.file &&
                            before.bytes == rename.bytes);
      }
      EXPECT_TRUE(synced) << "call " << i << " names a file of " << rename.bytes << " bytes";
    }
    EXPECT_EQ(named, files);
    ASSERT_FALSE(calls_.empty());
    EXPECT_EQ(calls_.back().name, "fsync");
    EXPECT_TRUE(calls_.back().is_folder);
  }

  fs::path folder_;
  std::vector<Call> calls_;
};

TEST_F(FileSync, ComesBeforeANewFileGetsItsName) {
  write_file(folder_ / "new", std::string(100000, 'x'));
  expect_synced_before_named(1);
}

TEST_F(FileSync, ComesBeforeAnOldFileIsReplaced) {
  write_file(folder_ / "old", "first");
  calls_.clear();
  write_file(folder_ / "old", "second one");
  expect_synced_before_named(1);
}

TEST_F(FileSync, OfAllFilesComesBeforeTheFirstGetsItsName) {
  const std::string a(5000, 'a');
  const std::string b(7000, 'b');
  write_file(folder_ / "b", "old");
  calls_.clear();
  const std::array<OutputFile, 2> files{OutputFile{folder_ / "a", a}, OutputFile{folder_ / "b", b}};
  write_files(files);
  expect_synced_before_named(2);
  ASSERT_GE(calls_.size(), 2U);
  EXPECT_EQ(calls_[0].name, "fsync");
  EXPECT_EQ(calls_[1].name, "fsync");
}

}  // namespace
}  // namespace qtool

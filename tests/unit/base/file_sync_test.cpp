// Tests that files are synced to the disk before they get their names, and that a kill between two
// renames mixes no old files with new ones. The functions below replace system functions in this
// program. They record the call while a test listens, may kill the process, and forward the call.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/text.h"

namespace qtool {
namespace {

namespace fs = std::filesystem;

struct Call {
  std::string name;
  ino_t file = 0;  // the file that is synced or renamed
  off_t bytes = 0;
  bool is_folder = false;
};

thread_local std::vector<Call>* listener = nullptr;
thread_local int renames_until_kill = 0;  // 0: no kill

void note(const char* name, const struct stat& info) {
  listener->push_back({name, info.st_ino, info.st_size, S_ISDIR(info.st_mode)});
}

void note_file(const char* name, const char* path) {
  struct stat info = {};
  if (listener != nullptr && ::stat(path, &info) == 0) note(name, info);
}

void kill_at_rename() {
  if (renames_until_kill > 0 && --renames_until_kill == 0) ::raise(SIGKILL);
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
  qtool::kill_at_rename();
  qtool::note_file("rename", from);
  return static_cast<int>(::syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0U));
}

}  // extern "C"

namespace qtool {
namespace {

class FileSync : public testing::Test {
 protected:
  FileSync() {
    folder_ = fs::path(testing::TempDir()) /
              to_text("qtool_sync_", testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    listener = &calls_;
  }
  ~FileSync() override {
    listener = nullptr;
    fs::remove_all(folder_);
  }

  // Checks that all bytes of every file were synced before it got its name, and that the folder was
  // synced afterwards.
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
  const std::size_t before = calls_.size();
  const std::array<OutputFile, 2> files{OutputFile{folder_ / "a", a}, OutputFile{folder_ / "b", b}};
  write_files(files);
  expect_synced_before_named(4);  // the old file when written and when set aside, both new files
  ASSERT_GE(calls_.size(), before + 2);
  EXPECT_EQ(calls_[before].name, "fsync");
  EXPECT_EQ(calls_[before + 1].name, "fsync");
}

// SIGKILL ends the process at its n-th rename, for every n.
TEST_F(FileSync, AKillMixesNoOldFilesWithNewOnes) {
  const std::vector<std::string> names{"table", "model", "weights"};
  bool killed = true;
  for (int at = 1; killed; ++at) {
    ASSERT_LE(at, 20);
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    for (const std::string& name : names) write_file(folder_ / name, "old " + name);
    const pid_t child = ::fork();
    if (child == 0) {
      std::vector<OutputFile> files;
      for (const std::string& name : names) files.push_back({folder_ / name, "new"});
      renames_until_kill = at;
      write_files(files);
      ::_exit(0);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    killed = WIFSIGNALED(status);
    std::set<std::string> generations;  // of the files under their final names
    for (const std::string& name : names) {
      if (fs::exists(folder_ / name))
        generations.insert(read_file(folder_ / name, 100).substr(0, 3));
    }
    EXPECT_LE(generations.size(), 1U) << "killed at rename " << at;
    std::set<std::string> kept;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder_)) {
      kept.insert(read_file(entry.path(), 100));
    }
    if (killed) {
      for (const std::string& name : names) EXPECT_EQ(kept.count("old " + name), 1U) << at;
    } else {
      EXPECT_EQ(at, 7) << "three files are set aside, three get their names";
      EXPECT_EQ(kept, std::set<std::string>{"new"});
    }
  }
}

}  // namespace
}  // namespace qtool

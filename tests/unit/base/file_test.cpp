// Reading and writing files.
#include "base/file.h"

#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "base/path_inside.h"
#include "base/text.h"
#include "qtool/base/error.h"

namespace qtool {
namespace {

namespace fs = std::filesystem;

class Files : public ::testing::Test {
 protected:
  Files() : folder_(fs::temp_directory_path() / to_text("qtool_files_test.", ::getpid())) {
    fs::remove_all(folder_);
    fs::create_directories(folder_ / "inner");
  }
  ~Files() override { fs::remove_all(folder_); }
  Files(const Files&) = delete;
  Files& operator=(const Files&) = delete;

  [[nodiscard]] std::ptrdiff_t entries() const {
    return std::distance(fs::directory_iterator(folder_), fs::directory_iterator());
  }
  [[nodiscard]] std::string content(const char* name) const {
    return read_file(folder_ / name, 1000);
  }

  const fs::path folder_;
};

// The message of the Error that `action` throws; empty if it throws none.
template <typename Action>
std::string io_refusal(Action action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kIo);
    return error.what();
  }
  return {};
}

// Runs `action` in a separate process. The value that it returns is the exit code of the process.
template <typename Action>
pid_t in_child(Action action) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(action());
  return child;
}

int end_of(pid_t child) {
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

TEST_F(Files, AreReplacedAsAWhole) {
  const fs::path path = folder_ / "table.json";
  write_file(path, "old");
  write_file(path, "new and longer");
  EXPECT_EQ(read_file(path, 100), "new and longer");
  // Nothing temporary is left behind.
  EXPECT_EQ(entries(), 2);
}

TEST_F(Files, KeepTheOldContentWhenWritingFails) {
  EXPECT_THROW(write_file(folder_ / "absent" / "x", "y"), Error);
  EXPECT_THROW(write_file(folder_, "y"), Error);
  EXPECT_THROW(read_file(folder_, 10), Error);
  EXPECT_THROW(read_file(folder_ / "nothing", 10), Error);
  write_file(folder_ / "x", "12345");
  EXPECT_THROW(read_file(folder_ / "x", 4), Error);
}

TEST_F(Files, SayBeforehandThatTheyCannotBeWritten) {
  EXPECT_THROW(require_writable(folder_), Error);
  EXPECT_THROW(require_writable(folder_ / "absent" / "x"), Error);
  EXPECT_NO_THROW(require_writable(folder_ / "x"));
  EXPECT_NO_THROW(require_writable("beside_the_program"));
  EXPECT_NO_THROW(require_writable("/dev/null"));
  EXPECT_FALSE(fs::exists(folder_ / "x"));
  write_file(folder_ / "x", "1");
  EXPECT_NO_THROW(require_writable(folder_ / "x"));
  EXPECT_EQ(read_file(folder_ / "x", 1), "1");
}

TEST_F(Files, StayInsideTheirFolder) {
  write_file(folder_ / "inner" / "w.bin", "w");
  EXPECT_EQ(resolve_inside(folder_, "inner/w.bin").filename(), "w.bin");
  EXPECT_NO_THROW(resolve_inside(folder_, "inner/../inner/w.bin"));
  EXPECT_THROW(resolve_inside(folder_ / "inner", "../secret"), Error);
  EXPECT_THROW(resolve_inside(folder_, "/etc/passwd"), Error);
  EXPECT_THROW(resolve_inside(folder_, ""), Error);
  EXPECT_THROW(resolve_inside(folder_, std::string("inner/w.bin\0", 12)), Error);
  fs::create_directory_symlink("/etc", folder_ / "out");
  EXPECT_THROW(resolve_inside(folder_, "out/passwd"), Error);
}

TEST_F(Files, OfOneResultAreWrittenAllOrNone) {
  write_file(folder_ / "a", "old");
  const auto write = [&](const fs::path& second) {
    const std::array<OutputFile, 2> files{{{folder_ / "a", "new"}, {second, "new"}}};
    write_files(files);
  };
  EXPECT_THROW(write(folder_ / "inner"), Error);
  EXPECT_THROW(write(folder_ / "absent" / "b"), Error);
  EXPECT_EQ(content("a"), "old");
  EXPECT_EQ(entries(), 2);
  write(folder_ / "b");
  EXPECT_EQ(content("a"), "new");
  EXPECT_EQ(content("b"), "new");
  EXPECT_EQ(entries(), 3);
}

TEST_F(Files, KeepTheirContentWhenACheckOfTheNewOneThrows) {
  write_file(folder_ / "a", "old");
  const std::array<OutputFile, 2> files{{{folder_ / "a", "new"}, {folder_ / "b", "second"}}};
  bool refuse = true;
  const auto check = [&](std::span<const fs::path> written) {
    ASSERT_EQ(written.size(), 2U);
    EXPECT_EQ(read_file(written[0], 100), "new");
    EXPECT_EQ(read_file(written[1], 100), "second");
    EXPECT_EQ(content("a"), "old");
    if (refuse) throw Error(ErrorCode::kMismatch, "refused");
  };
  EXPECT_THROW(write_files(files, check), Error);
  EXPECT_EQ(content("a"), "old");
  EXPECT_EQ(entries(), 2);  // file "a" and a folder
  refuse = false;
  write_files(files, check);
  EXPECT_EQ(content("a"), "new");
  EXPECT_EQ(content("b"), "second");
}

TEST_F(Files, AreTakenBackWhenTheLastCannotBeRenamed) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to make a file that nobody may rename";
  constexpr uid_t kNobody = 65534;
  // In a sticky folder only the owner of a file may replace it, although everybody may write to it.
  write_file(folder_ / "theirs", "old");
  ASSERT_EQ(::chmod((folder_ / "theirs").c_str(), 0666), 0);
  ASSERT_EQ(::chmod(folder_.c_str(), 01777), 0);
  const int code = end_of(in_child([&] {
    if (::seteuid(kNobody) != 0) return 10;
    write_file(folder_ / "replaced", "old");
    const std::array<OutputFile, 3> files{
        {{folder_ / "replaced", "new"}, {folder_ / "made", "new"}, {folder_ / "theirs", "new"}}};
    try {
      write_files(files);
    } catch (const Error&) {
      return 0;
    }
    return 11;
  }));
  EXPECT_EQ(code, 0);
  EXPECT_EQ(content("replaced"), "old");
  EXPECT_EQ(content("theirs"), "old");
  EXPECT_FALSE(fs::exists(folder_ / "made"));
  EXPECT_EQ(entries(), 3);
}

TEST_F(Files, BehindSymbolicLinksAreWritten) {
  write_file(folder_ / "inner" / "real", "old");
  fs::create_symlink("inner/real", folder_ / "link");
  fs::create_symlink("link", folder_ / "link_to_link");
  write_file(folder_ / "link_to_link", "new");
  EXPECT_EQ(content("inner/real"), "new");
  EXPECT_TRUE(fs::is_symlink(folder_ / "link"));
  fs::create_symlink("inner/made", folder_ / "dangling");
  write_file(folder_ / "dangling", "new");
  EXPECT_EQ(content("inner/made"), "new");
  EXPECT_TRUE(fs::is_symlink(folder_ / "dangling"));
  fs::create_symlink("round", folder_ / "round");
  EXPECT_NE(io_refusal([&] { write_file(folder_ / "round", "x"); }).find("links"),
            std::string::npos);
}

TEST_F(Files, AreKnownByAnyName) {
  write_file(folder_ / "a", "x");
  write_file(folder_ / "other", "x");
  fs::create_hard_link(folder_ / "a", folder_ / "hard");
  fs::create_symlink("../a", folder_ / "inner" / "soft");
  fs::create_directory_symlink("inner", folder_ / "alias");
  for (const char* name : {"a", "./a", "inner/../a", "hard", "inner/soft", "alias/soft"}) {
    EXPECT_TRUE(same_file(folder_ / "a", folder_ / name)) << name;
    EXPECT_FALSE(same_file(folder_ / "other", folder_ / name)) << name;
  }
  EXPECT_TRUE(same_file(folder_ / "a", fs::relative(folder_ / "a")));
  // Files that do not exist yet.
  fs::create_symlink("new", folder_ / "inner" / "dangling");
  for (const char* name : {"inner/new", "alias/new", "inner/../inner/./new", "alias/dangling"}) {
    EXPECT_TRUE(same_file(folder_ / "inner" / "new", folder_ / name)) << name;
    EXPECT_FALSE(same_file(folder_ / "new", folder_ / name)) << name;
    EXPECT_FALSE(same_file(folder_ / "a", folder_ / name)) << name;
  }
}

TEST_F(Files, ThatArePipesAreRefusedWithoutWaiting) {
  const fs::path pipe = folder_ / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  ::alarm(10);  // ends the program if one of these calls waits
  EXPECT_NE(io_refusal([&] { write_file(pipe, "x"); }).find("pipe"), std::string::npos);
  EXPECT_NE(io_refusal([&] { require_writable(pipe); }).find("pipe"), std::string::npos);
  EXPECT_NE(io_refusal([&] { read_file(pipe, 1); }).find("regular"), std::string::npos);
  EXPECT_NE(io_refusal([&] { write_file("/dev/zero", "x"); }).find("device"), std::string::npos);
  ::alarm(0);
  EXPECT_TRUE(fs::is_fifo(pipe));
  EXPECT_NO_THROW(write_file("/dev/null", "x"));
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

TEST_F(Files, HaveThePermissionsOfAPlainWriteOrOfWhatTheyReplace) {
  const mode_t before = ::umask(027);
  write_file(folder_ / "new", "x");
  ::umask(before);
  EXPECT_EQ(fs::status(folder_ / "new").permissions(), static_cast<fs::perms>(0640));
  ASSERT_EQ(::chmod((folder_ / "new").c_str(), 0604), 0);
  write_file(folder_ / "new", "y");
  EXPECT_EQ(fs::status(folder_ / "new").permissions(), static_cast<fs::perms>(0604));
}

TEST_F(Files, KeepTheirOwner) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to give files away";
  write_file(folder_ / "theirs", "x");
  ASSERT_EQ(::chown((folder_ / "theirs").c_str(), 1234, 2345), 0);
  write_file(folder_ / "theirs", "y");
  struct ::stat info = {};
  ASSERT_EQ(::stat((folder_ / "theirs").c_str(), &info), 0);
  EXPECT_EQ(info.st_uid, 1234U);
  EXPECT_EQ(info.st_gid, 2345U);
}

TEST_F(Files, ThatAreProtectedAreNotReplaced) {
  constexpr uid_t kNobody = 65534;
  ASSERT_EQ(::chmod(folder_.c_str(), 0777), 0);
  const int code = end_of(in_child([&] {
    if (::geteuid() == 0 && ::setuid(kNobody) != 0) return 10;
    write_file(folder_ / "kept", "old");
    if (::chmod((folder_ / "kept").c_str(), 0444) != 0) return 11;
    return io_refusal([&] { write_file(folder_ / "kept", "new"); }).empty() ? 12 : 0;
  }));
  EXPECT_EQ(code, 0);
  EXPECT_EQ(content("kept"), "old");
}

TEST_F(Files, LeftByAKilledWriterAreCollectedAndThoseOfALivingOneAreNot) {
  const fs::path leftover = folder_ / ".qtool-0123456789abcdef.tmp";
  std::array<int, 2> ready{};
  ASSERT_EQ(::pipe(ready.data()), 0);
  const pid_t writer = in_child([&] {
    std::FILE* file = std::fopen(leftover.c_str(), "w");
    if (file == nullptr || ::flock(::fileno(file), LOCK_EX) != 0) return 1;
    if (::write(ready[1], "!", 1) != 1) return 2;
    ::pause();
    return 3;
  });
  char sign = 0;
  ASSERT_EQ(::read(ready[0], &sign, 1), 1);
  std::ofstream(folder_ / ".qtool-notes") << "mine";
  write_file(folder_ / "a", "x");
  EXPECT_TRUE(fs::exists(leftover));
  ::kill(writer, SIGKILL);
  EXPECT_EQ(end_of(writer), 128 + SIGKILL);
  EXPECT_TRUE(fs::exists(leftover));
  write_file(folder_ / "a", "x");
  EXPECT_FALSE(fs::exists(leftover));
  EXPECT_TRUE(fs::exists(folder_ / ".qtool-notes"));
  for (const int end : ready) ::close(end);
}

}  // namespace
}  // namespace qtool

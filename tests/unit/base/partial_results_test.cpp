// Results of long work that are kept in a file.
#include "base/partial_results.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "qtool/base/error.h"

namespace qtool {
namespace {

namespace fs = std::filesystem;

class PartialResultsTest : public ::testing::Test {
 protected:
  PartialResultsTest()
      : path_(fs::temp_directory_path() / to_text("qtool_partial_test.", ::getpid())) {
    fs::remove(path_);
  }
  ~PartialResultsTest() override { fs::remove(path_); }

  // A file with these bytes after its first line, and with the right checksum.
  static std::string file_of(const std::string& bytes) {
    std::string file = to_text("qtool partial 1\n", bytes);
    std::uint64_t hash = hash_bytes(file);
    for (int i = 0; i < 8; ++i, hash >>= 8) file.push_back(static_cast<char>(hash));
    return file;
  }
  static std::string number(std::uint64_t value) {
    std::string bytes;
    for (int i = 0; i < 8; ++i, value >>= 8) bytes.push_back(static_cast<char>(value));
    return bytes;
  }
  [[nodiscard]] PartialFile found_in(const std::string& file) const {
    write_file(path_, file);
    return PartialResults(path_, 7).found();
  }

  const fs::path path_;
};

TEST_F(PartialResultsTest, AreFoundByTheNextWorkOfTheSameKey) {
  const std::string bytes("\0\xFF\n", 3);
  {
    PartialResults first(path_, 7);
    EXPECT_EQ(first.found(), PartialFile::kAbsent);
    first.keep("a", "replaced");
    first.keep("a", bytes);
    first.keep("b", "");
  }
  const PartialResults second(path_, 7);
  EXPECT_EQ(second.found(), PartialFile::kThisWork);
  EXPECT_EQ(second.size(), 2);
  EXPECT_EQ(second.find("a"), bytes);
  EXPECT_EQ(second.find("b"), "");
  EXPECT_EQ(second.find("c"), std::nullopt);
}

TEST_F(PartialResultsTest, OfAnotherKeyAreNotUsedButStayUntilThereAreNewOnes) {
  PartialResults(path_, 7).keep("a", "seven");
  {
    PartialResults other(path_, 8);
    EXPECT_EQ(other.found(), PartialFile::kOtherWork);
    EXPECT_EQ(other.find("a"), std::nullopt);
    other.remove();
  }
  EXPECT_EQ(PartialResults(path_, 7).find("a"), "seven");
  PartialResults(path_, 8).keep("a", "eight");
  EXPECT_EQ(PartialResults(path_, 7).found(), PartialFile::kOtherWork);
}

TEST_F(PartialResultsTest, AreGoneOnceTheWorkIsDone) {
  PartialResults results(path_, 7);
  results.keep("a", "x");
  results.save();
  EXPECT_TRUE(fs::exists(path_));
  results.remove();
  EXPECT_FALSE(fs::exists(path_));
  EXPECT_EQ(results.find("a"), std::nullopt);
}

TEST_F(PartialResultsTest, OfAnotherKeyAreGoneOnceNewOnesWere) {
  PartialResults(path_, 7).keep("a", "seven");
  PartialResults other(path_, 8);
  other.keep("a", "eight");
  other.remove();
  EXPECT_FALSE(fs::exists(path_));
}

TEST_F(PartialResultsTest, NeverOverwriteAnotherFile) {
  write_file(path_, "a user's notes");
  EXPECT_THROW(PartialResults(path_, 7), Error);
  EXPECT_EQ(read_file(path_, 100), "a user's notes");
  write_file(path_, "");
  EXPECT_THROW(PartialResults(path_, 7), Error);
}

TEST_F(PartialResultsTest, ThatAreCutOffOrChangedAreDamaged) {
  PartialResults(path_, 7).keep("name", "bytes");
  const std::string file = read_file(path_, 1000);
  for (std::size_t size = 16; size < file.size(); ++size) {
    EXPECT_EQ(found_in(file.substr(0, size)), PartialFile::kDamaged) << size;
  }
  for (std::size_t i = 16; i < file.size(); ++i) {
    std::string changed = file;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    EXPECT_EQ(found_in(changed), PartialFile::kDamaged) << i;
  }
  EXPECT_EQ(found_in(file), PartialFile::kThisWork);
}

TEST_F(PartialResultsTest, CheckTheirSizesEvenBehindACorrectChecksum) {
  const std::string key = number(7);
  EXPECT_EQ(found_in(file_of("")), PartialFile::kDamaged);
  EXPECT_EQ(found_in(file_of(key)), PartialFile::kDamaged);
  EXPECT_EQ(found_in(file_of(key + number(0))), PartialFile::kThisWork);
  EXPECT_EQ(found_in(file_of(key + number(0) + "x")), PartialFile::kDamaged);
  const std::uint64_t huge = ~std::uint64_t{0};
  EXPECT_EQ(found_in(file_of(key + number(huge))), PartialFile::kDamaged);
  EXPECT_EQ(found_in(file_of(key + number(1) + number(huge) + number(1) + "ab")),
            PartialFile::kDamaged);
  EXPECT_EQ(found_in(file_of(key + number(1) + number(1) + number(huge) + "ab")),
            PartialFile::kDamaged);
  const std::string entry = number(1) + number(1) + "ab";
  EXPECT_EQ(found_in(file_of(key + number(1) + entry)), PartialFile::kThisWork);
  EXPECT_EQ(found_in(file_of(key + number(2) + entry + entry)), PartialFile::kDamaged) << "twice";
}

}  // namespace
}  // namespace qtool

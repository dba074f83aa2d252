#include "base/hash.h"

#include <gtest/gtest.h>

#include <string>

namespace qtool {
namespace {

TEST(HashBytes, EqualsThePublishedValuesOfXxh64) {
  EXPECT_EQ(hash_bytes(""), 0xEF46DB3751D8E999U);
  EXPECT_EQ(hash_bytes("a"), 0xD24EC4F1A98C6E5BU);
  EXPECT_EQ(hash_bytes("abc"), 0x44BC2CF5AD770999U);
  EXPECT_EQ(hash_bytes("Nobody inspects the spammish repetition"), 0xFBCEA83C8A378BF1U);
}

// Fingerprints are stored in tables and models, so they must never change, for any length of the
// input.
TEST(HashBytes, KeepsTheBitsOfFingerprints) {
  std::string bytes;
  std::uint64_t chained = 0;
  for (int i = 0; i < 200; ++i) {
    chained = hash_bytes(bytes, chained);
    bytes.push_back(static_cast<char>(i));
  }
  EXPECT_EQ(chained, 0xBD240FBDBCFD4CABU);
}

TEST(HashBytes, DependsOnTheSeedAndOnEveryByte) {
  const std::string text(77, 'x');
  EXPECT_NE(hash_bytes(text), hash_bytes(text, 1));
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::string other = text;
    other[i] = 'y';
    EXPECT_NE(hash_bytes(text), hash_bytes(other)) << i;
  }
}

}  // namespace
}  // namespace qtool

#include "base/printable.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace qtool {
namespace {

TEST(Printable, KeepsWhatIsSeen) {
  for (const char* text :
       {"", "conv1/weight:0", "größe", "特徴", "\xF0\x9F\x98\x80", "a {} %s \\n \"b\""}) {
    EXPECT_EQ(printable(text), text);
  }
}

TEST(Printable, EscapesWhatSteersATerminal) {
  EXPECT_EQ(printable("\x1b[2J\x1b]0;title\x07"), "\\u001b[2J\\u001b]0;title\\u0007");
  EXPECT_EQ(printable("a\rb\tc\nd"), "a\\rb\\tc\\nd");
  EXPECT_EQ(printable("\x7f"), "\\u007f");
  EXPECT_EQ(printable("\xC2\x9B"
                      "31m"),
            "\\u009b31m");  // CSI as one character
  EXPECT_EQ(printable(std::string(1, '\0')), "\\u0000");
}

TEST(Printable, EscapesWhatTurnsOrHidesText) {
  EXPECT_EQ(printable("\xE2\x80\xAE"
                      "gpj"),
            "\\u202egpj");
  EXPECT_EQ(printable("\xE2\x81\xA6\xE2\x80\x8B\xEF\xBB\xBF"), "\\u2066\\u200b\\ufeff");
  EXPECT_EQ(printable("\xE2\x80\xA8"), "\\u2028");
  EXPECT_EQ(printable("\xF3\xA0\x81\x81"), "\\udb40\\udc41");  // U+E0041, an invisible A
}

TEST(Printable, KeepsLineFeedsOfTextThatHasLines) {
  EXPECT_EQ(printable("a\nb\x1b\n", LineFeeds::kKeep), "a\nb\\u001b\n");
}

TEST(Printable, EscapesBytesThatAreNotUtf8) {
  EXPECT_EQ(printable("\xff"
                      "a\x80"),
            "\\xffa\\x80");
  EXPECT_EQ(printable("\xC0\xAF"), "\\xc0\\xaf");  // '/' in an overlong encoding
  EXPECT_EQ(printable("\xE0\x80\xAF"), "\\xe0\\x80\\xaf");
  EXPECT_EQ(printable("\xED\xA0\x80"), "\\xed\\xa0\\x80");           // a surrogate
  EXPECT_EQ(printable("\xF4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");  // beyond U+10FFFF
  EXPECT_EQ(printable("\xE2\x82"), "\\xe2\\x82");                    // cut off
  EXPECT_EQ(printable("\xE2(\xA1"), "\\xe2(\\xa1");
}

TEST(Printable, OfItsOwnResultChangesNothing) {
  std::mt19937 random(7);
  for (int round = 0; round < 2000; ++round) {
    std::string text;
    for (auto i = random() % 40; i > 0; --i) text += static_cast<char>(random() & 255U);
    const std::string once = printable(text);
    ASSERT_EQ(printable(once), once) << "round " << round;
    for (const char c : once) ASSERT_GE(static_cast<unsigned char>(c), 0x20U);
  }
}

}  // namespace
}  // namespace qtool

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "qtool/answers/annotations.h"

namespace qtool {
namespace {

using testing::ElementsAre;
using testing::Optional;

TEST(ClassNames, AreReadAsPythonWritesThem) {
  EXPECT_THAT(class_names_from_text("{0: 'person', 1: 'traffic light'}"),
              Optional(ElementsAre("person", "traffic light")));
  EXPECT_THAT(class_names_from_text(R"({1: "o'clock", 0: 'a\\b\'"'})"),
              Optional(ElementsAre("a\\b'\"", "o'clock")));
  EXPECT_THAT(class_names_from_text("['person', 'car']"), Optional(ElementsAre("person", "car")));
  EXPECT_THAT(class_names_from_text(R"({0: 'caf\xe9\n', 1: '\U0001f600'})"),
              Optional(ElementsAre("caf\u00e9\n", "\U0001f600")));
}

TEST(ClassNames, AreReadAsJsonWritesThem) {
  EXPECT_THAT(class_names_from_text(R"( {"0": "person", "1":"b\/c"} )"),
              Optional(ElementsAre("person", "b/c")));
  EXPECT_THAT(class_names_from_text("[\n\"person\",\n\"car\"\n]"),
              Optional(ElementsAre("person", "car")));
  EXPECT_THAT(class_names_from_text(R"(["\u00e9\ud83d\ude00"])"),
              Optional(ElementsAre("\u00e9\U0001f600")));
}

TEST(ClassNames, AreEmptyForClassesThatTheDictionaryLeavesOut) {
  EXPECT_THAT(class_names_from_text("{2: 'c', 0: 'a'}"), Optional(ElementsAre("a", "", "c")));
}

TEST(ClassNames, AreNotReadFromOtherTexts) {
  for (const char* text : {"",
                           " ",
                           "{",
                           "[",
                           "{}",
                           "[]",
                           "person",
                           "{0}",
                           "{0:}",
                           "{0: 'a'",
                           "{0: 'a}",
                           "{0: a}",
                           "{0: 'a' 1: 'b'}",
                           "{0: 'a', 0: 'b'}",
                           "{-1: 'a'}",
                           "{100000: 'a'}",
                           "{'x': 'a'}",
                           "{'': 'a'}",
                           "{'1 ': 'a'}",
                           "{99999999999999999999999: 'a'}",
                           "{0: 'a'} b",
                           "{0: ['a']}",
                           "['a' 'b']",
                           "[1, 2]",
                           "['a\\",
                           "['\\q']",
                           "['\\xg0']",
                           "['\\x1",
                           "['\\ud83d']",
                           "['\\ud83d\\u0041']",
                           "['\\ude00']",
                           "['\\U00110000']",
                           "[,'a']",
                           "['a',]"}) {
    EXPECT_EQ(class_names_from_text(text), std::nullopt) << text;
  }
}

TEST(ClassNames, AreNotReadBeyondTheLimits) {
  std::string list = "[''";
  for (std::int64_t i = 1; i < kMaxClassNames; ++i) list += ",''";
  EXPECT_TRUE(class_names_from_text(list + "]"));
  EXPECT_FALSE(class_names_from_text(list + ",'']"));
  EXPECT_FALSE(class_names_from_text(to_text("['", std::string(kMaxClassNameBytes, 'a'), "']")));
}

// No prefix of a text, and no byte in the place of another, is read beyond its end.
TEST(ClassNames, OfBrokenTextsAreNoNamesOrOthers) {
  const std::string whole = R"({0: 'a\xe9', "1": "\ud83d\ude00"})";
  for (std::size_t i = 0; i < whole.size(); ++i) {
    EXPECT_EQ(class_names_from_text(whole.substr(0, i)), std::nullopt);
    for (int byte = 0; byte < 256; ++byte) {
      std::string other = whole;
      other[i] = static_cast<char>(byte);
      const auto names = class_names_from_text(other);
      EXPECT_TRUE(!names || !names->empty());
    }
  }
}

}  // namespace
}  // namespace qtool

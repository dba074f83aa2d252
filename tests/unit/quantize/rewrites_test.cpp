#include <gmock/gmock.h>

#include <string>

#include "base/text.h"
#include "qtool/base/error.h"
#include "qtool/calib/format.h"
#include "qtool/calib/table.h"
#include "qtool/pipeline/calibrate.h"
#include "qtool/quantize/quantize.h"
#include "unit/quantize_net.h"

namespace qtool {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

CalibrationTable rewritten_table() {
  CalibrationTable table;
  table.method = "kl";
  table.rewrites = {{"one", "two"}, 0x123456789abcdef0U};
  return table;
}

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, text.npos);
  return text.replace(at, from.size(), to);
}

std::string rewrites_message(const std::string& text) {
  try {
    read_table(text);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidTable);
    return error.what();
  }
  return "no error";
}

TEST(TableOfARewrittenNetwork, ReadsBackAsItWasWritten) {
  const CalibrationTable table = rewritten_table();
  CalibrationTable plain = table;
  plain.rewrites = {};
  const std::string text = write_table(table);
  EXPECT_THAT(text,
              HasSubstr(R"("rewrites": {"names":["one","two"],"fingerprint":"123456789abcdef0"})"));
  EXPECT_EQ(read_table(text), table);
  EXPECT_THAT(write_table(plain), testing::Not(HasSubstr("rewrites")));
}

TEST(TableOfARewrittenNetwork, IsRefusedWhenItsRewritesAreNotWellFormed) {
  const std::string text = write_table(rewritten_table());
  constexpr std::string_view kNames = R"(["one","two"])";
  EXPECT_THAT(rewrites_message(replaced(text, kNames, "[]")), HasSubstr("at least one name"));
  EXPECT_THAT(rewrites_message(replaced(text, kNames, R"(["one","one"])")),
              HasSubstr("names, each once"));
  EXPECT_THAT(rewrites_message(replaced(text, kNames, R"([""])")), HasSubstr("names, each once"));
  EXPECT_THAT(rewrites_message(replaced(text, R"("fingerprint":"123456789abcdef0")", R"("x":1)")),
              HasSubstr("rewrites"));
}

TEST(TableOfARewrittenNetwork, LosesThatInOtherFormats) {
  for (const FormatInfo& format : formats()) {
    const bool lost = testing::Value(lost_contents(rewritten_table(), format),
                                     testing::Contains(TableContent::kRewrites));
    EXPECT_EQ(lost, format.name != "qtool") << format.name;
  }
}

TEST(Rewrites, OfAnUnknownNameAreRefusedByAllWhoMakeThem) {
  Net net;
  net.output(net.conv("c", net.input("x", {1, 2, 4, 4})));
  CalibrateOptions calibrate_options;
  calibrate_options.rewrites = {"squeeze"};
  StaticOptions options;
  options.rewrites = {"squeeze"};
  const auto code_of = [](const auto& action) {
    try {
      action();
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr("rewrite 'squeeze' is unknown"));
      return error.code();
    }
    return ErrorCode::kIo;
  };
  EXPECT_EQ(code_of([&] { calibration_target(calibrate_options); }), ErrorCode::kUsage);
  EXPECT_EQ(code_of([&] { quantize(net.graph, CalibrationTable(), options); }), ErrorCode::kUsage);
}

}  // namespace
}  // namespace qtool

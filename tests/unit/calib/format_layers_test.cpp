// Checks for every format that the list of formats says correctly whether names of layers have an
// effect.
#include <gtest/gtest.h>

#include <string>

#include "qtool/base/error.h"
#include "qtool/calib/format.h"

namespace qtool {
namespace {

const LayerNames kConv = {{"c", "Conv", "x", "y", "w", 0}};

CalibrationTable two_entry_table() {
  CalibrationTable table;
  table.method = "minmax";
  for (const char* tensor : {"x", "y"}) {
    ActivationEntry& entry = table.activations.emplace_back();
    entry.tensor = tensor;
    entry.range = {-1.0F, 1.0F};
    entry.affine = choose_affine(entry.range, {});
  }
  table.weights.push_back({"w", "c", {{0.5F, 0.25F}, {}, 0}});
  return table;
}

std::string written(const FormatInfo& format, const LayerNames& names) try {
  TableWriteOptions options;
  options.names = names;
  return format.write(two_entry_table(), options);
} catch (const Error& error) {
  return error.what();
}

std::string read_back(const FormatInfo& format, const std::string& bytes, const LayerNames& names) {
  CalibrationTable table = format.read(bytes, {names}).table;
  if (table.method.empty()) table.method = "minmax";  // other tools' tables may lack it
  return find_format("qtool").write(table, {});
}

TEST(FormatList, SaysWhereNamesOfLayersHaveAnEffectOnWriting) {
  for (const FormatInfo& format : formats()) {
    EXPECT_EQ(written(format, {}) != written(format, kConv), format.writes_layers) << format.name;
  }
}

TEST(FormatList, SaysWhereNamesOfLayersHaveAnEffectOnReading) {
  for (const FormatInfo& format : formats()) {
    const std::string bytes = written(format, kConv);
    EXPECT_EQ(read_back(format, bytes, {}) != read_back(format, bytes, kConv), format.reads_layers)
        << format.name;
  }
}

}  // namespace
}  // namespace qtool

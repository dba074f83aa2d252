// Tables that ncnn and ONNX Runtime wrote for networks we have.
#include <gmock/gmock.h>

#include <filesystem>

#include "base/file.h"
#include "qtool/calib/format.h"
#include "qtool/exec/executor.h"
#include "qtool/graph/onnx.h"
#include "support/absent.h"
#include "support/places.h"

namespace qtool {
namespace {

namespace fs = std::filesystem;

const fs::path kSharedTables = kSharedData;

class GoldenTable : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (!fs::exists(file())) GTEST_SKIP() << absent(file());
  }
  [[nodiscard]] fs::path file() const { return kSharedTables / "golden" / GetParam(); }
  [[nodiscard]] std::string bytes() const { return read_file(file(), kMaxTableBytes); }
  /// The prepared network that the table was made for.
  [[nodiscard]] Graph network() const {
    const std::string name = file().filename().string();
    const bool squeezenet = name.starts_with("squeezenet");
    return prepare(load_onnx(kSharedTables / "models" /
                             (squeezenet ? "squeezenet1.1.onnx" : "mobilenet_v2_1.0_224.onnx")));
  }
};

class NcnnGolden : public GoldenTable {};

TEST_P(NcnnGolden, IsWrittenBackByteForByte) {
  const std::string text = bytes();
  const FormatInfo& format = recognise(text, file().string());
  ASSERT_EQ(format.name, "ncnn");
  EXPECT_EQ(format.write(format.read(text, {}).table, {}), text);
}

TEST_P(NcnnGolden, IsWrittenBackByteForByteThroughTheTensorsOfTheModel) {
  const std::string text = bytes();
  const LayerNames names = layer_names(network());
  const FormatInfo& format = find_format("ncnn");
  const TableReadResult result = format.read(text, {names});
  EXPECT_THAT(result.notes, testing::IsEmpty());
  TableWriteOptions options;
  options.names = names;
  EXPECT_EQ(format.write(result.table, options), text);
}

TEST_P(NcnnGolden, SurvivesOurOwnFormat) {
  const std::string text = bytes();
  const FormatInfo& format = find_format("ncnn");
  const CalibrationTable table = format.read(text, {}).table;
  EXPECT_EQ(read_table(write_table(table)), table);
}

TEST_P(NcnnGolden, NamesTensorsAndWeightsOfTheModel) {
  const Graph graph = network();
  const CalibrationTable table = find_format("ncnn").read(bytes(), {layer_names(graph)}).table;
  EXPECT_FALSE(table.activations.empty());
  for (const ActivationEntry& entry : table.activations) {
    EXPECT_TRUE(graph.find_value(entry.tensor)) << entry.tensor;
  }
  for (const WeightEntry& entry : table.weights) {
    const auto weight = graph.find_value(entry.tensor);
    ASSERT_TRUE(weight) << entry.tensor;
    const Shape& shape = graph.value(*weight).constant->shape();
    EXPECT_EQ(static_cast<std::int64_t>(entry.affines.scales.size()), shape[entry.affines.axis])
        << entry.tensor;
  }
}

INSTANTIATE_TEST_SUITE_P(Ncnn, NcnnGolden,
                         testing::Values("ncnn/squeezenet1.1.kl.table",
                                         "ncnn/squeezenet1.1.aciq.table",
                                         "ncnn/mobilenet_v2_1.0_224.kl.table",
                                         "ncnn/mobilenet_v2_1.0_224.aciq.table"));

class OrtGolden : public GoldenTable {};

TEST_P(OrtGolden, NamesTensorsOfTheModelAndKeepsItsRanges) {
  const std::string text = bytes();
  const FormatInfo& format = recognise(text, file().string());
  ASSERT_EQ(format.name, "ort_json");
  const CalibrationTable table = format.read(text, {}).table;
  EXPECT_GT(table.activations.size(), 50U);
  const Graph loaded = network();
  for (const ActivationEntry& entry : table.activations) {
    EXPECT_TRUE(loaded.find_value(entry.tensor)) << entry.tensor;
  }
  EXPECT_EQ(format.read(format.write(table, {}), {}).table.activations, table.activations);
}

INSTANTIATE_TEST_SUITE_P(Ort, OrtGolden,
                         testing::Values("onnxruntime/squeezenet1.1.minmax.json",
                                         "onnxruntime/squeezenet1.1.percentile.json",
                                         "onnxruntime/squeezenet1.1.entropy.json",
                                         "onnxruntime/mobilenet_v2_1.0_224.minmax.json",
                                         "onnxruntime/mobilenet_v2_1.0_224.percentile.json",
                                         "onnxruntime/mobilenet_v2_1.0_224.entropy.json"));

}  // namespace
}  // namespace qtool

#include <gmock/gmock.h>

#include <bit>

#include "base/text.h"
#include "qtool/base/error.h"
#include "qtool/calib/format.h"
#include "support/code_of.h"

namespace qtool {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TableReadResult read(std::string_view format, std::string_view bytes, LayerNames names = {}) {
  return find_format(format).read(bytes, {std::move(names)});
}
std::string write(std::string_view format, const CalibrationTable& table,
                  const TableWriteOptions& options = {}) {
  return find_format(format).write(table, options);
}
std::string format_message(std::string_view format, std::string_view bytes) {
  try {
    read(format, bytes);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidTable) << error.what();
    return error.what();
  }
  return "no error";
}
ActivationEntry asymmetric_entry(const std::string& tensor) {
  ActivationEntry entry;
  entry.tensor = tensor;
  entry.range = {-0.5F, 2.0F};
  entry.affine = choose_affine(entry.range, {});
  return entry;
}

// -- TensorRT --

// Scales of published caches: 1/127, 1.000244/127 and 255.059/127.
constexpr std::string_view kCache =
    "TRT-8510-EntropyCalibration2\n"
    "data: 3c010204\n"
    "conv:0: 3c010a14\n"
    "(Unnamed Layer* 7) [Convolution]_output: 4000889d\n";

TEST(TensorRtCache, ReadsBigEndianBitsOfTheScale) {
  const CalibrationTable table = read("tensorrt", kCache).table;
  ASSERT_EQ(table.activations.size(), 3U);
  EXPECT_EQ(table.activations[0].affine.scale, 1.0F / 127.0F);
  EXPECT_NEAR(table.activations[1].affine.scale * 127.0, 1.000244, 1e-6);
  EXPECT_NEAR(table.activations[2].affine.scale, 2.008338, 1e-6);
  EXPECT_NEAR(table.activations[2].range.max, 255.059, 1e-3);
  EXPECT_EQ(table.activations[2].range.min, -table.activations[2].range.max);
  EXPECT_EQ(table.activations[0].dtype, DType::kInt8);
  EXPECT_EQ(table.activations[0].affine.zero_point, 0);
  EXPECT_EQ(table.model_fingerprint, 0U);
}

TEST(TensorRtCache, SplitsAtTheLastColonBecauseNamesHaveColonsToo) {
  const CalibrationTable table = read("tensorrt", kCache).table;
  EXPECT_EQ(table.activations[1].tensor, "conv:0");
  EXPECT_EQ(table.activations[2].tensor, "(Unnamed Layer* 7) [Convolution]_output");
  const auto colons = read("tensorrt", "TRT-1-MinMaxCalibration\na: b: c: 3f800000\n").table;
  EXPECT_EQ(colons.activations[0].tensor, "a: b: c");
}

TEST(TensorRtCache, WritesBackTheSameBytes) {
  EXPECT_EQ(write("tensorrt", read("tensorrt", kCache).table), kCache);
}

TEST(TensorRtCache, TakesVersionAndAlgorithmFromTheOptions) {
  TableWriteOptions options;
  options.tensorrt_version = "100300";
  options.tensorrt_algorithm = "MinMaxCalibration";
  const CalibrationTable table = read("tensorrt", kCache).table;
  EXPECT_THAT(write("tensorrt", table, options),
              testing::StartsWith("TRT-100300-MinMaxCalibration\n"));
  CalibrationTable own;
  own.method = "kl";
  EXPECT_EQ(write("tensorrt", own), "TRT-8600-EntropyCalibration2\n");
  options.tensorrt_version = "8.6";
  EXPECT_EQ(code_of([&] { write("tensorrt", own, options); }), ErrorCode::kUsage);
  options.tensorrt_version = "8600";
  options.tensorrt_algorithm = "Entropy";
  EXPECT_EQ(code_of([&] { write("tensorrt", own, options); }), ErrorCode::kUsage);
}

TEST(TensorRtCache, AnAsymmetricTensorGetsTheScaleOfItsLargestMagnitude) {
  CalibrationTable table;
  table.activations = {asymmetric_entry("x")};
  const auto bits = std::bit_cast<std::uint32_t>(2.0F / 127.0F);
  EXPECT_THAT(write("tensorrt", table), HasSubstr("x: " + to_hex(bits).substr(8)));
}

TEST(TensorRtCache, AZeroScaleIsFlagged) {
  const TableReadResult result = read("tensorrt", "TRT-8600-EntropyCalibration2\ndead: 00000000\n");
  EXPECT_EQ(result.table.activations[0].degenerate, Degenerate::kAllZero);
  EXPECT_EQ(result.table.activations[0].affine.scale, 1.0F);
  EXPECT_THAT(result.notes, ElementsAre(HasSubstr("'dead'")));
}

TEST(TensorRtCache, RefusesWhatIsNotOne) {
  EXPECT_THAT(format_message("tensorrt", ""), HasSubstr("line 1"));
  EXPECT_THAT(format_message("tensorrt", "TRT-8600-Foo\n"), HasSubstr("EntropyCalibration2"));
  EXPECT_THAT(format_message("tensorrt", "TRT-x-MinMaxCalibration\n"), HasSubstr("TRT-<version>"));
  const std::string head = "TRT-8600-MinMaxCalibration\n";
  EXPECT_THAT(format_message("tensorrt", head + "a 3f800000\n"), HasSubstr("line 2"));
  EXPECT_THAT(format_message("tensorrt", head + "a: 3f80000g\n"),
              HasSubstr("8 hexadecimal digits"));
  EXPECT_THAT(format_message("tensorrt", head + "a: 003f800000\n"),
              HasSubstr("8 hexadecimal digits"));
  EXPECT_THAT(format_message("tensorrt", head + "a: 7f800000\n"), HasSubstr("finite"));
  EXPECT_THAT(format_message("tensorrt", head + "a: 7fc00000\n"), HasSubstr("finite"));
  EXPECT_THAT(format_message("tensorrt", head + "a: bf800000\n"), HasSubstr("not below 0"));
  EXPECT_THAT(format_message("tensorrt", head + ": 3f800000\n"), HasSubstr("name"));
}

TEST(TensorRtCache, CannotWriteANameWithALineBreak) {
  CalibrationTable table;
  table.activations = {asymmetric_entry("a\nb")};
  EXPECT_EQ(code_of([&] { write("tensorrt", table); }), ErrorCode::kInvalidTable);
}

// -- ncnn --

constexpr std::string_view kNcnn =
    "conv1_param_0 218.294891 inf \n"
    "conv2_param_0 104.451645 \n"
    "conv1 7.705117 \n"
    "conv2 0.371121 \n";

const LayerNames kTwoLayers = {{"conv1", "Conv", "x", "a", "w1", 0},
                               {"conv2", "Conv", "a", "b", "w2", 0}};

TEST(NcnnTable, ReadsReciprocalsAndKeepsTheirText) {
  const TableReadResult result = read("ncnn", kNcnn);
  const CalibrationTable& table = result.table;
  ASSERT_EQ(table.activations.size(), 2U);
  EXPECT_EQ(table.activations[0].tensor, "conv1");
  EXPECT_FLOAT_EQ(table.activations[0].affine.scale, 1.0F / 7.705117F);
  EXPECT_FLOAT_EQ(table.activations[0].range.max, 127.0F / 7.705117F);
  EXPECT_FLOAT_EQ(table.weights[0].affines.scales[0], 1.0F / 218.294891F);
  EXPECT_EQ(write("ncnn", table), kNcnn);
}

TEST(NcnnTable, AnInfiniteReciprocalIsAnAllZeroChannel) {
  const CalibrationTable table = read("ncnn", "c_param_0 inf \nc inf \n").table;
  EXPECT_THAT(table.weights[0].affines.scales, ElementsAre(1.0F));
  EXPECT_EQ(table.activations[0].degenerate, Degenerate::kAllZero);
  EXPECT_EQ(write("ncnn", table), "c_param_0 inf \nc inf \n");
}

TEST(NcnnTable, MapsLayersToTheTensorsTheyRead) {
  const TableReadResult result = read("ncnn", kNcnn, kTwoLayers);
  const CalibrationTable& table = result.table;
  EXPECT_EQ(table.activations[0].tensor, "x");
  EXPECT_EQ(table.activations[1].tensor, "a");
  EXPECT_EQ(table.weights[0].tensor, "w1");
  EXPECT_EQ(table.weights[0].consumer, "conv1");
  EXPECT_EQ(table.weights[0].affines.axis, 0);
  EXPECT_THAT(result.notes, IsEmpty());
  TableWriteOptions options;
  options.names = kTwoLayers;
  EXPECT_EQ(write("ncnn", table, options), kNcnn);
  EXPECT_EQ(code_of([&] { write("ncnn", table); }), ErrorCode::kUsage);
}

TEST(NcnnTable, NamesTheNearestLayersForAnUnknownOne) {
  try {
    read("ncnn", "conv3 1.5 \n", kTwoLayers);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(),
                HasSubstr("'conv3' is not in the model; did you mean 'conv1' or 'conv2'?"));
  }
}

TEST(NcnnTable, TheFirstEmptyLineEndsTheFile) {
  const TableReadResult result = read("ncnn", "a_param_0 2 \na 3 \n\nb 4 \n");
  EXPECT_EQ(result.table.activations.size(), 1U);
  EXPECT_THAT(result.notes, testing::Contains(HasSubstr("line 3 is empty")));
}

TEST(NcnnTable, AHashSwitchesARowOff) {
  const TableReadResult result = read("ncnn", "#a_param_0 2 \na 3 \n");
  EXPECT_THAT(result.table.weights, IsEmpty());
  EXPECT_THAT(result.notes, testing::Contains(HasSubstr("line 1 is switched off")));
  EXPECT_THAT(result.notes, testing::Contains(HasSubstr("ncnn keeps it in FP32")));
}

TEST(NcnnTable, TheLastOfTwoEqualKeysWins) {
  const TableReadResult result =
      read("ncnn", "a_param_0 2 \na_param_0 4 \na 3 \nb_param_0 1 \nb 1 \na 5 \n");
  EXPECT_THAT(result.table.weights[0].affines.scales, ElementsAre(0.25F));
  EXPECT_EQ(result.table.activations[0].tensor, "a");
  EXPECT_EQ(result.table.activations[0].affine.scale, 0.2F);
  EXPECT_EQ(result.table.activations.size(), 2U);
}

TEST(NcnnTable, AnyKeyWithParamIsAWeightRow) {
  const CalibrationTable table = read("ncnn", "mha_param_0 2 4 \nmha_param_3 8 \n").table;
  ASSERT_EQ(table.weights.size(), 2U);
  EXPECT_THAT(table.activations, IsEmpty());
  EXPECT_EQ(table.weights[1].tensor, "mha_param_3");
  EXPECT_EQ(write("ncnn", table), "mha_param_0 2.000000 4.000000 \nmha_param_3 8.000000 \n");
}

TEST(NcnnTable, OneTensorReadWithTwoScalesTakesTheWidest) {
  LayerNames names = kTwoLayers;
  names[1].input = "x";
  const TableReadResult result = read("ncnn", kNcnn, names);
  ASSERT_EQ(result.table.activations.size(), 1U);
  EXPECT_FLOAT_EQ(result.table.activations[0].affine.scale, 1.0F / 0.371121F);
  EXPECT_THAT(result.notes, testing::Contains(HasSubstr("different scales")));
}

TEST(NcnnTable, RefusesWhatIsNotOne) {
  EXPECT_THAT(format_message("ncnn", "a \n"), HasSubstr("line 1"));
  EXPECT_THAT(format_message("ncnn", "a 1 2 \n"), HasSubstr("one number"));
  EXPECT_THAT(format_message("ncnn", "a x \n"), HasSubstr("a number"));
  EXPECT_THAT(format_message("ncnn", "a nan \n"), HasSubstr("a number"));
  EXPECT_THAT(format_message("ncnn", "a 0 \n"), HasSubstr("above 0"));
  EXPECT_THAT(format_message("ncnn", "a_param_0 -1 \n"), HasSubstr("above 0"));
  EXPECT_THAT(format_message("ncnn", std::string(256, 'a') + " 1 \n"), HasSubstr("1 to 255 bytes"));
}

TEST(NcnnTable, CannotWriteLayersThatItWouldReadBackOtherwise) {
  CalibrationTable table;
  table.activations = {asymmetric_entry("x")};
  const auto fails = [&](const std::string& layer) {
    TableWriteOptions options;
    options.names = {{layer, "Conv", "x", "y", "w", 0}};
    return code_of([&] { write("ncnn", table, options); }) == ErrorCode::kInvalidTable;
  };
  EXPECT_TRUE(fails("a b"));
  EXPECT_TRUE(fails("#a"));
  EXPECT_TRUE(fails("a_param_0"));
  EXPECT_TRUE(fails(std::string(256, 'a')));
}

// -- ONNX Runtime --

TEST(OrtJson, ReadsTheOldAndTheNewForm) {
  const CalibrationTable old = read("ort_json", R"({"x": [-1.5, 2.5], "y": [0, 3]})").table;
  const CalibrationTable fresh = read("ort_json", R"({
    "x": {"CLS": "TensorData", "lowest": -1.5, "highest": 2.5, "hist": [1, 2]},
    "y": {"CLS": "TensorData", "lowest": {"CLS": "numpy.array", "data": [0.0], "dtype": "float32"},
          "highest": {"CLS": "numpy.array", "data": 3.0, "dtype": "float32"}}})")
                                     .table;
  const CalibrationTable whole = read("ort_json", R"({"CLS": "TensorsData", "data": {
    "x": {"CLS": "TensorData", "lowest": -1.5, "highest": 2.5},
    "y": {"CLS": "TensorData", "lowest": 0, "highest": 3}},
    "calibration_method": {"CLS": "CalibrationMethod", "value": "CalibrationMethod.MinMax"}})")
                                     .table;
  EXPECT_EQ(old, fresh);
  EXPECT_EQ(old, whole);
  EXPECT_EQ(old.activations[0].range, (Range{-1.5F, 2.5F}));
  EXPECT_EQ(old.activations[0].affine, choose_affine({-1.5F, 2.5F}, {}));
}

TEST(OrtJson, WidensARangeToHoldZero) {
  EXPECT_EQ(read("ort_json", R"({"x": [1, 2]})").table.activations[0].range, (Range{0.0F, 2.0F}));
}

TEST(OrtJson, RefusesWhatIsNotOne) {
  EXPECT_THAT(format_message("ort_json", "[]"), HasSubstr("an object"));
  EXPECT_THAT(format_message("ort_json", R"({"x": [1]})"), HasSubstr("x"));
  EXPECT_THAT(format_message("ort_json", R"({"x": [2, 1]})"), HasSubstr("not above"));
  EXPECT_THAT(format_message("ort_json", R"({"x": {"lowest": 1}})"),
              HasSubstr("'highest' is missing"));
  EXPECT_THAT(format_message("ort_json", R"({"x": [[1, 2], [3, 4]]})"), HasSubstr("per-channel"));
  EXPECT_THAT(format_message("ort_json", R"({"x": [1e39, 1e40]})"), HasSubstr("float32"));
  EXPECT_THAT(format_message("ort_json", R"({"": [0, 1]})"), HasSubstr("name"));
}

TEST(OrtCache, SplitsAtTheLastBlankAndSaysWhatIsMissing) {
  const TableReadResult result = read("ort_cache", "a b 1.5\nc 393.0\n");
  EXPECT_EQ(result.table.activations[0].tensor, "a b");
  EXPECT_EQ(result.table.activations[0].range, (Range{-1.5F, 1.5F}));
  EXPECT_EQ(result.table.activations[1].affine.scale, 393.0F / 127.0F);
  EXPECT_THAT(result.notes, ElementsAre(HasSubstr("not the largest magnitude")));
}

TEST(OrtCache, ANegativeLargestValueIsNamed) {
  const TableReadResult result = read("ort_cache", "neg -0.5\n");
  EXPECT_EQ(result.table.activations[0].range, (Range{-0.5F, 0.5F}));
  EXPECT_THAT(result.notes, testing::Contains(HasSubstr("'neg' has the largest value -0.5")));
}

TEST(OrtCache, WritesTheLargestMagnitudeSortedByName) {
  CalibrationTable table;
  table.activations = {asymmetric_entry("b"), asymmetric_entry("a")};
  table.activations[0].range = {-808.0F, 393.0F};
  EXPECT_EQ(write("ort_cache", table), "a 2\nb 808\n");
}

TEST(OrtCache, RefusesWhatIsNotOne) {
  EXPECT_THAT(format_message("ort_cache", "a\n"), HasSubstr("<name> <amax>"));
  EXPECT_THAT(format_message("ort_cache", "a b\n"), HasSubstr("a number"));
  EXPECT_THAT(format_message("ort_cache", "a inf\n"), HasSubstr("finite"));
}

// -- AIMET --

constexpr std::string_view kAimet = R"({"version": "0.4.0",
  "activation_encodings": {
    "x": [{"bitwidth": 8, "is_symmetric": "False", "max": 2.0, "min": -0.5, "offset": -51,
           "scale": 0.00980392156}],
    "y": [{"bitwidth": 8, "is_symmetric": "True", "max": 1.27, "min": -1.28, "offset": -128,
           "scale": 0.01}],
    "z": [{"bitwidth": 8, "is_symmetric": "True", "max": 1.27, "min": -1.27, "offset": -127,
           "scale": 0.01}]},
  "param_encodings": {
    "w": [{"bitwidth": 8, "is_symmetric": "True", "max": 0.127, "min": -0.128, "offset": -128,
           "scale": 0.001},
          {"bitwidth": 8, "is_symmetric": "True", "max": 0.254, "min": -0.256, "offset": -128,
           "scale": 0.002}]}})";

TEST(AimetEncodings, ReadsOffsetsAsZeroPoints) {
  const CalibrationTable table = read("aimet", kAimet).table;
  ASSERT_EQ(table.activations.size(), 3U);
  EXPECT_EQ(table.activations[0].affine, (Affine{0.00980392156F, 51}));
  EXPECT_EQ(table.activations[0].dtype, DType::kUInt8);
  EXPECT_EQ(table.activations[1].affine, (Affine{0.01F, 0}));
  EXPECT_EQ(table.activations[1].dtype, DType::kInt8);
  EXPECT_EQ(table.activations[2].affine, (Affine{0.01F, 0}));
  ASSERT_EQ(table.weights.size(), 1U);
  EXPECT_THAT(table.weights[0].affines.scales, ElementsAre(0.001F, 0.002F));
  EXPECT_EQ(table.weights[0].affines.axis, 0);
}

TEST(AimetEncodings, ReadsBackWhatItWrites) {
  const CalibrationTable table = read("aimet", kAimet).table;
  const std::string text = write("aimet", table);
  EXPECT_EQ(read("aimet", text).table, table);
  EXPECT_EQ(write("aimet", read("aimet", text).table), text);
  EXPECT_THAT(text, HasSubstr(R"("is_symmetric": "True")"));
  EXPECT_THAT(text, HasSubstr(R"("offset": -127)"));
}

TEST(AimetEncodings, KnowsTheAxisOfAWeightFromTheModel) {
  const LayerNames names = {{"fc", "Gemm", "x", "y", "w", 1}};
  const CalibrationTable table = read("aimet", kAimet, names).table;
  EXPECT_EQ(table.weights[0].affines.axis, 1);
  EXPECT_EQ(table.weights[0].consumer, "fc");
}

std::string aimet_with(std::string_view activation, std::string_view parameters = "{}") {
  return to_text(R"({"version": "0.4.0", "activation_encodings": {"x": )", activation,
                 R"(}, "param_encodings": )", parameters, "}");
}

TEST(AimetEncodings, RefusesWhatItCannotHold) {
  const std::string head = R"([{"is_symmetric": "False", "max": 1, "min": 0, "scale": 0.1, )";
  EXPECT_THAT(format_message("aimet", aimet_with(head + R"("bitwidth": 16, "offset": 0}])")),
              HasSubstr("8 bits"));
  EXPECT_THAT(format_message("aimet", aimet_with(head + R"("bitwidth": 8, "offset": 3}])")),
              HasSubstr("offset"));
  EXPECT_THAT(format_message("aimet", aimet_with(head + R"("bitwidth": 8, "offset": -256}])")),
              HasSubstr("-255 to 0"));
  EXPECT_THAT(format_message("aimet", aimet_with("[]")), HasSubstr("at least one"));
  EXPECT_THAT(format_message("aimet", R"({"version": "1.0.0", "activation_encodings": []})"),
              HasSubstr("0.4.0"));
  EXPECT_THAT(format_message("aimet", aimet_with(R"([{"is_symmetric": "yes", "max": 1, "min": 0,
                         "scale": 0.1, "bitwidth": 8, "offset": 0}])")),
              HasSubstr("True"));
}

TEST(AimetEncodings, LeavesOutParametersItCannotUseAndSaysSo) {
  const TableReadResult result =
      read("aimet", R"({"version": "0.4.0", "activation_encodings": {}, "param_encodings": {
        "bias": [{"bitwidth": 32, "is_symmetric": "True", "max": 1, "min": -1,
                  "offset": -2147483648, "scale": 1e-9}]}})");
  EXPECT_THAT(result.table.weights, IsEmpty());
  EXPECT_THAT(result.notes, ElementsAre(HasSubstr("parameter 'bias' is left out")));
}

// -- TPU-MLIR --

constexpr std::string_view kTpu =
    "# generated by a tool\n# sample number: 100\n###\n"
    "# op_name    threshold    min    max\n"
    "images 1.0000080 0.0000000 1.0000080\n"
    "122_Conv 56.4281803 -102.5830231 97.6811752\n";

TEST(TpuMlirTable, ReadsThresholdsAndObservedEndsBehindComments) {
  const CalibrationTable table = read("tpu_mlir", kTpu).table;
  ASSERT_EQ(table.activations.size(), 2U);
  EXPECT_EQ(table.activations[0].range, (Range{0.0F, 1.0000080F}));
  EXPECT_EQ(table.activations[1].range, (Range{-56.4281803F, 56.4281803F}));
  EXPECT_EQ(table.activations[1].observed.min, -102.5830231F);
  const std::string text = write("tpu_mlir", table);
  EXPECT_EQ(read("tpu_mlir", text).table, table);
  EXPECT_THAT(text, testing::StartsWith("# op_name"));
}

TEST(TpuMlirTable, MapsOperationsToTheirOutputs) {
  const LayerNames names = {{"c", "Conv", "images", "122", "w", 0}};
  const CalibrationTable table = read("tpu_mlir", kTpu, names).table;
  EXPECT_EQ(table.activations[1].tensor, "122");
  TableWriteOptions options;
  options.names = names;
  EXPECT_THAT(write("tpu_mlir", table, options), HasSubstr("\n122_Conv 56.42818"));
}

TEST(TpuMlirTable, RefusesWhatIsNotOne) {
  EXPECT_THAT(format_message("tpu_mlir", "a 1 2\n"), HasSubstr("<threshold>"));
  EXPECT_THAT(format_message("tpu_mlir", "a 1 x 2\n"), HasSubstr("a number"));
  EXPECT_THAT(format_message("tpu_mlir", "a -1 0 2\n"), HasSubstr("threshold"));
  EXPECT_THAT(format_message("tpu_mlir", "a 1 3 2\n"), HasSubstr("min not above max"));
  EXPECT_THAT(format_message("tpu_mlir", "a inf 0 2\n"), HasSubstr("finite"));
}

// -- all --

TEST(Formats, AreRecognisedByTheirContent) {
  const auto name = [](std::string_view bytes) { return recognise(bytes, "file").name; };
  EXPECT_EQ(name(kCache), "tensorrt");
  EXPECT_EQ(name(kNcnn), "ncnn");
  EXPECT_EQ(name("conv1 7.5 \n"), "ncnn");
  EXPECT_EQ(name("#conv1_param_0 7.5 \nconv1 2 \n"), "ncnn");
  EXPECT_EQ(name("conv1 7.5\n"), "ort_cache");
  EXPECT_EQ(name("a b c 7.5\r\n"), "ort_cache");
  EXPECT_EQ(name(R"({"x": [0, 1]})"), "ort_json");
  EXPECT_EQ(name(kAimet), "aimet");
  EXPECT_EQ(name(kTpu), "tpu_mlir");
  EXPECT_EQ(name(write_table({})), "qtool");
  EXPECT_EQ(code_of([&] { name("hello\n"); }), ErrorCode::kInvalidTable);
  EXPECT_EQ(code_of([&] { name(""); }), ErrorCode::kInvalidTable);
}

TEST(Formats, AreFoundByNameOrNamedWhenNear) {
  EXPECT_EQ(find_format("ncnn").name, "ncnn");
  try {
    find_format("tensort");
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUsage);
    EXPECT_THAT(error.what(), HasSubstr("did you mean 'tensorrt'"));
  }
}

TEST(Formats, SayWhatTheyLoseOfATable) {
  CalibrationTable table;
  table.activations = {asymmetric_entry("x")};
  table.weights.push_back({"w", "conv", {{1.0F}, {}, 0}});
  EXPECT_THAT(
      lost_contents(table, find_format("tensorrt")),
      ElementsAre(TableContent::kRanges, TableContent::kTypes, TableContent::kWeightScales));
  EXPECT_THAT(lost_contents(table, find_format("aimet")), IsEmpty());
  EXPECT_THAT(lost_contents(read("tensorrt", kCache).table, find_format("tensorrt")), IsEmpty());
  table.image_count = 3;
  EXPECT_THAT(lost_contents(table, find_format("aimet")), ElementsAre(TableContent::kProvenance));
  EXPECT_THAT(lost_contents(table, find_format("qtool")), IsEmpty());
}

TEST(Formats, RefuseActivationsOfOtherThanEightBits) {
  CalibrationTable table;
  table.method_options.scheme.bits = 4;
  for (const FormatInfo& format : formats()) {
    if (format.name == "qtool") continue;
    EXPECT_EQ(code_of([&] { format.write(table, {}); }), ErrorCode::kUnsupported) << format.name;
  }
}

TEST(Formats, LeaveOutWeightsWithZeroPointsAndSaySo) {
  CalibrationTable table;
  table.weights.push_back({"w", "conv", {{1.0F}, {3}, 0}});
  EXPECT_THAT(lost_contents(table, find_format("aimet")), ElementsAre(TableContent::kWeightTypes));
  EXPECT_THAT(read("aimet", write("aimet", table)).table.weights, IsEmpty());
  EXPECT_EQ(write("ncnn", table), "");
  EXPECT_THAT(lost_contents(table, find_format("qtool")), IsEmpty());
}

TEST(NameMap, IsReadFromJson) {
  const LayerNames names =
      layer_names_from_json(R"([{"layer": "c", "input": "x", "weight": "w", "axis": 1}])");
  EXPECT_THAT(names, ElementsAre(LayerName{"c", "", "x", "", "w", 1}));
  const auto fails = [](std::string_view text) {
    return code_of([&] { layer_names_from_json(text); }) == ErrorCode::kUsage;
  };
  EXPECT_TRUE(fails("{}"));
  EXPECT_TRUE(fails(R"([{"input": "x"}])"));
  EXPECT_TRUE(fails(R"([{"layer": "c", "inputs": "x"}])"));
  EXPECT_TRUE(fails(R"([{"layer": "c"}, {"layer": "c"}])"));
}

}  // namespace
}  // namespace qtool

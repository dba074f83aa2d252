// Images of several sizes in one evaluation, where the network leaves their height and width open.
#include <gmock/gmock.h>

#include <string>

#include "qtool/base/error.h"
#include "qtool/compare/evaluate.h"
#include "qtool/exec/executor.h"
#include "qtool/graph/onnx.h"
#include "qtool/image/image.h"
#include "support/image_folder.h"
#include "support/parse_onnx.h"

namespace qtool {
namespace {

Executor halving(const std::string& height) {
  return Executor(prepare(load_text(R"(<ir_version: 8, opset_import: [ "" : 13 ]>
    g (float[N, 3, )" + height + R"(, W] x) => (float[N, 3, H, V] y)
    { half = Constant <value = float {0.5}> ()  y = Mul (x, half) })")));
}

class EvalImageShapes : public testing::Test {
 protected:
  void SetUp() override { folder_.add("larger.ppm", 7, 9); }

  ImageFolder folder_{5, 2};
};

TEST_F(EvalImageShapes, RunsEachImageInItsOwnSize) {
  const Executor network = halving("H");
  const Samples images(list_images(folder_.path()));
  const EvalResult result = evaluate(network, &network, images, {});
  ASSERT_EQ(result.samples.size(), 3U);
  EXPECT_EQ(result.images, 3);
  EXPECT_EQ(result.outputs.at(0).max_abs_error, 0.0);
}

TEST_F(EvalImageShapes, NamesAnImageThatAFixedExtentDoesNotTake) {
  const Executor network = halving("5");
  const Samples images(list_images(folder_.path()));
  try {
    evaluate(network, nullptr, images, {});
    ADD_FAILURE() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kMismatch);
    EXPECT_THAT(error.what(), testing::HasSubstr("larger.ppm' becomes [1, 3, 9, 9]"));
    EXPECT_THAT(error.what(), testing::HasSubstr("a resize brings all images to one size"));
  }
}

}  // namespace
}  // namespace qtool

#include "answers/detector_signs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace qtool {
namespace {

using testing::HasSubstr;

// Detectors as a whole are tested in detector_search_test.cpp.
std::string misfit_of_classes(float other_classes, float objectness) {
  Tensor map(DType::kFloat32, {1, 7, 4, 4});
  std::vector<float> channels{objectness, 0.0F, 0.0F, 0.0F, 0.0F, 0.75F, other_classes};
  for (std::size_t i = 0; i < 7 * 16; ++i) map.values<float>()[i] = channels[i / 16];
  const std::vector<PortInfo> ports{{"map", DType::kFloat32, map.shape()}};
  const BoxDecoder decoder(find_detector("fastestdet"), ports, {1, 3, 64, 64}, ChannelAxis::kFirst);
  const std::vector<TensorView> outputs{map};
  return misfit_by(DetectorSigns::kMap, decoder.detector(), decoder.survey(outputs, 0), outputs);
}

TEST(DetectorSigns, ClassesOfACellSumToOneWhateverItsObjectnessIs) {
  EXPECT_EQ(misfit_of_classes(0.25F, 0.1F), "");
  EXPECT_EQ(misfit_of_classes(0.25F, 0.9F), "");
  EXPECT_THAT(misfit_of_classes(0.0F, 0.25F),
              HasSubstr("found classes of a cell that sum to 0.75, expected 1"));
}

}  // namespace
}  // namespace qtool

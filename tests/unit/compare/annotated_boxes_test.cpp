#include "compare/annotated_boxes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "qtool/base/error.h"

namespace qtool {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Samples images_called(const std::vector<std::string>& paths) {
  ImageSet set;
  for (const std::string& path : paths) set.entries.push_back({path, -1});
  return set;
}

// One object of category 1 at (0, 0) to (100, 100) of a photograph of 200 x 100 pixels.
BoxAnnotations one_object(const std::string& file) {
  BoxAnnotations annotations;
  annotations.categories = {1, 3};
  annotations.images = {{file, 200, 100, {{1, 0, 0, 100, 100, 10000, false}}}};
  return annotations;
}

Preprocess letterbox() {
  Preprocess preprocess;
  preprocess.resize = ResizeMode::kLetterbox;
  preprocess.resize_width = preprocess.resize_height = 100;
  return preprocess;
}

TEST(CategoriesOf, AreInTheOrderOfTheirIdsOrTheIdsThemselves) {
  const BoxAnnotations annotations = one_object("a.jpg");
  EXPECT_THAT(categories_of(annotations, 2), ElementsAre(0, 1));
  EXPECT_THAT(categories_of(annotations, 3), ElementsAre(0, -1, 1));
  EXPECT_THAT(categories_of(annotations, 4), ElementsAre(-1, 0, -1, 1)) << "as in DETR";
  EXPECT_THAT(categories_of(annotations, 0), ElementsAre(0, 1)) << "as in YOLO26";
  try {
    categories_of(annotations, 80);
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kMismatch);
    EXPECT_THAT(error.what(), HasSubstr("80 classes, expected 2"));
  }
}

// The letterbox makes the photograph half as large and moves it down by 25 pixels.
TEST(AnnotatedBoxes, LiesInTheImageFile) {
  const BoxAnnotations annotations = one_object("a.jpg");
  AnnotatedBoxes boxes(annotations, images_called({"photos/a.jpg", "photos/b.jpg"}), letterbox(),
                       2);
  boxes.add(0, {200, 100}, std::vector<Box>{{0, 25, 50, 75, 1, 0.9F}},
            std::vector<Box>{{0, 25, 50, 75, 0, 0.9F}});
  boxes.add(1, {200, 100}, {}, {});
  const BoxAccuracy accuracy = boxes.result();
  EXPECT_EQ(accuracy.images, 1);
  EXPECT_EQ(accuracy.unnamed, 1);
  EXPECT_EQ(accuracy.boxes, 1);
  EXPECT_NEAR(*accuracy.fp32.all, 1.0, 1e-12);
  EXPECT_EQ(*accuracy.int8.all, 0.0) << "another class";
  EXPECT_FALSE(accuracy.change_interval) << "of one image";
}

// A photograph that was turned or made smaller after it was annotated.
TEST(AnnotatedBoxes, LeaveOutImagesOfAnotherSize) {
  const BoxAnnotations annotations = one_object("a.jpg");
  AnnotatedBoxes boxes(annotations, images_called({"a.jpg"}), letterbox(), 2);
  boxes.add(0, {100, 200}, {}, {});
  const BoxAccuracy accuracy = boxes.result();
  EXPECT_EQ(accuracy.images, 0);
  EXPECT_EQ(accuracy.other_size, 1);
  EXPECT_EQ(accuracy.first_other_size, "'a.jpg' has 100x200 pixels, its annotation says 200x100");
  EXPECT_EQ(accuracy.fp32.all, std::nullopt);
}

TEST(AnnotatedBoxes, FindsTheImageByTheEndOfItsPath) {
  const auto images_of = [](const std::string& file) {
    const BoxAnnotations annotations = one_object(file);
    AnnotatedBoxes boxes(annotations, images_called({"/data/val/a.jpg"}), letterbox(), 2);
    boxes.add(0, {200, 100}, {}, {});
    return boxes.result().images;
  };
  EXPECT_EQ(images_of("a.jpg"), 1);
  EXPECT_EQ(images_of("val/a.jpg"), 1);
  EXPECT_EQ(images_of("/data/val/a.jpg"), 1);
  for (const char* other : {"train/a.jpg", "xa.jpg", "l/a.jpg"}) {
    try {
      images_of(other);
      ADD_FAILURE() << other;
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr("none of 1 images is annotated"));
    }
  }
}

}  // namespace
}  // namespace qtool

#include "compare/annotated_boxes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "qtool/base/error.h"

namespace qtool {
namespace {

using testing::HasSubstr;

Samples images_called(const std::vector<std::string>& paths) {
  ImageSet set;
  for (const std::string& path : paths) set.entries.push_back({path, -1});
  return set;
}

// One object of category 1 at (0, 0) to (100, 100) of a photograph of 200 x 100 pixels.
BoxAnnotations one_object(const std::string& file) {
  BoxAnnotations annotations;
  annotations.categories = {{1, "cat"}, {3, "traffic light"}};
  annotations.images = {{file, 200, 100, {{1, 0, 0, 100, 100, 10000, false}}}};
  return annotations;
}

EvalOptions with_letterbox(const BoxAnnotations& annotations) {
  EvalOptions options;
  options.annotations = &annotations;
  options.preprocess.resize = ResizeMode::kLetterbox;
  options.preprocess.resize_width = options.preprocess.resize_height = 100;
  return options;
}

// The letterbox makes the photograph half as large and moves it down by 25 pixels.
TEST(AnnotatedBoxes, LiesInTheImageFile) {
  const BoxAnnotations annotations = one_object("a.jpg");
  AnnotatedBoxes boxes(with_letterbox(annotations), images_called({"photos/a.jpg", "photos/b.jpg"}),
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

// The network counts its classes otherwise than the annotations, and has others too.
TEST(AnnotatedBoxes, HaveTheCategoriesThatNamesSay) {
  const BoxAnnotations annotations = one_object("a.jpg");
  EvalOptions options = with_letterbox(annotations);
  options.class_names = {"Traffic_Light", "bird", "cat"};
  AnnotatedBoxes boxes(options, images_called({"a.jpg"}), 3);
  boxes.add(0, {200, 100}, std::vector<Box>{{0, 25, 50, 75, 0, 0.9F}},
            std::vector<Box>{{0, 25, 50, 75, 2, 0.9F}});
  const BoxAccuracy accuracy = boxes.result();
  EXPECT_EQ(accuracy.categories.by, CategoriesBy::kNames);
  EXPECT_NEAR(*accuracy.fp32.all, 1.0, 1e-12);
  EXPECT_EQ(*accuracy.int8.all, 0.0) << "the last class is another category";
}

TEST(AnnotatedBoxes, DoNotCountObjectsThatAreNoClass) {
  BoxAnnotations annotations = one_object("a.jpg");
  annotations.images[0].boxes.push_back({0, 0, 0, 10, 10, 100, false});
  annotations.images[0].boxes.push_back({0, 50, 0, 10, 10, 100, true});
  EvalOptions options = with_letterbox(annotations);
  options.class_names = {"traffic-light"};
  AnnotatedBoxes boxes(options, images_called({"a.jpg"}), 1);
  const std::vector<Box> found{{0, 25, 50, 75, 0, 0.9F}};
  boxes.add(0, {200, 100}, found, found);
  const BoxAccuracy accuracy = boxes.result();
  EXPECT_EQ(accuracy.boxes, 1);
  EXPECT_EQ(accuracy.categories.boxes_without_class, 1) << "a crowd is no object to find";
  EXPECT_EQ(accuracy.categories.names_without_class(), "'cat'");
  EXPECT_NEAR(*accuracy.fp32.all, 1.0, 1e-12) << "the cat is not missed";
}

// A photograph that was turned or made smaller after it was annotated.
TEST(AnnotatedBoxes, LeaveOutImagesOfAnotherSize) {
  const BoxAnnotations annotations = one_object("a.jpg");
  AnnotatedBoxes boxes(with_letterbox(annotations), images_called({"a.jpg"}), 2);
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
    AnnotatedBoxes boxes(with_letterbox(annotations), images_called({"/data/val/a.jpg"}), 2);
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

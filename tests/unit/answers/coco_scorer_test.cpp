// The expected figures are worked out by hand from the definition that COCO publishes (see the
// header), not by pycocotools. The arithmetic stands beside each of them.
#include "answers/coco_scorer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/text.h"
#include "qtool/answers/annotations.h"
#include "qtool/base/error.h"

namespace qtool {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

AnnotatedBox truth(double left, double top, double side, bool crowd = false) {
  return {0, left, top, side, side, side * side, crowd};
}

FoundBox found_box(double left, double top, double side, float score) {
  return {0, left, top, side, side, score};
}

struct CocoImage {
  std::vector<AnnotatedBox> truths;
  std::vector<FoundBox> found;
};

AnnotatedPrecision precision(const std::vector<CocoImage>& images,
                             CocoFigures figures = CocoFigures::kAll) {
  std::vector<std::vector<CocoMatches>> matches;
  for (const CocoImage& image : images) {
    matches.push_back(match_annotated(image.truths, image.found));
  }
  std::vector<const std::vector<CocoMatches>*> all;
  for (const auto& one : matches) all.push_back(&one);
  return precision_of(all, figures);
}

// Image 1 has two objects of 10 x 10 pixels. The model finds one exactly (0.9), then something that
// is not there (0.8), then the other one, shifted by 2: common 80, union 120, IoU 0.667 (0.7).
// Image 2 has one object of 100 x 100 pixels, which is not found.
const std::vector<CocoImage> kThreeObjects = {
    {{truth(0, 0, 10), truth(20, 0, 10)},
     {found_box(0, 0, 10, 0.9F), found_box(50, 50, 10, 0.8F), found_box(22, 0, 10, 0.7F)}},
    {{truth(0, 0, 100)}, {}}};

TEST(CocoPrecision, IsTheMeanOverRecallsAndIous) {
  const AnnotatedPrecision result = precision(kThreeObjects);
  // At IoU 0.50 to 0.65 the boxes are right, wrong, right. Recall 1/3, 1/3, 2/3; precision 1, 1/2,
  // 2/3, from the right 1, 2/3, 2/3. Recalls 0 to 0.33 (34 of them) have 1, 0.34 to 0.66 (33) have
  // 2/3, the others 0: (34 + 22) / 101.
  const double loose = 56.0 / 101.0;
  // From IoU 0.70 on the third box is wrong: 34 / 101.
  const double strict = 34.0 / 101.0;
  EXPECT_NEAR(*result.iou50, loose, 1e-12);
  EXPECT_NEAR(*result.iou75, strict, 1e-12);
  EXPECT_NEAR(*result.all, (4 * loose + 6 * strict) / 10, 1e-12);
  // Recall 2/3 at four IoUs and 1/3 at six.
  EXPECT_NEAR(*result.recall, (4 * 2.0 / 3.0 + 6 / 3.0) / 10, 1e-12);
  // Only the two small ones count. Right, wrong, right: recall 1/2, 1/2, 1, precision from the
  // right 1, 2/3, 2/3. Recalls 0 to 0.50 (51) have 1, the other 50 have 2/3. From IoU 0.70 on: 51 /
  // 101.
  EXPECT_NEAR(*result.small, (4 * (51 + 50 * 2.0 / 3.0) + 6 * 51) / 1010, 1e-12);
  EXPECT_EQ(result.medium, std::nullopt);
  // The large object is not found, and boxes of other sizes are neither right nor wrong.
  EXPECT_EQ(result.large, 0.0);
  EXPECT_NEAR(*precision(kThreeObjects, CocoFigures::kOnlyMean).all, *result.all, 1e-15);
  EXPECT_EQ(precision(kThreeObjects, CocoFigures::kOnlyMean).iou50, std::nullopt);
}

// 35 of 100 objects are found. The recall 0.35 is below numpy's 35 * 0.01 = 0.35000000000000003, so
// that only the 35 recalls from 0 to 0.34 are reached.
TEST(CocoPrecision, TakesTheRecallsOfNumpy) {
  CocoImage image;
  for (int i = 0; i < 100; ++i) image.truths.push_back(truth(20.0 * i, 0, 10));
  for (int i = 0; i < 35; ++i) image.found.push_back(found_box(20.0 * i, 0, 10, 0.5F));
  EXPECT_NEAR(*precision({image}).all, 35.0 / 101.0, 1e-12);
}

TEST(CocoPrecision, DoesNotCountBoxesInsideACrowd) {
  // The first two boxes lie in the crowd with all of their area, and a crowd takes any number.
  const CocoImage image{
      {truth(0, 0, 100, true), truth(200, 0, 10)},
      {found_box(10, 10, 10, 0.9F), found_box(30, 10, 10, 0.8F), found_box(200, 0, 10, 0.7F)}};
  EXPECT_NEAR(*precision({image}).all, 1.0, 1e-12);
  // 0.4 of the area of the second box lie in the crowd, so it is wrong at all IoUs. Right,
  // wrong: all recalls are reached with precision 1. Wrong, right: with 1/2.
  CocoImage beside = image;
  beside.found = {found_box(200, 0, 10, 0.9F), found_box(96, 0, 10, 0.8F)};
  EXPECT_NEAR(*precision({beside}).all, 1.0, 1e-12);
  beside.found = {found_box(200, 0, 10, 0.7F), found_box(96, 0, 10, 0.8F)};
  EXPECT_NEAR(*precision({beside}).all, 0.5, 1e-12);
}

TEST(CocoPrecision, LooksAtTheBestHundredBoxesOfAnImage) {
  CocoImage image{{truth(0, 0, 10)}, {found_box(0, 0, 10, 0.1F)}};
  for (int i = 0; i < 99; ++i) image.found.push_back(found_box(500, 0, 10, 0.9F));
  EXPECT_NEAR(*precision({image}).all, 0.01, 1e-12);  // 1 right of 100
  image.found.push_back(found_box(500, 0, 10, 0.9F));
  EXPECT_EQ(*precision({image}).all, 0.0);
}

// COCO sorts stably: with equal scores, a box of an earlier image comes first, and within an image
// the first one.
TEST(CocoPrecision, KeepsTheOrderOfEqualScores) {
  const CocoImage right{{truth(0, 0, 10)}, {found_box(0, 0, 10, 0.5F)}};
  const CocoImage wrong{{}, {found_box(50, 0, 10, 0.5F)}};
  EXPECT_NEAR(*precision({right, wrong}).all, 1.0, 1e-12);  // right, wrong
  EXPECT_NEAR(*precision({wrong, right}).all, 0.5, 1e-12);  // wrong, right
  // Both boxes suit the only object; the first takes it, although the second lies better (IoU 1,
  // not 0.667). At IoU 0.50 to 0.65: right, wrong, 1. From 0.70 on: wrong, right, 1/2.
  const CocoImage two{{truth(0, 0, 10)}, {found_box(2, 0, 10, 0.5F), found_box(0, 0, 10, 0.5F)}};
  EXPECT_NEAR(*precision({two}).all, (4 * 1.0 + 6 * 0.5) / 10, 1e-12);
}

// One hundred boxes of each image and category count, not of all images or categories together.
TEST(CocoPrecision, CountsAHundredBoxesForEachImageAndCategory) {
  std::vector<CocoImage> images(2);
  for (CocoImage& image : images) {
    image.truths.push_back(truth(0, 0, 10));
    for (int i = 0; i < 99; ++i) image.found.push_back(found_box(500, 0, 10, 0.9F));
    image.found.push_back(found_box(0, 0, 10, 0.1F));
  }
  // 198 wrong boxes, then two right ones: precision 1/199 and 2/200, from the right 0.01 at all
  // recalls.
  EXPECT_NEAR(*precision(images).all, 0.01, 1e-12);
  for (int i = 0; i < 60; ++i) {
    FoundBox other = found_box(0, 0, 10, 0.95F);
    other.category = 1;
    images[0].found.push_back(other);
  }
  EXPECT_NEAR(*precision(images).all, 0.01, 1e-12);
}

// The area of the annotation decides, which may be smaller than its box. 32^2 pixels are small and
// medium, 96^2 are medium and large.
TEST(CocoPrecision, TakesTheAreaOfTheAnnotation) {
  AnnotatedBox thin = truth(0, 0, 100);
  thin.area = 900.0;
  const AnnotatedPrecision one = precision({{{thin}, {found_box(0, 0, 100, 0.9F)}}});
  EXPECT_NEAR(*one.small, 1.0, 1e-12);
  EXPECT_EQ(one.medium, std::nullopt);
  EXPECT_EQ(one.large, std::nullopt);
  const AnnotatedPrecision border = precision({{{truth(0, 0, 32)}, {found_box(0, 0, 32, 0.9F)}}});
  EXPECT_NEAR(*border.small, 1.0, 1e-12);
  EXPECT_NEAR(*border.medium, 1.0, 1e-12);
  const AnnotatedPrecision high = precision({{{truth(0, 0, 96)}, {}}});
  EXPECT_EQ(high.medium, 0.0);
  EXPECT_EQ(high.large, 0.0);
  EXPECT_EQ(high.small, std::nullopt);
}

// A crowd is no object to find. A category that has only crowds has no figure, and a crowd of
// another category changes nothing.
TEST(CocoPrecision, OfACategoryWithOnlyACrowdIsNone) {
  const CocoImage crowd{{truth(0, 0, 100, true)}, {found_box(10, 10, 10, 0.9F)}};
  EXPECT_EQ(precision({crowd}).all, std::nullopt);
  CocoImage both{{truth(0, 0, 100, true), truth(0, 0, 10)}, {found_box(0, 0, 10, 0.9F)}};
  both.truths[1].category = 2;
  both.found[0].category = 2;
  EXPECT_NEAR(*precision({both}).all, 1.0, 1e-12);
}

TEST(CocoPrecision, IsTheMeanOverCategoriesWithAnObject) {
  CocoImage image = kThreeObjects[0];
  const double one = *precision({image}).all;
  FoundBox other = found_box(0, 0, 10, 0.9F);
  other.category = 7;  // without an object: it does not count
  image.found.push_back(other);
  EXPECT_NEAR(*precision({image}).all, one, 1e-12);
  AnnotatedBox missed = truth(0, 0, 10);
  missed.category = 3;
  image.truths.push_back(missed);
  EXPECT_NEAR(*precision({image}).all, one / 2, 1e-12);
  EXPECT_EQ(precision({}).all, std::nullopt);
}

// The fields of an annotation that follow `image_id` and `category_id`.
BoxAnnotations coco_file(const std::string& annotation, const std::string& image = "\"id\": 7",
                         const std::string& category = "\"id\": 18") {
  return annotations_from_json(
      to_text(
          R"({"info": {"year": 2017}, "images": [{"file_name": "a.jpg", "width": 640, "height": )",
          "480, ", image, R"(}], "categories": [{)", category,
          R"(, "name": "dog"}, {"id": 1, "name": "person"}], "annotations": [{)", annotation,
          "}]}"),
      "c.json");
}

std::string refusal(const std::string& annotation, const std::string& image = "\"id\": 7",
                    const std::string& category = "\"id\": 18") {
  try {
    coco_file(annotation, image, category);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUsage);
    return error.what();
  }
  return "";
}

// Of a file whose only category has this name.
std::string named_refusal(const std::string& name) {
  try {
    annotations_from_json(
        to_text(R"({"images": [{"id": 1, "file_name": "a.jpg", "width": 4, "height": 4}],
                    "categories": [{"id": 1, "name": )",
                name, R"(}], "annotations": []})"),
        "c.json");
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Annotations, AreReadFromTheFormatOfCoco) {
  const BoxAnnotations read_back = coco_file(
      R"("id": 1, "image_id": 7, "category_id": 18, "bbox": [1.5, 2, 30, 40.25], "area": 600.5,
         "iscrowd": 0, "segmentation": [[1, 2, 3, 4]])");
  ASSERT_EQ(read_back.categories.size(), 2U);
  EXPECT_EQ(read_back.categories[0].id, 1);
  EXPECT_EQ(read_back.categories[0].name, "person");
  EXPECT_EQ(read_back.categories[1].id, 18);
  EXPECT_EQ(read_back.categories[1].name, "dog");
  ASSERT_EQ(read_back.images.size(), 1U);
  EXPECT_EQ(read_back.images[0].file, "a.jpg");
  EXPECT_EQ(read_back.images[0].height, 480);
  ASSERT_EQ(read_back.images[0].boxes.size(), 1U);
  const AnnotatedBox& box = read_back.images[0].boxes[0];
  EXPECT_EQ(box.category, 1);
  EXPECT_EQ(box.left, 1.5);
  EXPECT_EQ(box.height, 40.25);
  EXPECT_EQ(box.area, 600.5);
  EXPECT_FALSE(box.crowd);
  EXPECT_EQ(
      coco_file(R"("image_id": 7, "category_id": 1, "bbox": [0, 0, 3, 4])").images[0].boxes[0].area,
      12.0);
}

TEST(Annotations, NameFilesOfAnotherSystem) {
  const BoxAnnotations annotations = annotations_from_json(
      R"({"images": [{"id": 1, "file_name": "train\\set\\a.jpg", "width": 4, "height": 4}],
          "categories": [{"id": 1}], "annotations": []})",
      "c.json");
  EXPECT_EQ(annotations.images[0].file, "train/set/a.jpg");
  EXPECT_EQ(annotations.categories[0].name, "") << "there is none";
}

TEST(Annotations, AreRefusedWithTheFieldThatIsWrong) {
  const std::string box = R"("image_id": 7, "category_id": 18, "bbox": )";
  EXPECT_THAT(refusal(box + "[1, 2, 3]"), HasSubstr("annotations[0].bbox: found an array of 3"));
  EXPECT_THAT(refusal(box + "[1, 2, -3, 4]"), HasSubstr("annotations[0].bbox[2]: found -3"));
  EXPECT_THAT(refusal(box + "[1, 2, 1e300, 4]"), HasSubstr("annotations[0].bbox[2]"));
  EXPECT_THAT(refusal(R"("image_id": 8, "category_id": 18, "bbox": [1, 2, 3, 4])"),
              HasSubstr("annotations[0].image_id: found 8, expected an id of the same file"));
  EXPECT_THAT(refusal(R"("image_id": 7, "category_id": 2, "bbox": [1, 2, 3, 4])"),
              HasSubstr("annotations[0].category_id: found 2"));
  EXPECT_THAT(refusal(box + R"([1, 2, 3, 4], "iscrowd": 2)"), HasSubstr("iscrowd: found 2"));
  EXPECT_THAT(refusal(box + "[1, 2, 3, 4]", "\"id\": -1"), HasSubstr("images[0].id: found -1"));
  EXPECT_THAT(refusal(box + "[1, 2, 3, 4]", "\"id\": 7", "\"id\": 1"), HasSubstr("1 occurs twice"));
  EXPECT_THAT(named_refusal("3"), HasSubstr("categories[0].name: found 3, expected a string"));
  EXPECT_THAT(named_refusal(to_text('"', std::string(1001, 'x'), '"')),
              HasSubstr("at most 1000 bytes"));
  EXPECT_THAT(refusal(box + "[1, 2, 3, 4]", "\"id\": 7, \"width\": 0"), HasSubstr("width"));
  EXPECT_THAT(refusal(box + "[1, 2, 3, 4]", "\"id\": 7, \"width\": 65535, \"height\": 65535"),
              HasSubstr("height: found 65535, expected at most 268435456 pixels in all"));
}

}  // namespace
}  // namespace qtool

#include "answers/category_mapping.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "qtool/base/error.h"

namespace qtool {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

BoxAnnotations with(std::vector<BoxCategory> categories) {
  BoxAnnotations annotations;
  annotations.categories = std::move(categories);
  return annotations;
}

const std::vector<BoxCategory> kTwo{{1, "person"}, {3, "traffic light"}};

std::vector<std::int64_t> of_class(std::int64_t classes) {
  return map_categories(with(kTwo), classes, {}).of_class;
}

std::string mapping_refusal(const BoxAnnotations& annotations, std::int64_t classes,
                            const std::vector<std::string>& names) {
  try {
    map_categories(annotations, classes, names);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kMismatch);
    return error.what();
  }
  return "";
}

TEST(MapCategories, FollowsTheOrderOfTheIdsOrTheIdsThemselvesWithoutNames) {
  EXPECT_THAT(of_class(2), ElementsAre(0, 1));
  EXPECT_THAT(of_class(3), ElementsAre(0, -1, 1));
  EXPECT_THAT(of_class(4), ElementsAre(-1, 0, -1, 1)) << "as in DETR";
  EXPECT_THAT(of_class(0), ElementsAre(0, 1)) << "as in YOLO26";
  EXPECT_EQ(map_categories(with(kTwo), 2, {}).match.by, CategoriesBy::kOrder);
  EXPECT_EQ(map_categories(with(kTwo), 3, {}).match.by, CategoriesBy::kIds);
  EXPECT_FALSE(map_categories(with(kTwo), 3, {}).match.is_guess());
  EXPECT_FALSE(map_categories(with(kTwo), 2, {}).match.classes_named);
}

// COCO has 80 categories with ids from 1 to 90.
TEST(MapCategories, KnowsTheGapsOfCoco) {
  BoxAnnotations coco;
  for (std::int64_t id = 1; id <= 90; ++id) {
    if (id % 9 != 0 || id == 90) coco.categories.push_back({id, {}});
  }
  ASSERT_EQ(coco.categories.size(), 81U);
  coco.categories.erase(coco.categories.begin() + 1);  // id 2
  const CategoryMapping eighty = map_categories(coco, 80, {});
  EXPECT_EQ(eighty.match.by, CategoriesBy::kOrder);
  EXPECT_FALSE(eighty.match.is_guess());
  EXPECT_EQ(eighty.of_class[1], 1) << "id 3";
  EXPECT_EQ(map_categories(coco, 90, {}).of_class[2], 1);
  EXPECT_EQ(map_categories(coco, 91, {}).of_class[3], 1);
}

TEST(MapCategories, SaysThatTheOrderIsAGuessForFewerCategories) {
  const CategoryMapping mapping = map_categories(with(kTwo), 80, {});
  EXPECT_TRUE(mapping.match.is_guess());
  EXPECT_EQ(mapping.match.classes, 80);
  EXPECT_EQ(mapping.of_class.size(), 80U);
  EXPECT_EQ(mapping.of_class[1], 1);
  EXPECT_EQ(mapping.of_class[2], -1);
}

// Such as YOLO26, whose classes are numbers in a channel.
TEST(MapCategories, SaysThatTheOrderIsAGuessForAnUnknownNumberOfClasses) {
  EXPECT_TRUE(map_categories(with(kTwo), 0, {}).match.is_guess());
  const std::vector<std::string> names{"person", "traffic light"};
  EXPECT_FALSE(map_categories(with(kTwo), 0, names).match.is_guess());
}

TEST(MapCategories, GoesByNamesWhateverTheirSpelling) {
  const std::vector<std::string> names{"bicycle", "Traffic-Light", " PERSON"};
  const CategoryMapping mapping = map_categories(with(kTwo), 3, names);
  EXPECT_THAT(mapping.of_class, ElementsAre(-1, 1, 0));
  EXPECT_EQ(mapping.match.by, CategoriesBy::kNames);
  EXPECT_THAT(mapping.match.without_class, IsEmpty());
  EXPECT_THAT(map_categories(with(kTwo), 0, names).of_class, ElementsAre(-1, 1, 0));
}

TEST(MapCategories, NamesTheCategoriesThatAreNoClass) {
  const CategoryMapping mapping = map_categories(
      with({{1, "person"}, {2, "tv"}, {3, ""}, {4, "Person"}, {5, "a"}, {6, "b"}, {7, "c"}}), 2,
      std::vector<std::string>{"person", ""});
  EXPECT_THAT(mapping.of_class, ElementsAre(0, -1));
  EXPECT_THAT(mapping.match.without_class, ElementsAre("tv", "id 3", "Person", "a", "b", "c"))
      << "the lowest id has the class";
  EXPECT_EQ(mapping.match.names_without_class(), "'tv', 'id 3', 'Person', 'a', 'b' ...");
}

TEST(MapCategories, GoesByTheIdsOfCategoriesWithoutNames) {
  const CategoryMapping mapping =
      map_categories(with({{1, ""}, {3, ""}}), 2, std::vector<std::string>{"a", "b"});
  EXPECT_EQ(mapping.match.by, CategoriesBy::kOrder);
  EXPECT_TRUE(mapping.match.classes_named);
}

CategoryMatch match_of_model(std::int64_t classes, const std::vector<std::string>& names) {
  return map_categories(with(kTwo), classes, names, NamesFrom::kModel).match;
}

// A network that was trained further may still have the names of its first data.
TEST(MapCategories, GoesByTheIdsWhereTheNamesOfTheModelDoNotSuit) {
  const CategoryMatch other = match_of_model(2, {"class0", "class1"});
  EXPECT_EQ(other.by, CategoriesBy::kOrder);
  EXPECT_FALSE(other.classes_named);
  EXPECT_TRUE(other.is_guess()) << "the names contradict";
  EXPECT_EQ(other.unsuited_names,
            "none of the 2 categories of the annotations, the first: 'person', has the name of one "
            "of the detector's 2 classes, the first: 'class0'");
  const CategoryMatch fewer = match_of_model(3, {"person", "car"});
  EXPECT_EQ(fewer.by, CategoriesBy::kIds);
  EXPECT_FALSE(fewer.is_guess());
  EXPECT_EQ(fewer.unsuited_names, "the detector has 3 classes, found the names of 2");
  EXPECT_EQ(match_of_model(3, {"person", "car", "bus"}).by, CategoriesBy::kNames);
  EXPECT_EQ(match_of_model(3, {"person", "car", "bus"}).unsuited_names, "");
  try {
    match_of_model(1, {"car"});
    ADD_FAILURE() << "more categories than classes";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("the names in the model's metadata do not suit: none of"));
  }
}

TEST(MapCategories, RefusesWhatNothingMaps) {
  EXPECT_THAT(
      mapping_refusal(with(kTwo), 1, {}),
      HasSubstr("2 categories, more than the detector has classes (1), and nothing names these"));
  EXPECT_THAT(mapping_refusal(with({{1, ""}, {2, ""}}), 1, {"person"}),
              HasSubstr("the categories have no names"));
  EXPECT_THAT(mapping_refusal(with(kTwo), 3, {"person", "car"}),
              HasSubstr("the detector has 3 classes, found the names of 2"));
  EXPECT_THAT(mapping_refusal(with(kTwo), 2, {"class0", "class1"}),
              HasSubstr("none of the 2 categories of the annotations, the first: 'person', has the "
                        "name of one of the detector's 2 classes, the first: 'class0'"));
}

}  // namespace
}  // namespace qtool

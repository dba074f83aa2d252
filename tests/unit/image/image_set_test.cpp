#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/text.h"
#include "qtool/base/error.h"
#include "qtool/image/image.h"

namespace qtool {
namespace {
namespace fs = std::filesystem;

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class ImageSetTest : public testing::Test {
 protected:
  ImageSetTest() { fs::create_directories(root_); }
  ~ImageSetTest() override { fs::remove_all(root_); }

  void add(const std::string& relative, const std::string& bytes = "x") const {
    fs::create_directories((root_ / relative).parent_path());
    write_file(root_ / relative, bytes);
  }

  /// `relative path=label` of every entry.
  [[nodiscard]] std::vector<std::string> names(const ImageSet& set) const {
    std::vector<std::string> result;
    for (const ImageEntry& entry : set.entries) {
      result.push_back(
          to_text(entry.path.lexically_relative(root_).generic_string(), "=", entry.label));
    }
    return result;
  }

  [[nodiscard]] std::string refusal(const fs::path& source,
                                    const std::vector<std::string>& labels) const {
    try {
      static_cast<void>(list_images(source, labels, 0));
    } catch (const Error& error) {
      return error.what();
    }
    return "accepted";
  }

  const fs::path root_ = fs::path(testing::TempDir()) / to_text("qtool_image_set_", ::getpid());
};

TEST_F(ImageSetTest, FoldersAreClassesAtAnyDepthAndInBytewiseOrder) {
  for (const auto* file : {"b/2.PNG", "b/10.jpg", "a/x/1.jpeg", "top.bmp", "a/notes.txt",
                           "a/.hidden.jpg", ".cache/1.jpg", "B/1.ppm"}) {
    add(file);
  }
  const ImageSet set = list_images(root_, {}, 0);
  EXPECT_THAT(names(set),
              ElementsAre("B/1.ppm=0", "a/x/1.jpeg=2", "b/10.jpg=1", "b/2.PNG=1", "top.bmp=-1"));
  EXPECT_THAT(set.class_names, ElementsAre("B", "b", "x"));
  EXPECT_FALSE(set.names_given);
}

TEST_F(ImageSetTest, EveryEndingOfAJpegCounts) {
  for (const auto* file : {"1.jpe", "2.JFIF", "3.jpg"}) add(file);
  EXPECT_THAT(names(list_images(root_)), ElementsAre("1.jpe=-1", "2.JFIF=-1", "3.jpg=-1"));
}

TEST_F(ImageSetTest, PicturesOfOtherFormatsAreCounted) {
  for (const auto* file : {"a/1.jpg", "b/scan.TIFF", "a/moving.gif", "top.heic", "notes.txt",
                           "a/labels.csv", "a/.hidden.tif", "README"}) {
    add(file);
  }
  const ImageSet set = list_images(root_);
  EXPECT_EQ(set.entries.size(), 1U);
  EXPECT_EQ(set.passed_over.count, 3);
  EXPECT_THAT(set.passed_over.first,
              ElementsAre(root_ / "a/moving.gif", root_ / "b/scan.TIFF", root_ / "top.heic"));
  add("list.txt", "a/1.jpg\n");
  EXPECT_EQ(list_images(root_ / "list.txt").passed_over, PassedOver());
}

TEST_F(ImageSetTest, OnlyTheFirstPicturesOfOtherFormatsAreNamed) {
  add("1.jpg");
  for (int i = 99; i >= 0; --i) add(to_text("z/", 100 + i, ".tif"));
  add("a.tif");
  const PassedOver found = list_images(root_, {}, 1).passed_over;
  EXPECT_EQ(found.count, 101);
  ASSERT_EQ(found.first.size(), PassedOver::kMostNamed);
  EXPECT_EQ(found.first.front(), root_ / "a.tif");
  EXPECT_EQ(found.first.back(), root_ / "z/108.tif");
}

TEST_F(ImageSetTest, AListMayNamePicturesOfOtherFormats) {
  add("list.txt", "1.jpg\nmy scan.tif\n");
  EXPECT_THAT(names(list_images(root_ / "list.txt")), ElementsAre("1.jpg=-1", "my scan.tif=-1"));
}

TEST_F(ImageSetTest, LabelsGiveTheIndexByLineOrItsFirstWord) {
  add("n01/1.jpg");
  add("cat/1.jpg");
  const std::vector<std::string> labels = {"dog", "n01 tench, a fish", "cat"};
  const ImageSet set = list_images(root_, labels, 0);
  EXPECT_THAT(names(set), ElementsAre("cat/1.jpg=2", "n01/1.jpg=1"));
  EXPECT_EQ(set.class_names, labels);
  EXPECT_TRUE(set.names_given);
}

TEST_F(ImageSetTest, UnknownAndAmbiguousClassesAreErrors) {
  add("kat/1.jpg");
  EXPECT_THAT(refusal(root_, {"dog", "cat", "bat", "elephant"}),
              HasSubstr("class 'kat' is not among the 4 labels; did you mean 'bat'"));
  EXPECT_THAT(refusal(root_, {"kat", "dog", "kat"}), HasSubstr("twice, as 0 and 2"));
  EXPECT_EQ(refusal(root_, {"dog", "kat", "dog"}), "accepted");
}

TEST_F(ImageSetTest, AFolderNamedLikeANumberIsNoIndex) {
  add("1/1.jpg");
  EXPECT_THAT(refusal(root_, {"dog", "cat"}), HasSubstr("class '1' is not among"));
}

TEST_F(ImageSetTest, LimitSpreadsOverAllClasses) {
  for (int i = 0; i < 40; ++i) add(to_text("c", i / 10, "/", 10 + i % 10, ".jpg"));
  const ImageSet set = list_images(root_, {}, 8);
  EXPECT_THAT(names(set), ElementsAre("c0/10.jpg=0", "c0/15.jpg=0", "c1/10.jpg=1", "c1/15.jpg=1",
                                      "c2/10.jpg=2", "c2/15.jpg=2", "c3/10.jpg=3", "c3/15.jpg=3"));
  EXPECT_EQ(list_images(root_, {}, 1000).entries.size(), 40U);
  EXPECT_THROW(static_cast<void>(list_images(root_, {}, -1)), Error);
}

TEST_F(ImageSetTest, LinksAreFollowedOnceAndLoopsEnd) {
  add("a/1.jpg");
  add("b/c/2.jpg");
  fs::create_directory_symlink(root_, root_ / "b/up");
  fs::create_directory_symlink(root_ / "a", root_ / "0_also_a");
  const fs::path outside = root_.string() + "_outside";
  fs::create_directories(outside);
  write_file(outside / "3.jpg", "x");
  fs::create_directory_symlink(outside, root_ / "linked");
  EXPECT_THAT(names(list_images(root_, {}, 0)),
              ElementsAre("a/1.jpg=0", "b/c/2.jpg=1", "linked/3.jpg=2"));
  fs::remove_all(outside);
}

TEST_F(ImageSetTest, ListFilesKeepTheirOrderAndResolveBesideThemselves) {
  add("list.txt", "# images\nz.jpg\t3\n\nsub/two words.jpg 1\r\na b.png\nno_extension 7\n");
  const ImageSet set = list_images(root_ / "list.txt", {}, 0);
  EXPECT_THAT(names(set),
              ElementsAre("z.jpg=3", "sub/two words.jpg=1", "a b.png=-1", "no_extension=7"));
  EXPECT_THAT(set.class_names, IsEmpty());
}

TEST_F(ImageSetTest, AByteOrderMarkIsNoPartOfTheFirstName) {
  add("list.txt",
      "\xEF\xBB\xBF"
      "1.jpg dog\r\n2.jpg cat\r\n");
  EXPECT_THAT(names(list_images(root_ / "list.txt", {}, 0)), ElementsAre("1.jpg=1", "2.jpg=0"));
}

TEST_F(ImageSetTest, ListLabelsMayBeNames) {
  add("list.txt", "1.jpg dog\n2.jpg cat\n3.jpg 1\n");
  EXPECT_THAT(names(list_images(root_ / "list.txt", {}, 0)),
              ElementsAre("1.jpg=2", "2.jpg=1", "3.jpg=0"));
  const std::vector<std::string> labels = {"cat", "dog"};
  EXPECT_THAT(names(list_images(root_ / "list.txt", labels, 0)),
              ElementsAre("1.jpg=1", "2.jpg=0", "3.jpg=1"));
}

TEST_F(ImageSetTest, OneImageIsASetOfOne) {
  add("only.jpg");
  EXPECT_THAT(names(list_images(root_ / "only.jpg", {}, 0)), ElementsAre("only.jpg=-1"));
}

TEST_F(ImageSetTest, NothingFoundIsAnErrorThatSaysWhatWasLookedFor) {
  add("readme.txt");
  EXPECT_THAT(refusal(root_, {}),
              HasSubstr("holds no image, looked for jpg, jpeg, jpe, jfif, png"));
  add("empty.txt", "# no line\n");
  EXPECT_THAT(refusal(root_ / "empty.txt", {}), HasSubstr("holds no image"));
  add("model.onnx", std::string("\0\1", 2));
  EXPECT_THAT(refusal(root_ / "model.onnx", {}),
              HasSubstr("is not text, expected a folder, a list file, or a jpg"));
  add("photo.webp.part", "RIFF1234WEBPVP8 ");
  EXPECT_THAT(refusal(root_ / "photo.webp.part", {}),
              HasSubstr("is a WebP image, expected a folder"));
  EXPECT_THAT(refusal(root_ / "nowhere", {}), HasSubstr("does not exist"));
  add("scans/a.tif");
  EXPECT_THAT(refusal(root_ / "scans", {}),
              HasSubstr("; pictures of formats that are not read: 1, the first '"));
}

TEST_F(ImageSetTest, HashDependsOnNamesAndSizesButNotOnThePlace) {
  add("one/a/1.jpg", "1234");
  add("two/a/1.jpg", "5678");
  const ImageSet one = list_images(root_ / "one", {}, 0);
  const std::uint64_t hash = hash_of(one);
  EXPECT_EQ(hash, hash_of(list_images(root_ / "two", {}, 0)));
  add("one/a/1.jpg", "12345");
  EXPECT_NE(hash, hash_of(one));
  fs::remove(root_ / "one/a/1.jpg");
  EXPECT_NE(hash, hash_of(one));
}

TEST_F(ImageSetTest, LabelFilesDropBlanksAndRefuseGaps) {
  add("labels.txt", "cat \r\ndog\n\n");
  EXPECT_THAT(read_labels(root_ / "labels.txt"), ElementsAre("cat", "dog"));
  add("mark.txt",
      "\xEF\xBB\xBF"
      "cat\r\ndog\r\n");
  EXPECT_THAT(read_labels(root_ / "mark.txt"), ElementsAre("cat", "dog"));
  add("utf16.txt", std::string("\xFF\xFE"
                               "c\0a\0t\0",
                               8));
  EXPECT_THROW(static_cast<void>(read_labels(root_ / "utf16.txt")), Error);
  add("gap.txt", "cat\n\ndog\n");
  EXPECT_THROW(static_cast<void>(read_labels(root_ / "gap.txt")), Error);
}

}  // namespace
}  // namespace qtool

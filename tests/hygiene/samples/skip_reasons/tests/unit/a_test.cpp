TEST(Skips, ForGoodReasons) {
  if (!fs::exists(path)) GTEST_SKIP() << absent(path);
  if (!other_is_installed()) GTEST_SKIP() << kNoOtherRuntime;
  if (!exact) GTEST_SKIP() << "products may saturate";
  EXPECT_EQ(text, "the file is absent");
}
TEST(Skips, InItsOwnWords) {
  if (!fs::exists(path)) GTEST_SKIP() << path << " is absent";
  if (!fs::exists(path)) GTEST_SKIP() << "no " << path;
  if (!node)
    GTEST_SKIP()
        << "node is not installed";
}

namespace {
MATCHER(IsNear, "") { return true; }
using Network = testing::Test;
TEST_F(Network, Stops) {}
INSTANTIATE_TEST_SUITE_P(All, Network, values());
}  // namespace

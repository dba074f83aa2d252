namespace {
MATCHER_P(IsNear, value, "") { return true; }
class Network : public testing::Test {};
TEST_F(Network, Runs) {}
INSTANTIATE_TEST_SUITE_P(All, Network, values());
}  // namespace

namespace {
constexpr int kLimit = 3;  // another room
struct Part {};
int size_of() { return 1; }
}  // namespace

namespace qtool {
struct Twice final {
  double b;
};
class Forward {};
}  // namespace qtool
namespace qtool::tool {
struct Twice {};
}  // namespace qtool::tool
namespace qtool {
namespace {
struct Once {};
}  // namespace
}  // namespace qtool

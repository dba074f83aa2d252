namespace qtool {
namespace {
struct Once {};
}  // namespace
}  // namespace qtool

namespace qtool {
namespace {

namespace fs = std::filesystem;
using Ints = std::vector<int>;
using Reals = std::vector<double>;
constexpr std::array<int, 2> kLimit{1, 2};
const char* const kOther = R"(
int in_text(int a) {
)";
class Part final : public Base {
  void PrintTo() {}
};
enum class Kind { kTwo };

long size_of(const std::vector<int>& a) { return 1; }
int in_text() { return 1; }
static auto bytes_of(int a) -> std::vector<int> {
  const int kLocal = 3;
  return {a};
}
template <typename T>
T sorted(
    const std::map<T, std::vector<int>>& many_values_with_a_long_name) {
  return {};
}
void PrintTo(const Kind& kind, std::ostream* out) {}
bool operator==(const Kind& a, const Part& b) { return true; }
void later(int a, int b);
void Part::size_of(int a) {}

}  // namespace

int shared(float a) { return a; }
}  // namespace qtool

namespace qtool {
namespace {

namespace fs = std::filesystem;
using Ints = std::vector<int>;
using Reals = std::vector<float>;
constexpr int kLimit = 3;
const char* const kText = R"(
int in_text(int a) {
)";
struct Part {
  int size() const { return 1; }
};
enum class Kind : int { kOne };

int size_of(int a) { return a; }
int size_of(float a) { return 1; }
[[nodiscard]] constexpr std::size_t bytes_of(const std::vector<int>& values,
                                             std::size_t more = 0) noexcept {
  const int kLocal = 3;
  return values.size() + more;
}
template <typename T, typename U = int>
std::map<T, std::vector<U>> sorted(const T& a) {
  return {};
}
void PrintTo(const Part& part, std::ostream* out) {}
bool operator==(const Part& a, const Part& b) { return true; }
void later(int a);

}  // namespace

int shared(int a) { return a; }
}  // namespace qtool

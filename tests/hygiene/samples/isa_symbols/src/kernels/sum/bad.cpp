// What a file for one instruction set must not do: besides its entry point it emits a weak function
// (any inline function from a header is one), a weak variable and a global helper.
namespace qtool {
struct SumFunctions {
  int (*run)(int);
};

template <typename T>
[[gnu::noinline]] T weak_function(T value) {
  return value + 1;
}
inline int weak_variable = 3;
int global_helper(int value);
int global_helper(int value) { return weak_function(value) + weak_variable; }

namespace {
[[gnu::noinline]] int local_helper(int value) { return global_helper(value); }
}  // namespace

extern const SumFunctions sum_bad;
const SumFunctions sum_bad{&local_helper};
}  // namespace qtool

#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace qtool {

void report_bug(const char* file, int line, const char* condition) noexcept {
  std::fprintf(stderr, "qtool: internal error at %s:%d: %s\n", file, line, condition);
  std::abort();
}

}  // namespace qtool

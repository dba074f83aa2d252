#include "kernels/cross_entropy/stages.h"

namespace qtool {
namespace {

double run(const LevelledHistogram& histogram, std::int64_t kept, double tail, double* scratch) {
  return cross_entropy(histogram, kept, tail, scratch);
}

}  // namespace

constexpr CrossEntropyFunctions cross_entropy_avx512vnni = {run};

}  // namespace qtool

#include "kernels/cross_entropy/stages.h"

namespace qtool {

constexpr CrossEntropyFunctions cross_entropy_avx2 = {run, logarithms};

}  // namespace qtool

#include "kernels/cross_entropy/stages.h"

namespace qtool {

constexpr CrossEntropyFunctions cross_entropy_avx512vnni = {run, logarithms};

}  // namespace qtool

#include "kernels/cross_entropy/stages.h"

namespace qtool {

constexpr CrossEntropyFunctions cross_entropy_portable = {run, logarithms};

}  // namespace qtool

#include "kernels/elementary/stages.h"

namespace qtool {

constexpr ElementaryFunctions elementary_avx512vnni = kElementary;

}  // namespace qtool

#include "kernels/winograd/stages.h"

namespace qtool {

constexpr WinogradFunctions winograd_avx2 = kWinograd;

}  // namespace qtool

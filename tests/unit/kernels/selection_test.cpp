#include <gtest/gtest.h>

#include "kernels/gemm/gemm.h"
#include "kernels/isa.h"
#include "qtool/base/error.h"

namespace qtool {
namespace {

CpuFeatures everything() { return {true, true, true, true, true, true, true, true}; }

TEST(KernelSelection, TakesTheBestThatTheFeaturesAllow) {
  EXPECT_EQ(allowed_isa({CpuFeatures{}, ""}), Isa::kPortable);
  EXPECT_EQ(allowed_isa({everything(), ""}), Isa::kAvx512Vnni);
  CpuFeatures without_vnni = everything();
  without_vnni.avx512vnni = false;
  EXPECT_EQ(allowed_isa({without_vnni, ""}), Isa::kAvx2);
  EXPECT_EQ(select_kernel(gemm_kernels(), {CpuFeatures{}, ""}).name, "portable");
}

TEST(KernelSelection, ObeysAForcedName) {
  EXPECT_EQ(allowed_isa({everything(), "avx2"}), Isa::kAvx2);
  EXPECT_EQ(allowed_isa({everything(), "portable"}), Isa::kPortable);
}

TEST(KernelSelection, RefusesNamesThatAreUnknownOrUnsupported) {
  EXPECT_THROW(allowed_isa({everything(), "sse9"}), Error);
  EXPECT_THROW(allowed_isa({CpuFeatures{}, "avx2"}), Error);
  CpuFeatures without_fma = everything();
  without_fma.fma = false;
  EXPECT_THROW(allowed_isa({without_fma, "avx2"}), Error);
}

}  // namespace
}  // namespace qtool

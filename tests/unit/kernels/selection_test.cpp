#include <gtest/gtest.h>

#include <span>
#include <vector>

#include "kernels/gemm/gemm.h"
#include "kernels/isa.h"
#include "kernels/lookup/lookup.h"
#include "qtool/base/error.h"

namespace qtool {
namespace {

CpuFeatures everything() {
  CpuFeatures all;
  for (const Isa& isa : isas()) all |= isa.needs;
  return all;
}

std::string_view chosen(const KernelSelection& selection) {
  return select_kernel(gemm_kernels(), selection).name;
}

TEST(KernelSelection, TakesTheBestThatTheFeaturesAllow) {
  EXPECT_EQ(chosen({CpuFeatures(), ""}), "portable");
  EXPECT_EQ(chosen({everything(), ""}), gemm_kernels().back().name);
}

TEST(KernelSelection, ObeysAForcedName) {
  for (const KernelRow<GemmFunctions>& row : gemm_kernels()) {
    EXPECT_EQ(chosen({everything(), std::string(row.name)}), row.name);
  }
}

TEST(KernelSelection, RefusesNamesThatAreUnknownOrUnsupported) {
  EXPECT_THROW(forced_isa({everything(), "sse9"}), Error);
  for (const Isa& isa : isas()) {
    const std::string name(isa.name);
    EXPECT_NO_THROW(forced_isa({isa.needs, name}));
    if (isa.needs == CpuFeatures()) continue;
    EXPECT_THROW(forced_isa({CpuFeatures(), name}), Error);
  }
}

TEST(InstructionSets, AreDistinctAndTheFirstNeedsNothing) {
  EXPECT_EQ(isas().front().name, "portable");
  EXPECT_EQ(isas().front().needs, CpuFeatures());
  for (std::size_t i = 1; i < isas().size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      EXPECT_NE(isas()[i].name, isas()[j].name);
      EXPECT_NE(isas()[i].needs, isas()[j].needs);
    }
  }
}

#if defined(__x86_64__)
TEST(KernelSelection, AsksForEveryFeatureOfTheSet) {
  EXPECT_EQ(chosen({everything().without(cpu::kAvx512vnni), ""}), "avxvnni");
  EXPECT_EQ(chosen({everything().without(cpu::kAvx512vnni | cpu::kAvxVnni), ""}), "avx2");
  EXPECT_EQ(chosen({everything().without(cpu::kFma), ""}), "portable");
  EXPECT_THROW(forced_isa({everything().without(cpu::kFma), "avx2"}), Error);
}

TEST(KernelSelection, TakesAKernelThatNeedsLessWhereTheNamedSetHasNone) {
  std::vector<KernelRow<LookupFunctions>> rows;
  for (const KernelRow<LookupFunctions>& row : lookup_kernels()) {
    if (row.name != isa::avx2.name) rows.push_back(row);
  }
  const std::span<const KernelRow<LookupFunctions>> without_avx2(rows);
  EXPECT_EQ(select_kernel(without_avx2, {everything(), "avx2"}).name, "portable");
}
#endif

}  // namespace
}  // namespace qtool

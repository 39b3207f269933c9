// The kernels of all instruction sets over SIMDe, which computes each intrinsic in plain C++: see include/ beside this
// file. A program of its own, because the same functions are native in the others.
#include <gtest/gtest.h>

#include "kernels/check.hpp"

namespace {

using namespace kernels_check;

class EmulatedKernels : public testing::TestWithParam<isa> {};

TEST_P(EmulatedKernels, GiveTheBitsAndAnswersOfTheScalarCode) { EXPECT_EQ(kernel_difference(GetParam()), ""); }

// Else the test above would compare the scalar code with itself.
TEST_P(EmulatedKernels, AreNotTheScalarCode) {
  EXPECT_NE(blocked_kernels<split32>::for_isa(GetParam()).contains,
            blocked_kernels<split32>::for_isa(isa::scalar).contains);
  EXPECT_NE(blocked_kernels<split64>::for_isa(GetParam()).insert,
            blocked_kernels<split64>::for_isa(isa::scalar).insert);
}

INSTANTIATE_TEST_SUITE_P(Isa, EmulatedKernels, testing::Values(isa::sse2, isa::avx2, isa::avx512, isa::neon),
                         [](const auto& set) { return std::string(isa_name(set.param)); });

}  // namespace

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
  EXPECT_NE(blocked_single<split32>::contains_of(GetParam()), blocked_single<split32>::contains_of(isa::scalar));
  EXPECT_NE(blocked_single<split64>::insert_of(GetParam()), blocked_single<split64>::insert_of(isa::scalar));
}

INSTANTIATE_TEST_SUITE_P(Isa, EmulatedKernels, testing::Values(isa::sse2, isa::avx2, isa::avx512, isa::neon),
                         [](const auto& set) { return std::string(isa_name(set.param)); });

}  // namespace

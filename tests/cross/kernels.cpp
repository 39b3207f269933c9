// For other processors than the one that compiles: the kernels against the scalar code, without a test library. Prints
// "ok NAME" or "not ok NAME" for each instruction set that the processor has. See scripts/check_arm.
#include <cstdio>

#include "tests/kernels/check.hpp"

int main() {
  int status = 0;
  for (const bloomery::isa level : bloomery::all_isas) {
    if (!bloomery::has_isa(level)) continue;
    const std::string difference = kernels_check::kernel_difference(level);
    const std::string name(bloomery::isa_name(level));
    if (difference.empty()) {
      std::printf("ok %s gives the bits and answers of the scalar code\n", name.c_str());
    } else {
      std::printf("%s\nnot ok %s gives the bits and answers of the scalar code\n", difference.c_str(), name.c_str());
      status = 1;
    }
  }
  return status;
}

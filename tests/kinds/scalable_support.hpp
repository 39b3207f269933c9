// What the tests of kind scalable share.
#pragma once

#include <bloomery/kinds/scalable.hpp>
#include <cstdlib>

#include "support/typed.hpp"

namespace bloomery::test {

inline scalable make_scalable(const filter_params& params) {
  auto made = scalable::make(params);
  if (!made) {
    ADD_FAILURE() << describe(made.error()).c_str();
    std::abort();
  }
  return std::move(*made);
}

}  // namespace bloomery::test

// What the tests of kind ribbon share. Building and querying is compiled once, in ribbon_test.cpp.
#pragma once

#include <gtest/gtest.h>

#include <bloomery/kinds/ribbon.hpp>
#include <cstdint>
#include <string>
#include <vector>

namespace bloomery::ribbon_testing {

using digest_list = std::vector<std::uint64_t>;

digest_list random_digests(std::uint64_t seed, std::size_t count);

ribbon built(const filter_params& params, digest_list digests, unsigned threads = 1);
std::string error_of(const filter_params& params, digest_list digests);

bool holds_all(const ribbon& filter, const digest_list& digests);
// How many of so many digests, other ones for each seed, may be there.
std::uint64_t positives_of(const ribbon& filter, std::uint64_t seed, std::uint64_t queries);

}  // namespace bloomery::ribbon_testing

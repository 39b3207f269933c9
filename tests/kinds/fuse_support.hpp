// What the tests of kind fuse share. Building and querying is compiled once, in fuse_test.cpp.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <bloomery/kinds/fuse.hpp>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace bloomery::fuse_testing {

inline constexpr std::array layouts = {"wise3:8", "wise3:16", "wise3:32", "wise4:8", "wise4:16", "wise4:32"};

std::vector<std::uint64_t> random_digests(std::uint64_t seed, std::size_t count);

result<fuse> try_build(const filter_params& params, std::vector<std::uint64_t> digests, unsigned threads = 1);
fuse build(const filter_params& params, std::vector<std::uint64_t> digests, unsigned threads = 1);
// A rate that any width keeps.
fuse build(const char* layout, std::vector<std::uint64_t> digests, unsigned threads = 1);

bool may_contain(const fuse& filter, std::uint64_t digest);
std::uint64_t present_of(const fuse& filter, std::span<const std::uint64_t> digests);
// How many of so many digests, other ones for each seed and than random_digests gives, may be there.
std::uint64_t positives_of(const fuse& filter, std::uint64_t seed, std::uint64_t queries);

bool is_as_planned(const fuse& filter, const char* layout);

}  // namespace bloomery::fuse_testing

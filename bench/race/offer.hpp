// bench/race/offer.hpp: what a module of the race exports: a list of contenders that it can make.
//
// A module is a shared object with one function of this name. It is compiled as its contenders would be in a program
// of theirs (flags, libraries); the driver opens it and sees nothing else of it. Our own kinds are in two modules, as
// shipped and compiled for the machine. Peers that are in no package can be raced by a module that is kept elsewhere:
//
//     extern "C" void bloomery_race_offers(std::vector<bloomery::bench::offer>& out) {
//       out.push_back({.name = "my set", .version = "1.0", .build = "native", .make = [](const race_size& size) { ... }});
//     }
//
//     g++ -std=c++20 -O3 -march=native -fPIC -shared -fvisibility=hidden -Iinclude -I. my.cpp -o my.so
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bench/contender.hpp"
#include "bench/keys.hpp"

namespace bloomery::bench {

struct race_size {
  std::uint64_t keys = 0;
  double bits_per_key = 0;  // for those that have a choice
  const key_type* type = nullptr;
};

struct offer {
  std::string name{};
  std::string version{};
  bool ours = false;
  bool packaged = true;       // false: compiled from a copy of its sources
  std::string build{};        // how it was compiled
  bool minor = false;         // in the tables, not in the pictures
  bool sized_by_bits = true;  // false: takes what it takes, as a hash set does
  // Memory while it is filled, beyond its bits: by this the driver leaves out what does not fit.
  double bytes_per_number = 0;
  double bytes_per_text = 0;
  // nullptr: not for keys of this type, or not so many of them, or not with so many bits.
  std::function<std::unique_ptr<contender>(const race_size&)> make{};
};

}  // namespace bloomery::bench

extern "C" __attribute__((visibility("default"))) void bloomery_race_offers(std::vector<bloomery::bench::offer>& out);

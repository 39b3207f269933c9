// bench/peers/registration.hpp: what a module exports: a list of candidates that it can make.
//
// A module is a shared object with one function of this name. It is compiled as its candidates would be in a program
// of theirs (flags, libraries); the driver opens it and sees nothing else of it. Our own kinds are in two modules, as
// shipped and compiled for the machine. Peers that are in no package can be measured by a module that is kept elsewhere:
//
//     extern "C" void bloomery_register_candidates(std::vector<bloomery::bench::registration>& out) {
//       out.push_back({.name = "my set", .version = "1.0", .build = "native", .make = [](const candidate_size& size) { ... }});
//     }
//
//     g++ -std=c++20 -O3 -march=native -fPIC -shared -fvisibility=hidden -Iinclude -I. my.cpp -o my.so
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bench/candidate.hpp"
#include "bench/keys.hpp"

namespace bloomery::bench {

struct candidate_size {
  std::uint64_t keys = 0;
  double bits_per_key = 0;  // for those that have a choice
  const key_type* type = nullptr;
};

struct registration {
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
  std::function<std::unique_ptr<candidate>(const candidate_size&)> make{};
};

}  // namespace bloomery::bench

extern "C" __attribute__((visibility("default"))) void bloomery_register_candidates(
    std::vector<bloomery::bench::registration>& out);

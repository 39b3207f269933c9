// The bytes of redisbloom: see format.hpp.
#include "format.hpp"

BLOOMERY_FUZZ_FORMAT("redisbloom")

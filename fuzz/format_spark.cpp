// The bytes of spark: see format.hpp.
#include "format.hpp"

BLOOMERY_FUZZ_FORMAT("spark")

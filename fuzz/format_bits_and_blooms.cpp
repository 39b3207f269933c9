// The bytes of bits-and-blooms: see format.hpp.
#include "format.hpp"

BLOOMERY_FUZZ_FORMAT("bits-and-blooms")

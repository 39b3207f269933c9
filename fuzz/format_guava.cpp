// The bytes of guava: see format.hpp.
#include "format.hpp"

BLOOMERY_FUZZ_FORMAT("guava")

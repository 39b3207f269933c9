// The bytes of dcso: see format.hpp.
#include "format.hpp"

BLOOMERY_FUZZ_FORMAT("dcso")

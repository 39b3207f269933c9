// The bytes of leveldb: see format.hpp.
#include "format.hpp"

BLOOMERY_FUZZ_FORMAT("leveldb")

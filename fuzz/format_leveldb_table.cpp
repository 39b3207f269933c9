// The bytes of leveldb-table: see format.hpp.
#include "format.hpp"

BLOOMERY_FUZZ_FORMAT("leveldb-table")

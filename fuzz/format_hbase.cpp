// The bytes of hbase: see format.hpp.
#include "format.hpp"

BLOOMERY_FUZZ_FORMAT("hbase")

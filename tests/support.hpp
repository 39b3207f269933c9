// Everything that the tests share. A test includes the narrowest of these; this is for those that use most of them.
#pragma once

#include "support/digests.hpp"     // digests and random numbers, the same in every run
#include "support/files.hpp"       // folders, bytes of files
#include "support/filters.hpp"     // filters of any kind, through any_filter
#include "support/kind_table.hpp"  // the table of kinds for value-parameterised suites
#include "support/memory.hpp"      // memory that counts and refuses

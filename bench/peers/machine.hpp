// bench/peers/machine.hpp: on what was measured, for the record.
#pragma once

#include <nlohmann/json.hpp>

namespace bloomery::bench {

// Processor, caches, memory, kernel, huge pages, compiler, instruction set that our kinds took.
nlohmann::ordered_json machine_facts();

}  // namespace bloomery::bench

// cli/verbs/explain_text.hpp: an explanation of a look-up (kinds/explain.hpp) as text and as JSON.
#pragma once

#include <bloomery/kinds/explain.hpp>
#include <nlohmann/json.hpp>
#include <string>

#include "cli/terminal/terminal.hpp"

namespace bloomery::cli {

// What decided: "bit 5 is not set", "all 7 bits are set".
std::string reason_of(const explanation& why);

// What was read, group by group: cells drawn where the explanation has them, else a table.
std::string draw_groups(const explanation& why, const painter& paint);

// The digest in hexadecimal, as one number: the highest word first.
std::string digest_text(const explanation& why);

nlohmann::ordered_json groups_as_json(const explanation& why);

}  // namespace bloomery::cli

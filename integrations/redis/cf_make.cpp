// CF.RESERVE, CF.INSERT and CF.INSERTNX: filters are made, and their settings parsed.
#include <cstdio>

#include "integrations/redis/handlers.hpp"
#include "integrations/redis/insert_command.hpp"
#include "integrations/redis/making.hpp"

namespace bloomery::redis_module {

using redis::cuckoo_chain;

cuckoo_chain* make_filter(const call& made, open_cuckoo& key, const new_cuckoo& wanted) noexcept {
  const memory_scope scope(made.context, 0);
  auto chain = cuckoo_chain::make({.capacity = wanted.capacity,
                                   .slots = static_cast<std::uint32_t>(wanted.slots),
                                   .moves = static_cast<std::uint32_t>(wanted.moves),
                                   .growth = static_cast<std::uint32_t>(wanted.expansion)},
                                  {}, &server_memory());
  return key.set(made, std::move(chain), scope, "ERR Could not create filter");
}

void replicate_made(const call& made, const new_cuckoo& wanted) noexcept {
  const auto number = [](std::uint64_t value) { return static_cast<long long>(value); };
  server.replicate(made.context, "CF.RESERVE", "slclclcl", made.key(), number(wanted.capacity), "BUCKETSIZE",
                   number(wanted.slots), "MAXITERATIONS", number(wanted.moves), "EXPANSION", number(wanted.expansion));
}

namespace {

constexpr std::size_t option_problem_bytes = 128;

struct reserve_option {
  const char* word;
  std::uint64_t new_cuckoo::*value;
  long long lowest;
  long long highest;
};
constexpr reserve_option reserve_options[] = {
    {"MAXITERATIONS", &new_cuckoo::moves, 1, max_moves},
    {"BUCKETSIZE", &new_cuckoo::slots, 1, max_slots},
    {"EXPANSION", &new_cuckoo::expansion, 0, static_cast<long long>(max_expansion)},
};

bool is_cuckoo_capacity(long long value, std::uint64_t slots) noexcept {
  return value >= 2 * static_cast<long long>(slots) && value <= static_cast<long long>(max_capacity);
}

// False: `problem` says why.
bool parse_option(const call& made, const reserve_option& option, new_cuckoo& wanted,
                  char (&problem)[option_problem_bytes]) noexcept {
  const std::size_t place = made.find_word(3, option.word);
  if (place == 0) return true;
  long long number = 0;
  if (place + 1 == made.size() || !made.number(place + 1, number)) {
    std::snprintf(problem, sizeof problem, "Couldn't parse %s", option.word);
    return false;
  }
  if (number < option.lowest || number > option.highest) {
    std::snprintf(problem, sizeof problem, "%s: value must be in the range [%lld, %lld]", option.word, option.lowest,
                  option.highest);
    return false;
  }
  wanted.*option.value = static_cast<std::uint64_t>(number);
  return true;
}

using cuckoo_request = insert_request<new_cuckoo>;

const char* parse_cuckoo_insert(const call& made, cuckoo_request& request) noexcept {
  const auto set_flag = [&](std::string_view) { request.may_create = false; };
  const auto set_capacity = [&](std::string_view, std::size_t place) -> const char* {
    long long number = 0;
    if (!made.number(place, number)) return "Bad capacity";
    if (!is_cuckoo_capacity(number, configured.cuckoo_slots)) {
      return "Capacity must be in the range [cf-bucket-size * 2, 1073741824]";
    }
    request.filter.capacity = static_cast<std::uint64_t>(number);
    return nullptr;
  };
  return parse_insert(made, request, "c", set_flag, set_capacity);
}

int insert(const call& made, redis::copies rule) noexcept {
  return run_insert<cuckoo_traits, cuckoo_request>(
      made, [&](cuckoo_request& request) { return parse_cuckoo_insert(made, request); },
      [&](open_cuckoo& key, const cuckoo_request& request) {
        return insert_items(made, key, request.first_item, request.filter, rule);
      });
}

}  // namespace

int cf_reserve(const call& made) noexcept {
  if (made.size() < 3 || made.size() % 2 == 0) return made.wrong_arity();
  new_cuckoo wanted;
  long long capacity = 0;
  char problem[option_problem_bytes];
  if (!made.number(2, capacity)) return made.refuse("Bad capacity");
  for (const reserve_option& option : reserve_options) {
    if (!parse_option(made, option, wanted, problem)) return made.refuse(problem);
  }
  if (!is_cuckoo_capacity(capacity, wanted.slots)) {
    return made.refuse("Capacity must be in the range [2 * BUCKETSIZE, 1073741824]");
  }
  wanted.capacity = static_cast<std::uint64_t>(capacity);
  open_cuckoo key(made.context, made.key(), open_read | open_write);
  if (key.has_other_type()) return made.refuse(wrong_type);
  if (key.chain() != nullptr) return made.refuse(item_exists);
  if (make_filter(made, key, wanted) == nullptr) return ok;
  replicate_made(made, wanted);
  made.report(cuckoo_traits::event_reserve);
  return made.answer_ok();
}

int cf_insert(const call& made) noexcept { return insert(made, redis::copies::keep); }
int cf_insertnx(const call& made) noexcept { return insert(made, redis::copies::drop); }

}  // namespace bloomery::redis_module

// BF.RESERVE and BF.INSERT: filters are made, and their settings parsed.
#include <algorithm>
#include <cstdio>

#include "integrations/redis/handlers.hpp"
#include "integrations/redis/insert_command.hpp"
#include "integrations/redis/making.hpp"

namespace bloomery::redis_module {

using redis::bloom_chain;

bloom_chain* make_filter(const call& made, open_bloom& key, const new_bloom& wanted) noexcept {
  memory_scope scope(made.context, 0);
  const std::uint32_t options = redis::no_rounding | redis::hashes_64 | (wanted.scales ? 0 : redis::no_scaling);
  auto chain = bloom_chain::make({.error_rate = wanted.error_rate,
                                  .capacity = wanted.capacity,
                                  .growth = static_cast<std::uint32_t>(wanted.expansion),
                                  .options = options},
                                 {}, &server_memory());
  return key.set(made, std::move(chain), scope, cannot_create);
}

namespace {

bool is_rate(double value) noexcept { return value > 0 && value < 1; }
bool is_capacity(long long value) noexcept { return value >= 1 && value <= static_cast<long long>(max_capacity); }
bool is_expansion(long long value) noexcept { return value >= 0 && value <= static_cast<long long>(max_expansion); }

// What a filter that does not scale stores as its expansion: RedisBloom's default. That of a setting would be another one
// on a replica.
constexpr std::uint64_t stored_expansion = 2;

// nullptr, or what is wrong.
const char* parse_reserve(const call& made, new_bloom& wanted) noexcept {
  double rate = 0;
  long long number = 0;
  if (!made.floating(2, rate)) return "ERR bad error rate";
  if (!is_rate(rate)) return "ERR error rate must be in the range (0.000000, 1.000000)";
  wanted.error_rate = std::min(rate, max_error_rate);
  if (!made.number(3, number)) return "ERR bad capacity";
  if (!is_capacity(number)) return "ERR capacity must be in the range [1, 1073741824]";
  wanted.capacity = static_cast<std::uint64_t>(number);

  const bool is_fixed = made.find_word(4, "NONSCALING") != 0;
  if (const std::size_t place = made.find_word(4, "EXPANSION"); place != 0) {
    if (place + 1 == made.size()) return "ERR no expansion";
    if (!made.number(place + 1, number)) return "ERR bad expansion";
    if (is_fixed && number > 0) return "Nonscaling filters cannot expand";
    if (!is_expansion(number)) return "ERR expansion must be in the range [0, 32768]";
    wanted.expansion = static_cast<std::uint64_t>(number);
    wanted.scales = number != 0;
  }
  if (is_fixed) {
    wanted.scales = false;
    if (wanted.expansion != 0) wanted.expansion = stored_expansion;
  }
  return nullptr;
}

using bloom_request = insert_request<new_bloom>;

const char* parse_bloom_insert(const call& made, bloom_request& request) noexcept {
  new_bloom& filter = request.filter;
  const auto set_flag = [&](std::string_view word) {
    const bool is_nocreate = word.size() > 2 && lower(word[2]) == 'c';
    (is_nocreate ? request.may_create : filter.scales) = false;
  };
  const auto set_value = [&](std::string_view word, std::size_t place) -> const char* {
    double rate = 0;
    long long number = 0;
    if (lower(word[0]) == 'c') {
      if (!made.number(place, number) || !is_capacity(number)) return "Bad capacity";
      filter.capacity = static_cast<std::uint64_t>(number);
    } else if (word.size() > 1 && lower(word[1]) == 'r') {
      if (!made.floating(place, rate) || !is_rate(rate)) return "Bad error rate";
      filter.error_rate = std::min(rate, max_error_rate);
    } else {
      if (!made.number(place, number) || !is_expansion(number)) return "Bad expansion";
      filter.expansion = static_cast<std::uint64_t>(number);
      filter.scales &= number != 0;
    }
    return nullptr;
  };
  return parse_insert(made, request, "ce", set_flag, set_value);
}

}  // namespace

void replicate_made(const call& made, const new_bloom& filter) noexcept {
  char rate[32];
  std::snprintf(rate, sizeof rate, "%.17g", filter.error_rate);
  const auto capacity = static_cast<long long>(filter.capacity);
  if (filter.scales || filter.expansion == 0) {
    server.replicate(made.context, "BF.RESERVE", "sclcl", made.key(), rate, capacity, "EXPANSION",
                     static_cast<long long>(filter.expansion));
  } else {
    server.replicate(made.context, "BF.RESERVE", "sclc", made.key(), rate, capacity, "NONSCALING");
  }
}

int bf_reserve(const call& made) noexcept {
  if (made.size() < 4 || made.size() > 7) return made.wrong_arity();
  new_bloom wanted;
  if (const char* const why = parse_reserve(made, wanted)) return made.refuse(why);
  open_bloom key(made.context, made.key(), open_read | open_write);
  if (key.has_other_type()) return made.refuse(wrong_type);
  if (key.chain() != nullptr) return made.refuse(item_exists);
  if (make_filter(made, key, wanted) == nullptr) return ok;
  replicate_made(made, wanted);
  made.report(bloom_traits::event_reserve);
  return made.answer_ok();
}

int bf_insert(const call& made) noexcept {
  return run_insert<bloom_traits, bloom_request>(
      made, [&](bloom_request& request) { return parse_bloom_insert(made, request); },
      [&](open_bloom& key, const bloom_request& request) {
        return insert_items(made, key, request.first_item, request.filter);
      });
}

}  // namespace bloomery::redis_module

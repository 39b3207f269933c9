// insert_command.hpp: BF.INSERT, CF.INSERT and CF.INSERTNX: options, then items for a filter that is made if it is not there.
#pragma once

#include "integrations/redis/call.hpp"
#include "integrations/redis/filter_type.hpp"

namespace bloomery::redis_module {

// The words before the items.
template <class Filter>
struct insert_request {
  Filter filter{};  // to be made
  bool may_create = true;
  std::size_t first_item = 0;
};

// nullptr; else what is wrong. `arity_is_wrong` is not a text.
inline constexpr const char* arity_is_wrong = "";

// Options are known by their first letters, as in RedisBloom: clients that shorten them rely on it. `i` is before the items,
// `n` an option without a value, `letters` begin the others. set_flag(word) and set_value(word, place) take them; the latter
// returns nullptr or what is wrong.
template <class Request, class Flag, class Value>
const char* parse_insert(const call& made, Request& request, std::string_view letters, Flag&& set_flag,
                         Value&& set_value) noexcept {
  for (std::size_t i = 2; i < made.size(); ++i) {
    const std::string_view word = made.text(i);
    const char first = word.empty() ? '\0' : lower(word[0]);
    if (first == 'i') {
      request.first_item = i + 1;
      return i + 1 < made.size() ? nullptr : arity_is_wrong;
    }
    if (first == 'n') {
      set_flag(word);
    } else if (first == '\0' || letters.find(first) == std::string_view::npos) {
      return "Unknown argument received";
    } else if (++i == made.size()) {
      return arity_is_wrong;
    } else if (const char* const why = set_value(word, i)) {
      return why;
    }
  }
  return arity_is_wrong;
}

// parse(request) as above; insert(key, request) answers.
template <class Traits, class Request, class Parse, class Insert>
int run_insert(const call& made, Parse&& parse, Insert&& insert) noexcept {
  if (made.size() < 4) return made.wrong_arity();
  Request request;
  if (const char* const why = parse(request)) return why == arity_is_wrong ? made.wrong_arity() : made.refuse(why);
  open_filter<Traits> key(made.context, made.key(), open_read | open_write);
  if (key.has_other_type()) return made.refuse(wrong_type);
  if (key.chain() == nullptr && !request.may_create) return made.refuse(not_found);
  return insert(key, request);
}

}  // namespace bloomery::redis_module

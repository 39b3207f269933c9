// BF.CARD, BF.INFO and BF.DEBUG: what a filter is.
#include <algorithm>
#include <array>
#include <cinttypes>
#include <cstdio>

#include "integrations/redis/handlers.hpp"
#include "integrations/redis/types.hpp"

namespace bloomery::redis_module {

using redis::bloom_chain;

namespace {

struct info_field {
  const char* word;  // selects it
  const char* name;  // in the answer
  std::uint64_t (*value)(const bloom_chain& of);
};
constexpr std::array<info_field, 5> info_fields{{
    {"CAPACITY", "Capacity", [](const bloom_chain& of) { return of.capacity(); }},
    {"SIZE", "Size", [](const bloom_chain& of) { return of.info_bytes(); }},
    {"FILTERS", "Number of filters", [](const bloom_chain& of) { return std::uint64_t{of.sub_filters()}; }},
    {"ITEMS", "Number of items inserted", [](const bloom_chain& of) { return of.keys(); }},
    {"EXPANSION", "Expansion rate", nullptr},  // null in a filter that does not scale
}};

void answer_value(const call& made, const info_field& field, const bloom_chain& of) noexcept {
  if (field.value != nullptr) {
    server.reply_with_number(made.context, static_cast<long long>(field.value(of)));
  } else if (of.scales()) {
    server.reply_with_number(made.context, of.growth());
  } else {
    server.reply_with_null(made.context);
  }
}
void answer_field(const call& made, const info_field& field, const bloom_chain& of) noexcept {
  server.reply_with_simple_string(made.context, field.name);
  answer_value(made, field, of);
}

}  // namespace

int bf_card(const call& made) noexcept {
  if (made.size() != 2) return made.wrong_arity();
  const open_bloom key(made.context, made.key(), open_read);
  if (key.has_other_type()) return made.refuse(wrong_type);
  const std::uint64_t keys = key.chain() == nullptr ? 0 : key.chain()->keys();
  return server.reply_with_number(made.context, static_cast<long long>(keys));
}

int bf_info(const call& made) noexcept {
  if (made.size() != 2 && made.size() != 3) return made.wrong_arity();
  return read_filter<bloom_traits>(made, [&](const bloom_chain& chain) {
    if (made.size() == 2) {
      server.reply_with_map(made.context, static_cast<long>(info_fields.size()));
      for (const info_field& field : info_fields) answer_field(made, field, chain);
      return ok;
    }
    const auto* const field = std::find_if(info_fields.begin(), info_fields.end(),
                                           [&](const info_field& one) { return same_word(made.text(2), one.word); });
    if (field == info_fields.end()) return made.refuse("Invalid information value");
    // One value: a list of it in RESP2, but a map with its name in RESP3.
    if ((server.get_context_flags(made.context) & context_resp3) != 0) {
      server.reply_with_map(made.context, 1);
      answer_field(made, *field, chain);
    } else {
      server.reply_with_array(made.context, 1);
      answer_value(made, *field, chain);
    }
    return ok;
  });
}

int bf_debug(const call& made) noexcept {
  if (made.size() != 2) return made.wrong_arity();
  return read_filter<bloom_traits>(made, [&](const bloom_chain& chain) {
    char line[256];
    const auto answer = [&](int length) {
      server.reply_with_buffer(made.context, line, static_cast<std::size_t>(length));
    };
    server.reply_with_array(made.context, static_cast<long>(chain.sub_filters()) + 1);
    answer(std::snprintf(line, sizeof line, "size:%" PRIu64, chain.keys()));
    for (std::size_t i = 0; i < chain.sub_filters(); ++i) {
      const redis::bloom_record of = chain.record(i);
      answer(std::snprintf(line, sizeof line,
                           "bytes:%" PRIu64 " bits:%" PRIu64 " hashes:%" PRIu64 " hashwidth:%d capacity:%" PRIu64
                           " size:%" PRIu64 " ratio:%g",
                           of.size_bytes, of.bits, of.hashes, (chain.options() & redis::hashes_64) != 0 ? 64 : 32,
                           of.capacity, of.keys, of.error_rate));
    }
    return ok;
  });
}

}  // namespace bloomery::redis_module

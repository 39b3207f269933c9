#include "integrations/redis/commands.hpp"

#include "integrations/redis/counters.hpp"
#include "integrations/redis/handlers.hpp"

namespace bloomery::redis_module {

namespace {

// What the server calls.
template <int (*Handler)(const call&) noexcept>
int run(server_context* context, server_string** arguments, int count) noexcept {
  ++counted.commands;
  return Handler({context, {arguments, static_cast<std::size_t>(count)}});
}

// ---- arguments ----

constexpr command_argument key_argument{.name = "key", .type = argument_type::key};
constexpr command_argument item_argument{.name = "item"};
constexpr command_argument items_argument{.name = "item", .flags = argument_multiple};
constexpr command_argument expansion_argument{
    .name = "expansion", .type = argument_type::integer, .token = "EXPANSION", .flags = argument_optional};
constexpr command_argument nonscaling_argument{
    .name = "nonscaling", .type = argument_type::pure_token, .token = "NONSCALING", .flags = argument_optional};

constexpr command_argument of_key[] = {key_argument, {}};
constexpr command_argument of_key_item[] = {key_argument, item_argument, {}};
constexpr command_argument of_key_items[] = {key_argument, items_argument, {}};
constexpr command_argument of_reserve[] = {key_argument,
                                           {.name = "error_rate", .type = argument_type::floating},
                                           {.name = "capacity", .type = argument_type::integer},
                                           expansion_argument,
                                           nonscaling_argument,
                                           {}};
constexpr command_argument of_insert[] = {
    key_argument,
    {.name = "capacity", .type = argument_type::integer, .token = "CAPACITY", .flags = argument_optional},
    {.name = "error", .type = argument_type::floating, .token = "ERROR", .flags = argument_optional},
    expansion_argument,
    {.name = "nocreate", .type = argument_type::pure_token, .token = "NOCREATE", .flags = argument_optional},
    nonscaling_argument,
    {.name = "items", .type = argument_type::pure_token, .token = "ITEMS"},
    items_argument,
    {}};
constexpr command_argument info_words[] = {
    {.name = "capacity", .type = argument_type::pure_token, .token = "CAPACITY"},
    {.name = "size", .type = argument_type::pure_token, .token = "SIZE"},
    {.name = "filters", .type = argument_type::pure_token, .token = "FILTERS"},
    {.name = "items", .type = argument_type::pure_token, .token = "ITEMS"},
    {.name = "expansion", .type = argument_type::pure_token, .token = "EXPANSION"},
    {}};
constexpr command_argument of_info[] = {
    key_argument,
    {.name = "single_value", .type = argument_type::one_of, .flags = argument_optional, .parts = info_words},
    {}};
constexpr command_argument of_scandump[] = {key_argument, {.name = "iterator", .type = argument_type::integer}, {}};
constexpr command_argument of_loadchunk[] = {
    key_argument, {.name = "iterator", .type = argument_type::integer}, {.name = "data"}, {}};

constexpr command_argument of_cuckoo_reserve[] = {
    key_argument,
    {.name = "capacity", .type = argument_type::integer},
    {.name = "bucketsize", .type = argument_type::integer, .token = "BUCKETSIZE", .flags = argument_optional},
    {.name = "maxiterations", .type = argument_type::integer, .token = "MAXITERATIONS", .flags = argument_optional},
    expansion_argument,
    {}};
constexpr command_argument of_cuckoo_insert[] = {
    key_argument,
    {.name = "capacity", .type = argument_type::integer, .token = "CAPACITY", .flags = argument_optional},
    {.name = "nocreate", .type = argument_type::pure_token, .token = "NOCREATE", .flags = argument_optional},
    {.name = "items", .type = argument_type::pure_token, .token = "ITEMS"},
    items_argument,
    {}};

// ---- commands ----

constexpr const char* writes = "write deny-oom";
constexpr const char* reads = "readonly fast";
constexpr const char* per_item = "O(k), where k is the number of hash functions used by the last sub-filter";
constexpr const char* per_items = "O(k * n), where k is the number of hash functions and n is the number of items";
constexpr const char* per_bit = "O(n), where n is the capacity";
constexpr const char* adds_items =
    "Adds one or more items to a Bloom Filter. A filter will be created if it does not exist";

constexpr const char* per_sub_filter = "O(k), where k is the number of sub-filters";
constexpr const char* per_cuckoo_insert = "O(k + i), where k is the number of sub-filters and i is maxIterations";
constexpr const char* per_cuckoo_inserts =
    "O(n * (k + i)), where n is the number of items, k is the number of sub-filters and i is maxIterations";

constexpr command list[] = {
    {"bf.reserve", run<bf_reserve>, writes, "write fast bloom", -4, key_read_write | key_insert, "1.0.0",
     "Creates a new Bloom Filter", "O(1)", nullptr, of_reserve},
    {"bf.add", run<bf_add>, writes, "write bloom", 3, key_read_write | key_access | key_insert, "1.0.0",
     "Adds an item to a Bloom Filter", per_item, nullptr, of_key_item},
    {"bf.madd", run<bf_madd>, writes, "write bloom", -3, key_read_write | key_access | key_insert, "1.0.0", adds_items,
     per_items, nullptr, of_key_items},
    {"bf.insert", run<bf_insert>, writes, "write bloom", -4, key_read_write | key_access | key_insert, "1.0.0",
     adds_items, per_items, nullptr, of_insert},
    {"bf.exists", run<bf_exists>, reads, "read bloom", 3, key_read_only | key_access, "1.0.0",
     "Checks whether an item exists in a Bloom Filter", per_item, nullptr, of_key_item},
    {"bf.mexists", run<bf_mexists>, reads, "read bloom", -3, key_read_only | key_access, "1.0.0",
     "Checks whether one or more items exist in a Bloom Filter", per_items, nullptr, of_key_items},
    {"bf.card", run<bf_card>, reads, "read fast bloom", 2, key_read_only | key_access, "2.4.4",
     "Returns the cardinality of a Bloom filter", "O(1)", nullptr, of_key},
    {"bf.info", run<bf_info>, reads, "read fast bloom", -2, key_read_only | key_access, "1.0.0",
     "Returns information about a Bloom Filter", "O(1)", "dont_cache", of_info},
    {"bf.debug", run<bf_debug>, reads, "read bloom", 2, key_read_only | key_access, "1.0.0",
     "Returns internal debug information about a Bloom Filter", "O(n), where n is the number of sub-filters",
     "dont_cache", of_key},
    {"bf.scandump", run<bf_scandump>, reads, "read bloom", 3, key_read_only | key_access, "1.0.0",
     "Begins an incremental save of the bloom filter", per_bit, "dont_cache", of_scandump},
    {"bf.loadchunk", run<bf_loadchunk>, writes, "write bloom", 4, key_read_write | key_update, "1.0.0",
     "Restores a filter previously saved using SCANDUMP", per_bit, nullptr, of_loadchunk},

    {"cf.reserve", run<cf_reserve>, writes, "write fast cuckoo", -3, key_read_write | key_insert, "1.0.0",
     "Creates a new Cuckoo Filter", "O(1)", nullptr, of_cuckoo_reserve},
    {"cf.add", run<cf_add>, writes, "write cuckoo", 3, key_read_write | key_insert, "1.0.0",
     "Adds an item to a Cuckoo Filter", per_cuckoo_insert, nullptr, of_key_item},
    {"cf.addnx", run<cf_addnx>, writes, "write cuckoo", 3, key_read_write | key_access | key_insert, "1.0.0",
     "Adds an item to a Cuckoo Filter if the item did not exist previously.", per_cuckoo_insert, nullptr, of_key_item},
    {"cf.insert", run<cf_insert>, writes, "write cuckoo", -4, key_read_write | key_insert, "1.0.0",
     "Adds one or more items to a Cuckoo Filter. A filter will be created if it does not exist", per_cuckoo_inserts,
     nullptr, of_cuckoo_insert},
    {"cf.insertnx", run<cf_insertnx>, writes, "write cuckoo", -4, key_read_write | key_access | key_insert, "1.0.0",
     "Adds one or more items to a Cuckoo Filter if the items did not exist previously. A filter will be created if it "
     "does not exist",
     per_cuckoo_inserts, nullptr, of_cuckoo_insert},
    {"cf.exists", run<cf_exists>, reads, "read cuckoo", 3, key_read_only | key_access, "1.0.0",
     "Checks whether one or more items exist in a Cuckoo Filter", per_sub_filter, nullptr, of_key_item},
    {"cf.mexists", run<cf_mexists>, reads, "read cuckoo", -3, key_read_only | key_access, "1.0.0",
     "Checks whether one or more items exist in a Cuckoo Filter",
     "O(k * n), where k is the number of sub-filters and n is the number of items", nullptr, of_key_items},
    {"cf.count", run<cf_count>, reads, "read cuckoo", 3, key_read_only | key_access, "1.0.0",
     "Return the number of times an item might be in a Cuckoo Filter", per_sub_filter, nullptr, of_key_item},
    {"cf.del", run<cf_del>, "write fast", "write cuckoo", 3, key_read_write | key_access | key_delete, "1.0.0",
     "Deletes an item from a Cuckoo Filter", per_sub_filter, nullptr, of_key_item},
    {"cf.compact", run<cf_compact>, "write", "write cuckoo", 2, key_read_write | key_update, "1.0.0",
     "Moves the items of newer sub-filters of a Cuckoo Filter into free slots of older ones",
     "O(n * k), where n is the number of items and k is the number of sub-filters", nullptr, of_key},
    {"cf.info", run<cf_info>, reads, "read fast cuckoo", 2, key_read_only | key_access, "1.0.0",
     "Returns information about a Cuckoo Filter", "O(1)", "dont_cache", of_key},
    {"cf.debug", run<cf_debug>, reads, "read cuckoo", 2, key_read_only | key_access, "1.0.0",
     "Returns internal debug information about a Cuckoo Filter", "O(1)", "dont_cache", of_key},
    {"cf.scandump", run<cf_scandump>, reads, "read cuckoo", 3, key_read_only | key_access, "1.0.0",
     "Begins an incremental save of the cuckoo filter", per_bit, "dont_cache", of_scandump},
    {"cf.loadchunk", run<cf_loadchunk>, writes, "write cuckoo", 4, key_read_write | key_update, "1.0.0",
     "Restores a filter previously saved using SCANDUMP", per_bit, nullptr, of_loadchunk},
};

bool register_command(server_context* context, const command& one, bool has_category) noexcept {
  if (server.create_command(context, one.name, one.run, one.flags, 1, 1, 1) != ok) return false;
  server_command* const made = server.get_command(context, one.name);
  static constexpr command_info_version version;
  const key_spec specs[] = {{.flags = one.key_flags,
                             .begin_search = begin_at_index,
                             .begin = {.position = 1},
                             .find_keys = find_range,
                             .find = {.last_key = 0, .step = 1, .limit = 0}},
                            {}};
  const command_info info{.version = &version,
                          .summary = one.summary,
                          .complexity = one.complexity,
                          .since = one.since,
                          .tips = one.tips,
                          .arity = one.arity,
                          .key_specs = specs,
                          .arguments = one.arguments};
  if (made == nullptr || server.set_command_info(made, &info) != ok) return false;
  return !has_category || server.set_command_acl_categories(made, one.categories) == ok;
}

}  // namespace

std::span<const command> commands() noexcept { return list; }

bool register_commands(server_context* context) noexcept {
  const bool has_category = server.add_acl_category != nullptr && server.set_command_acl_categories != nullptr &&
                            server.add_acl_category(context, "bloom") == ok &&
                            server.add_acl_category(context, "cuckoo") == ok;
  for (const command& one : commands()) {
    if (!register_command(context, one, has_category)) return false;
  }
  return true;
}

}  // namespace bloomery::redis_module

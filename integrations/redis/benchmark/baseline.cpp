// A module for bench/redis alone: BFBASE.EXISTS, MEXISTS, ADD and MADD are BF.* written the plain way, one item after the
// other: hash it, divide for each of its bits, answer. They work on the values of the module `bf` in the same server, so that
// both are measured on the same filter, in the same memory, in turns.
//
// BFBASE.GROW key first count inserts so many numbers, and answers with the most nanoseconds of processor time that an insert
// took which added a sub-filter.
#include <algorithm>
#include <array>
#include <bloomery/compat/redis/bloom_chain.hpp>
#include <charconv>
#include <ctime>

#include "integrations/redis/api.hpp"
#include "integrations/redis/call.hpp"

namespace {

using namespace bloomery::redis_module;
using bloomery::redis::bloom_chain;
using bloomery::redis::insert_outcome;

class open_value {
 public:
  open_value(const call& made, int mode) noexcept : key_(server.open_key(made.context, made.key(), mode)) {}
  ~open_value() {
    if (key_ != nullptr) server.close_key(key_);
  }
  open_value(const open_value&) = delete;
  open_value& operator=(const open_value&) = delete;
  // The caller knows what the key holds.
  [[nodiscard]] bloom_chain* chain() const noexcept {
    return key_ == nullptr ? nullptr : static_cast<bloom_chain*>(server.module_value(key_));
  }

 private:
  server_key* key_;
};

int exists(const call& made) noexcept {
  const open_value key(made, open_read);
  if (key.chain() == nullptr) return made.refuse(not_found);
  return server.reply_with_bool(made.context, key.chain()->may_contain(made.text(2)) ? 1 : 0);
}

int mexists(const call& made) noexcept {
  const open_value key(made, open_read);
  if (key.chain() == nullptr) return made.refuse(not_found);
  server.reply_with_array(made.context, static_cast<long>(made.size()) - 2);
  for (std::size_t i = 2; i < made.size(); ++i) {
    server.reply_with_bool(made.context, key.chain()->may_contain(made.text(i)) ? 1 : 0);
  }
  return ok;
}

void replicate(const call& made) noexcept {
  server.replicate_verbatim(made.context);
  server.notify(made.context, notify_generic, "bloom.add", made.key());
}

int add(const call& made) noexcept {
  const open_value key(made, open_read | open_write);
  if (key.chain() == nullptr) return made.refuse(not_found);
  const bool is_new = key.chain()->insert(made.text(2)) == insert_outcome::inserted;
  if (is_new) replicate(made);
  return server.reply_with_bool(made.context, is_new ? 1 : 0);
}

int madd(const call& made) noexcept {
  const open_value key(made, open_read | open_write);
  if (key.chain() == nullptr) return made.refuse(not_found);
  server.reply_with_array(made.context, static_cast<long>(made.size()) - 2);
  bool is_changed = false;
  for (std::size_t i = 2; i < made.size(); ++i) {
    const bool is_new = key.chain()->insert(made.text(i)) == insert_outcome::inserted;
    is_changed |= is_new;
    server.reply_with_bool(made.context, is_new ? 1 : 0);
  }
  if (is_changed) replicate(made);
  return ok;
}

long long thread_nanoseconds() noexcept {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return now.tv_sec * 1'000'000'000LL + now.tv_nsec;
}

int grow(const call& made) noexcept {
  const open_value key(made, open_read | open_write);
  long long first = 0;
  long long count = 0;
  if (made.size() != 4 || !made.number(2, first) || !made.number(3, count)) return made.wrong_arity();
  if (key.chain() == nullptr) return made.refuse(not_found);
  bloom_chain& chain = *key.chain();
  long long worst = 0;
  for (long long at = first; at < first + count;) {
    const auto newest = chain.record(chain.sub_filters() - 1);
    const std::uint64_t room = newest.capacity - std::min(newest.keys, newest.capacity);
    // As many as fit for sure go together; when none does, the next that is new adds a sub-filter.
    std::array<std::array<char, 24>, 64> digits;
    std::array<std::string_view, 64> items;
    const auto left = static_cast<std::uint64_t>(first + count - at);
    const auto size = static_cast<std::size_t>(std::min({left, std::max<std::uint64_t>(room, 1), std::uint64_t{64}}));
    for (std::size_t i = 0; i < size; ++i, ++at) {
      char* const text = digits[i].data();
      items[i] = {text, static_cast<std::size_t>(std::to_chars(text, text + digits[i].size(), at).ptr - text)};
    }
    const std::size_t before = chain.sub_filters();
    const long long start = thread_nanoseconds();
    std::uint64_t fresh = 0;
    chain.insert_batch(std::span<const std::string_view>(items).first(size), {&fresh, 1});
    if (chain.sub_filters() != before) worst = std::max(worst, thread_nanoseconds() - start);
  }
  return server.reply_with_number(made.context, worst);
}

template <int (*Handler)(const call&) noexcept>
int run(server_context* context, server_string** arguments, int count) noexcept {
  return Handler({context, {arguments, static_cast<std::size_t>(count)}});
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int RedisModule_OnLoad(server_context* context, server_string**,
                                                                         int) {
  if (bind(context) != nullptr) return error;
  server.set_module_attributes(context, "bfbase", 1, api_version);
  const struct {
    const char* name;
    command_function run;
    const char* flags;
  } commands[] = {{"bfbase.exists", run<exists>, "readonly fast"},
                  {"bfbase.mexists", run<mexists>, "readonly fast"},
                  {"bfbase.add", run<add>, "write deny-oom"},
                  {"bfbase.madd", run<madd>, "write deny-oom"},
                  {"bfbase.grow", run<grow>, "write deny-oom"}};
  for (const auto& one : commands) {
    if (server.create_command(context, one.name, one.run, one.flags, 1, 1, 1) != ok) return error;
  }
  return ok;
}

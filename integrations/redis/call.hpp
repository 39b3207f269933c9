// call.hpp: one call of a command, and what all commands answer with.
#pragma once

#include <span>

#include "integrations/redis/api.hpp"
#include "integrations/redis/text.hpp"

namespace bloomery::redis_module {

struct call {
  server_context* context;
  std::span<server_string* const> arguments;  // the first is the command's name

  [[nodiscard]] server_string* key() const noexcept { return arguments[1]; }
  [[nodiscard]] std::size_t size() const noexcept { return arguments.size(); }
  [[nodiscard]] std::string_view text(std::size_t index) const noexcept { return view(arguments[index]); }
  [[nodiscard]] bool number(std::size_t index, long long& to) const noexcept {
    return server.string_to_number(arguments[index], &to) == ok;
  }
  [[nodiscard]] bool floating(std::size_t index, double& to) const noexcept {
    return server.string_to_double(arguments[index], &to) == ok;
  }

  // The place of an option's name, from `first` on; 0: it is not there.
  [[nodiscard]] std::size_t find_word(std::size_t first, std::string_view word) const noexcept {
    for (std::size_t i = first; i < size(); ++i) {
      if (same_word(text(i), word)) return i;
    }
    return 0;
  }

  // What the server wants to have returned.
  int refuse(const char* why) const noexcept { return server.reply_with_error(context, why); }
  [[nodiscard]] int wrong_arity() const noexcept { return server.wrong_arity(context); }
  [[nodiscard]] int answer_ok() const noexcept { return server.reply_with_simple_string(context, "OK"); }

  // To those who listen to events of keys.
  void report(const char* event) const noexcept { server.notify(context, notify_generic, event, key()); }
};

// The texts are RedisBloom's, some of which have no "ERR ".
inline constexpr const char* wrong_type = "WRONGTYPE Operation against a key holding the wrong kind of value";
inline constexpr const char* not_found = "ERR not found";
inline constexpr const char* item_exists = "ERR item exists";
inline constexpr const char* cannot_create = "ERR could not create filter";
inline constexpr const char* cannot_create_for_memory = "ERR Insufficient memory to create filter";
inline constexpr const char* cannot_insert = "ERR problem inserting into filter";
inline constexpr const char* filter_is_full = "ERR non scaling filter is full";
inline constexpr const char* bad_data = "ERR received bad data";
// RedisBloom has no such limits. The first text is valkey-bloom's.
inline constexpr const char* beyond_memory_limit = "ERR operation exceeds bloom object memory limit";
inline constexpr const char* beyond_work_limit = "ERR command exceeds bf-work-limit";

}  // namespace bloomery::redis_module

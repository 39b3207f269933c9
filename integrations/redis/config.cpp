#include "integrations/redis/config.hpp"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "integrations/redis/text.hpp"

namespace bloomery::redis_module {

settings configured;

namespace {

// RedisBloom's own settings are texts to the server, whatever they hold.
struct text_setting {
  const char* name;
  const char* old_name;  // as a load argument of versions before 8.0
  double lowest;
  double highest;
  bool is_rate;  // between lowest and highest; else a whole number from lowest to highest
  void (*assign)(double value);
  char fallback[32];
  server_string* shown = nullptr;
};
// Two settings limit each other: a cuckoo filter has two buckets at least.
void limit_capacity_by_slots() noexcept;
void limit_slots_by_capacity() noexcept;
constexpr std::size_t cuckoo_slots_place = 3;
constexpr std::size_t cuckoo_capacity_place = 4;

text_setting text_settings[] = {
    {"bf-error-rate", "ERROR_RATE", 0, 1, true, [](double value) { configured.error_rate = value; }, "0.01"},
    {"bf-initial-size", "INITIAL_SIZE", 1, static_cast<double>(max_capacity), false,
     [](double value) { configured.capacity = static_cast<std::uint64_t>(value); }, "100"},
    {"bf-expansion-factor", nullptr, 0, static_cast<double>(max_expansion), false,
     [](double value) { configured.expansion = static_cast<std::uint64_t>(value); }, "2"},
    {"cf-bucket-size", nullptr, 1, static_cast<double>(max_slots), false,
     [](double value) {
       configured.cuckoo_slots = static_cast<std::uint64_t>(value);
       limit_capacity_by_slots();
     },
     "2"},
    {"cf-initial-size", nullptr, 4, static_cast<double>(max_capacity), false,
     [](double value) {
       configured.cuckoo_capacity = static_cast<std::uint64_t>(value);
       limit_slots_by_capacity();
     },
     "1024"},
    {"cf-max-iterations", nullptr, 1, static_cast<double>(max_moves), false,
     [](double value) { configured.cuckoo_moves = static_cast<std::uint64_t>(value); }, "20"},
    {"cf-expansion-factor", nullptr, 0, static_cast<double>(max_expansion), false,
     [](double value) { configured.cuckoo_expansion = static_cast<std::uint64_t>(value); }, "1"},
    {"cf-max-expansions", "CF_MAX_EXPANSIONS", 1, 65536, false,
     [](double value) { configured.cuckoo_sub_filters = static_cast<std::uint64_t>(value); }, "32"},
};
void limit_capacity_by_slots() noexcept {
  text_settings[cuckoo_capacity_place].lowest = static_cast<double>(2 * configured.cuckoo_slots);
}
void limit_slots_by_capacity() noexcept {
  const std::uint64_t most = configured.cuckoo_capacity / 2;
  text_settings[cuckoo_slots_place].highest = std::min(static_cast<double>(max_slots), static_cast<double>(most));
}

struct number_setting {
  const char* name;
  long long fallback;
  unsigned flags;
  std::uint64_t settings::*value;
};
number_setting number_settings[] = {
    {"bf-memory-limit", 0, config_memory, &settings::memory_limit_bytes},
    {"bf-work-limit", 1'000'000'000, config_plain, &settings::work_limit},
};

constexpr std::size_t problem_bytes = 128;

// False: `problem` says why.
bool parse(const text_setting& of, std::string_view text, double& value, char (&problem)[problem_bytes]) noexcept {
  long long whole = 0;
  const bool is_number = of.is_rate ? parse_all(text, value) : parse_all(text, whole);
  if (!of.is_rate) value = static_cast<double>(whole);
  if (!is_number) {
    std::snprintf(problem, sizeof problem, "Invalid value for `%s`", of.name);
    return false;
  }
  if (of.is_rate ? value > of.lowest && value < of.highest : value >= of.lowest && value <= of.highest) return true;
  if (of.is_rate) {
    std::snprintf(problem, sizeof problem, "Value for `%s` must be in the range (%f, %f)", of.name, of.lowest,
                  of.highest);
  } else {
    std::snprintf(problem, sizeof problem, "Value for `%s` must be in the range [%.0f, %.0f]", of.name, of.lowest,
                  of.highest);
  }
  return false;
}

server_string* get_text(const char*, void* data) noexcept { return static_cast<text_setting*>(data)->shown; }

int set_text(const char*, server_string* text, void* data, server_string** problem) noexcept {
  auto& of = *static_cast<text_setting*>(data);
  std::string_view shown = view(text);
  double value = 0;
  char why[problem_bytes];
  if (!parse(of, shown, value, why)) {
    *problem = server.create_string(nullptr, why, std::strlen(why));
    return error;
  }
  if (of.is_rate && value > max_error_rate) {
    server.log(nullptr, "warning", "%s: %g is more than %g, which is taken", of.name, value, max_error_rate);
    value = max_error_rate;
    shown = "0.25";
  }
  of.assign(value);
  if (of.shown != nullptr) server.free_string(nullptr, of.shown);
  of.shown = server.create_string(nullptr, shown.data(), shown.size());
  return ok;
}

long long get_number(const char*, void* data) noexcept {
  return static_cast<long long>(configured.*static_cast<number_setting*>(data)->value);
}
int set_number(const char*, long long value, void* data, server_string**) noexcept {
  configured.*static_cast<number_setting*>(data)->value = static_cast<std::uint64_t>(value);
  return ok;
}

// One pair of load arguments.
bool take_argument(server_context* context, std::string_view name, std::string_view value) noexcept {
  char problem[problem_bytes] = "there is no such setting";
  for (text_setting& of : text_settings) {
    const bool is_old = of.old_name != nullptr && same_word(name, of.old_name);
    if (!is_old && !same_word(name, of.name)) continue;
    if (is_old) server.log(context, "warning", "the argument %s is an old name of %s", of.old_name, of.name);
    double number = 0;
    if (parse(of, value, number, problem) && value.size() < sizeof of.fallback) {
      std::memcpy(of.fallback, value.data(), value.size());
      of.fallback[value.size()] = '\0';
      return true;
    }
  }
  for (number_setting& of : number_settings) {
    if (!same_word(name, of.name)) continue;
    if (parse_all(value, of.fallback) && of.fallback >= 0) return true;
    std::snprintf(problem, sizeof problem, "Invalid value for `%s`", of.name);
  }
  server.log(context, "warning", "argument %.*s: %s", static_cast<int>(name.size()), name.data(), problem);
  return false;
}

// Where the flags are refused, they are so for the first of them.
bool register_all(server_context* context, unsigned flags) noexcept {
  for (text_setting& of : text_settings) {
    if (server.register_string_config(context, of.name, of.fallback, flags, get_text, set_text, nullptr, &of) != ok) {
      return false;
    }
  }
  for (number_setting& of : number_settings) {
    if (server.register_number_config(context, of.name, of.fallback, of.flags | flags, 0, INT64_MAX, get_number,
                                      set_number, nullptr, &of) != ok) {
      return false;
    }
  }
  return true;
}

}  // namespace

bool register_config(server_context* context, std::span<server_string* const> arguments) noexcept {
  if (arguments.size() % 2 != 0) {
    server.log(context, "warning", "the arguments of the module are pairs of a name and a value");
    return false;
  }
  for (std::size_t i = 0; i < arguments.size(); i += 2) {
    if (!take_argument(context, view(arguments[i]), view(arguments[i + 1]))) return false;
  }
  // Milestones of 8.0 have that version, and some refuse the flag.
  if (!is_valkey && server.get_server_version() >= 0x80000 && register_all(context, config_unprefixed)) {
    return server.load_configs(context) == ok;
  }
  return register_all(context, config_plain) && server.load_configs(context) == ok;
}

}  // namespace bloomery::redis_module

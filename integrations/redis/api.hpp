// api.hpp: the server's module API, as far as this module calls it. Written from the public documentation of the API, which
// Redis 7.0 and Valkey 7.2 share; Debian packages no header of it. This is the only file that knows how the server's
// functions are called and what its structures look like in memory.
//
// A server hands over one function, which finds all others by name. `bind` takes their addresses; those that are not
// needed stay nullptr on servers that do not have them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace bloomery::redis_module {

// What the server owns. RedisModuleCtx, RedisModuleString and so on.
struct server_context;
struct server_string;
struct server_key;
struct server_type;
struct server_command;
struct server_io;
struct server_digest;
struct server_memory_info;
struct info_context;
struct defrag_context;

inline constexpr int ok = 0;
inline constexpr int error = 1;
inline constexpr int api_version = 1;

// OpenKey
inline constexpr int open_read = 1 << 0;
inline constexpr int open_write = 1 << 1;
// KeyType
inline constexpr int key_is_missing = 0;
// GetContextFlags
inline constexpr int context_replica = 1 << 3;
inline constexpr int context_replicated = 1 << 12;
inline constexpr int context_loading = 1 << 13;
inline constexpr int context_resp3 = 1 << 22;
inline constexpr int context_async_loading = 1 << 23;
// NotifyKeyspaceEvent: generic events, the letter g of notify-keyspace-events
inline constexpr int notify_generic = 1 << 2;
// SetModuleOptions
inline constexpr int handles_io_errors = 1 << 0;
inline constexpr int handles_async_load = 1 << 2;
// Register...Config
inline constexpr unsigned config_plain = 0;
inline constexpr unsigned config_memory = 1U << 7;
inline constexpr unsigned config_unprefixed = 1U << 9;  // from Redis 8.0 on

// ---- a data type: version 4 of the structure, as Redis 7.0 has it ----
struct type_methods {
  std::uint64_t version = 4;
  void* (*rdb_load)(server_io*, int encoding) = nullptr;
  void (*rdb_save)(server_io*, void* value) = nullptr;
  void (*aof_rewrite)(server_io*, server_string* key, void* value) = nullptr;
  std::size_t (*memory_usage)(const void* value) = nullptr;
  void (*digest)(server_digest*, void* value) = nullptr;
  void (*free)(void* value) = nullptr;
  int (*aux_load)(server_io*, int encoding, int when) = nullptr;
  void (*aux_save)(server_io*, int when) = nullptr;
  int aux_save_triggers = 0;
  std::size_t (*free_effort)(server_string* key, const void* value) = nullptr;
  void (*unlink)(server_string* key, const void* value) = nullptr;
  void* (*copy)(server_string* from, server_string* to, const void* value) = nullptr;
  int (*defrag)(defrag_context*, server_string* key, void** value) = nullptr;
  // The same with another first argument, for types that need to know the database.
  void* with_options[4] = {};
};
static_assert(sizeof(type_methods) == 18 * 8);

// ---- what a command says about itself ----
enum class argument_type : int {
  string,
  integer,
  floating,
  key,
  pattern,
  unix_time,
  pure_token,
  one_of,
  block  // clang-format off
};  // clang-format on
inline constexpr int argument_optional = 1 << 0;
inline constexpr int argument_multiple = 1 << 1;

// Lists end with an entry without a name.
struct command_argument {
  const char* name = nullptr;
  argument_type type = argument_type::string;
  int key_spec = 0;
  const char* token = nullptr;
  const char* summary = nullptr;
  const char* since = nullptr;
  int flags = 0;
  const char* deprecated_since = nullptr;
  const command_argument* parts = nullptr;
  const char* display_text = nullptr;
};

inline constexpr std::uint64_t key_read_only = 1U << 0;
inline constexpr std::uint64_t key_read_write = 1U << 1;
inline constexpr std::uint64_t key_access = 1U << 4;  // the caller learns about the value
inline constexpr std::uint64_t key_update = 1U << 5;
inline constexpr std::uint64_t key_insert = 1U << 6;
inline constexpr std::uint64_t key_delete = 1U << 7;
inline constexpr int begin_at_index = 2;
inline constexpr int find_range = 2;
struct key_spec {
  const char* notes = nullptr;
  std::uint64_t flags = 0;
  int begin_search = 0;
  union {
    int position = 0;
    struct {
      const char* word;
      int start;
    } keyword;
  } begin{};
  int find_keys = 0;
  struct {
    int last_key = 0;
    int step = 0;
    int limit = 0;
  } find{};
};
static_assert(offsetof(key_spec, begin) == 24 && offsetof(key_spec, find_keys) == 40 && sizeof(key_spec) == 56);

struct command_history {
  const char* since = nullptr;
  const char* changes = nullptr;
};
struct command_info_version {
  int version = 1;
  std::size_t history_bytes = sizeof(command_history);
  std::size_t key_spec_bytes = sizeof(key_spec);
  std::size_t argument_bytes = sizeof(command_argument);
};
struct command_info {
  const command_info_version* version = nullptr;
  const char* summary = nullptr;
  const char* complexity = nullptr;
  const char* since = nullptr;
  const command_history* history = nullptr;
  const char* tips = nullptr;
  int arity = 0;
  const key_spec* key_specs = nullptr;
  const command_argument* arguments = nullptr;
};

using command_function = int (*)(server_context*, server_string** arguments, int count);
using info_function = void (*)(info_context*, int for_crash_report);
using string_config_get = server_string* (*)(const char* name, void* data);
using string_config_set = int (*)(const char* name, server_string* value, void* data, server_string** error);
using number_config_get = long long (*)(const char* name, void* data);
using number_config_set = int (*)(const char* name, long long value, void* data, server_string** error);
using config_apply = int (*)(server_context*, void* data, server_string** error);

// ---- the functions: F(needed, member, name, result, arguments...) ----
#define BLOOMERY_SERVER_FUNCTIONS(F)                                                                                   \
  F(true, set_module_attributes, "SetModuleAttribs", void, server_context*, const char*, int, int)                     \
  F(true, is_module_name_busy, "IsModuleNameBusy", int, const char*)                                                   \
  F(true, set_module_options, "SetModuleOptions", void, server_context*, int)                                          \
  F(true, log, "Log", void, server_context*, const char*, const char*, ...)                                            \
  F(true, log_io_error, "LogIOError", void, server_io*, const char*, const char*, ...)                                 \
  F(true, get_server_version, "GetServerVersion", int)                                                                 \
  F(true, get_context_flags, "GetContextFlags", int, server_context*)                                                  \
  F(true, create_command, "CreateCommand", int, server_context*, const char*, command_function, const char*, int, int, \
    int)                                                                                                               \
  F(true, get_command, "GetCommand", server_command*, server_context*, const char*)                                    \
  F(true, set_command_info, "SetCommandInfo", int, server_command*, const command_info*)                               \
  F(false, add_acl_category, "AddACLCategory", int, server_context*, const char*)                                      \
  F(false, set_command_acl_categories, "SetCommandACLCategories", int, server_command*, const char*)                   \
  F(true, create_data_type, "CreateDataType", server_type*, server_context*, const char*, int, type_methods*)          \
  F(true, calloc, "Calloc", void*, std::size_t, std::size_t)                                                           \
  F(true, try_alloc, "TryAlloc", void*, std::size_t)                                                                   \
  F(false, try_calloc, "TryCalloc", void*, std::size_t, std::size_t)                                                   \
  F(true, free, "Free", void, void*)                                                                                   \
  F(true, malloc_size, "MallocSize", std::size_t, void*)                                                               \
  F(true, pool_alloc, "PoolAlloc", void*, server_context*, std::size_t)                                                \
  F(true, used_memory_ratio, "GetUsedMemoryRatio", float)                                                              \
  F(true, get_server_info, "GetServerInfo", server_memory_info*, server_context*, const char*)                         \
  F(true, server_info_number, "ServerInfoGetFieldUnsigned", unsigned long long, server_memory_info*, const char*,      \
    int*)                                                                                                              \
  F(true, server_info_text, "ServerInfoGetFieldC", const char*, server_memory_info*, const char*)                      \
  F(true, free_server_info, "FreeServerInfo", void, server_context*, server_memory_info*)                              \
  F(true, wrong_arity, "WrongArity", int, server_context*)                                                             \
  F(true, reply_with_number, "ReplyWithLongLong", int, server_context*, long long)                                     \
  F(true, reply_with_bool, "ReplyWithBool", int, server_context*, int)                                                 \
  F(true, reply_with_null, "ReplyWithNull", int, server_context*)                                                      \
  F(true, reply_with_array, "ReplyWithArray", int, server_context*, long)                                              \
  F(true, reply_with_map, "ReplyWithMap", int, server_context*, long)                                                  \
  F(true, reply_with_error, "ReplyWithError", int, server_context*, const char*)                                       \
  F(true, reply_with_simple_string, "ReplyWithSimpleString", int, server_context*, const char*)                        \
  F(true, reply_with_buffer, "ReplyWithStringBuffer", int, server_context*, const char*, std::size_t)                  \
  F(true, open_key, "OpenKey", server_key*, server_context*, server_string*, int)                                      \
  F(true, close_key, "CloseKey", void, server_key*)                                                                    \
  F(true, key_type, "KeyType", int, server_key*)                                                                       \
  F(true, module_type, "ModuleTypeGetType", server_type*, server_key*)                                                 \
  F(true, module_value, "ModuleTypeGetValue", void*, server_key*)                                                      \
  F(true, set_module_value, "ModuleTypeSetValue", int, server_key*, server_type*, void*)                               \
  F(true, create_string, "CreateString", server_string*, server_context*, const char*, std::size_t)                    \
  F(true, free_string, "FreeString", void, server_context*, server_string*)                                            \
  F(true, string_bytes, "StringPtrLen", const char*, const server_string*, std::size_t*)                               \
  F(true, string_to_number, "StringToLongLong", int, const server_string*, long long*)                                 \
  F(true, string_to_double, "StringToDouble", int, const server_string*, double*)                                      \
  F(true, replicate, "Replicate", int, server_context*, const char*, const char*, ...)                                 \
  F(true, replicate_verbatim, "ReplicateVerbatim", int, server_context*)                                               \
  F(true, notify, "NotifyKeyspaceEvent", int, server_context*, int, const char*, server_string*)                       \
  F(true, save_number, "SaveUnsigned", void, server_io*, std::uint64_t)                                                \
  F(true, save_double, "SaveDouble", void, server_io*, double)                                                         \
  F(true, save_buffer, "SaveStringBuffer", void, server_io*, const char*, std::size_t)                                 \
  F(true, load_number, "LoadUnsigned", std::uint64_t, server_io*)                                                      \
  F(true, load_double, "LoadDouble", double, server_io*)                                                               \
  F(true, load_buffer, "LoadStringBuffer", char*, server_io*, std::size_t*)                                            \
  F(true, get_context_from_io, "GetContextFromIO", server_context*, server_io*)                                        \
  F(true, is_io_error, "IsIOError", int, server_io*)                                                                   \
  F(true, emit_aof, "EmitAOF", void, server_io*, const char*, const char*, ...)                                        \
  F(true, digest_buffer, "DigestAddStringBuffer", void, server_digest*, const char*, std::size_t)                      \
  F(true, digest_number, "DigestAddLongLong", void, server_digest*, long long)                                         \
  F(true, digest_end, "DigestEndSequence", void, server_digest*)                                                       \
  F(true, defrag_alloc, "DefragAlloc", void*, defrag_context*, void*)                                                  \
  F(true, register_info, "RegisterInfoFunc", int, server_context*, info_function)                                      \
  F(true, info_section, "InfoAddSection", int, info_context*, const char*)                                             \
  F(true, info_number, "InfoAddFieldULongLong", int, info_context*, const char*, unsigned long long)                   \
  F(true, info_text, "InfoAddFieldCString", int, info_context*, const char*, const char*)                              \
  F(true, register_string_config, "RegisterStringConfig", int, server_context*, const char*, const char*, unsigned,    \
    string_config_get, string_config_set, config_apply, void*)                                                         \
  F(true, register_number_config, "RegisterNumericConfig", int, server_context*, const char*, long long, unsigned,     \
    long long, long long, number_config_get, number_config_set, config_apply, void*)                                   \
  F(true, load_configs, "LoadConfigs", int, server_context*)

struct server_functions {
#define BLOOMERY_SERVER_MEMBER(needed, member, name, result, ...) result (*member)(__VA_ARGS__) = nullptr;
  BLOOMERY_SERVER_FUNCTIONS(BLOOMERY_SERVER_MEMBER)
#undef BLOOMERY_SERVER_MEMBER
};
// All calls go through it. Set once, before the server calls anything of ours.
extern server_functions server;

// Set with it. Valkey has other versions, and settings of modules always have a prefix there.
extern bool is_valkey;

// The name of a function that is needed and not there; nullptr: all are.
const char* bind(server_context* context) noexcept;

}  // namespace bloomery::redis_module

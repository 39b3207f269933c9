// filter_type.hpp: what all data types share: a value is kept, freed, copied, loaded, rewritten, measured and moved, and a
// key is opened. A type's traits have the rest:
//
//     using chain_type = ...;                           the engine; a key holds one of it and nothing else
//     name, title, load_command                         of the type, in the log, and for the rewritten AOF
//     counts()                                          what the INFO section prints about them
//     header_bytes(chain), save(to, chain), load(from, encoding), add_digest(to, chain)
//     work_per_item(chain), most_work_per_sub_filter    what a look-up reads, for the limit of work (items.hpp)
//     event_...                                         what those hear who listen to events of keys
#pragma once

#include <bloomery/compat/redis/host.hpp>
#include <bloomery/core/error.hpp>

#include "integrations/redis/api.hpp"
#include "integrations/redis/call.hpp"
#include "integrations/redis/counters.hpp"
#include "integrations/redis/memory.hpp"

namespace bloomery::redis_module {

// Of both types, as RedisBloom has them.
inline constexpr int encoding_version = 4;

// A block of bytes that the server read, which is ours now. nullptr: `bytes` has no memory, and reading failed.
inline redis::block adopt_bytes(server_io* from) noexcept {
  std::size_t size_bytes = 0;
  char* const bytes = server.load_buffer(from, &size_bytes);
  if (bytes != nullptr) count_adopted(bytes);
  return redis::block::adopt(bytes, bytes == nullptr ? 0 : size_bytes, &server_memory());
}

template <class Traits>
class filter_type {
 public:
  using chain_type = typename Traits::chain_type;
  using owned_chain = redis::owned<chain_type>;

  static bool create(server_context* context) noexcept {
    type_methods methods{.rdb_load = load,
                         .rdb_save = save,
                         .aof_rewrite = rewrite,
                         .memory_usage = memory_of,
                         .digest = add_digest,
                         .free = free_value,
                         .free_effort = free_effort,
                         .copy = copy,
                         .defrag = defrag};
    of_server = server.create_data_type(context, Traits::name, encoding_version, &methods);
    return of_server != nullptr;
  }
  [[nodiscard]] static bool is_type_of(server_key* key) noexcept { return server.module_type(key) == of_server; }
  static chain_type* set(server_key* key, owned_chain chain) noexcept {
    void* const value = keep(std::move(chain));
    server.set_module_value(key, of_server, value);
    return static_cast<chain_type*>(value);
  }

 private:
  static chain_type& chain_of(void* value) noexcept { return *static_cast<chain_type*>(value); }
  static const chain_type& chain_of(const void* value) noexcept { return *static_cast<const chain_type*>(value); }

  static void* keep(owned_chain chain) noexcept {
    Traits::counts().objects.add(1);
    Traits::counts().items.add(chain->keys());
    return chain.release();
  }
  static void free_value(void* value) noexcept {
    const owned_chain chain(&chain_of(value));
    Traits::counts().objects.remove(1);
    Traits::counts().items.remove(chain->keys());
  }

  static void save(server_io* to, void* value) noexcept { Traits::save(to, chain_of(value)); }
  static void* load(server_io* from, int encoding) noexcept {
    if (encoding < 0 || encoding > encoding_version) {
      server.log_io_error(from, "warning", "%s: encoding %d is newer than this module", Traits::title, encoding);
      return nullptr;
    }
    auto chain = Traits::load(from, encoding);
    if (!chain) {
      server.log_io_error(from, "warning", "%s: %s", Traits::title, describe(chain.error()).c_str());
      return nullptr;
    }
    return keep(std::move(*chain));
  }

  static void rewrite(server_io* to, server_string* key, void* value) noexcept {
    const chain_type& chain = chain_of(value);
    auto header = redis::block::make(Traits::header_bytes(chain), &server_memory());
    if (!header) return server.log_io_error(to, "warning", "%s: no memory to rewrite it", Traits::title);
    chain.write_header(header->bytes());
    const auto emit = [&](std::int64_t iterator, std::span<const std::byte> bytes) {
      server.emit_aof(to, Traits::load_command, "slb", key, static_cast<long long>(iterator),
                      reinterpret_cast<const char*>(bytes.data()), bytes.size());
    };
    emit(1, header->bytes());
    for (auto chunk = chain.scan(1); chunk.iterator != 0; chunk = chain.scan(chunk.iterator)) {
      emit(chunk.iterator, chunk.bytes);
    }
  }

  static std::size_t memory_of(const void* value) noexcept {
    std::size_t bytes = 0;
    chain_of(value).for_each_block(
        [&](const void* block, std::uint64_t) { bytes += server.malloc_size(const_cast<void*>(block)); });
    return bytes;
  }
  // Two filters with the same settings and bytes have the same digest, wherever they are.
  static void add_digest(server_digest* to, void* value) noexcept {
    Traits::add_digest(to, chain_of(value));
    server.digest_end(to);
  }
  // How much work it is to free the value. 0: always in the background, when UNLINK or a setting allows that.
  static std::size_t free_effort(server_string*, const void* value) noexcept {
    constexpr std::uint64_t large_bytes = std::uint64_t{1} << 20U;
    const chain_type& chain = chain_of(value);
    return chain.allocated_bytes() >= large_bytes ? 0 : chain.sub_filters() + 2;
  }
  static void* copy(server_string*, server_string*, const void* value) noexcept {
    auto same = chain_of(value).clone();
    return same ? keep(std::move(*same)) : nullptr;
  }
  static int defrag(defrag_context* context, server_string*, void** value) noexcept {
    const redis::block_mover mover{
        .move = [](void* to, void* memory,
                   std::size_t) { return server.defrag_alloc(static_cast<defrag_context*>(to), memory); },
        .context = context};
    *value = chain_type::relocate(&chain_of(*value), mover);
    return 0;  // done
  }

  inline static server_type* of_server = nullptr;
};

// A key that is open, and what it holds.
template <class Traits>
class open_filter {
 public:
  using type = filter_type<Traits>;
  using chain_type = typename type::chain_type;

  open_filter(server_context* context, server_string* name, int mode) noexcept
      : key_(server.open_key(context, name, mode)) {
    if (key_ == nullptr) return;
    if (type::is_type_of(key_)) {
      chain_ = static_cast<chain_type*>(server.module_value(key_));
    } else {
      has_other_type_ = server.key_type(key_) != key_is_missing;
    }
  }
  ~open_filter() {
    if (key_ != nullptr) server.close_key(key_);
  }
  open_filter(const open_filter&) = delete;
  open_filter& operator=(const open_filter&) = delete;

  // nullptr: there is no key, or one of another type.
  [[nodiscard]] chain_type* chain() const noexcept { return chain_; }
  [[nodiscard]] bool has_other_type() const noexcept { return has_other_type_; }
  // There was no key. nullptr: no filter was made either, and the answer was why; `otherwise` where it is not for memory.
  chain_type* set(const call& made, result<typename type::owned_chain> chain, const memory_scope& scope,
                  const char* otherwise) noexcept {
    if (chain) return chain_ = type::set(key_, std::move(*chain));
    made.refuse(scope.why() == refusal::object_limit        ? beyond_memory_limit
                : chain.error().code == errc::out_of_memory ? cannot_create_for_memory
                                                            : otherwise);
    return nullptr;
  }

 private:
  server_key* key_;
  chain_type* chain_ = nullptr;
  bool has_other_type_ = false;
};

// answer(chain) for a key that has to be there.
template <class Traits, class Answer>
int read_filter(const call& made, Answer&& answer) noexcept {
  const open_filter<Traits> key(made.context, made.key(), open_read);
  if (key.has_other_type()) return made.refuse(wrong_type);
  if (key.chain() == nullptr) return made.refuse(not_found);
  return answer(*key.chain());
}

}  // namespace bloomery::redis_module

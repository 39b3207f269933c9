#include <bloomery/leveldb/policy.hpp>

#include "integrations/leveldb/filters.hpp"

namespace bloomery::inline BLOOMERY_ABI::leveldb {
namespace {

// The part of each key. LevelDB passes keys in order, so that equal parts mostly follow each other: one is enough.
class parts {
 public:
  parts(std::span<const ::leveldb::Slice> keys, const key_part& part) noexcept : keys_(keys), part_(part) {}

  template <class Use>
  std::size_t each(Use use) const {
    std::size_t count = 0;
    std::string_view last;
    for (const auto& key : keys_) {
      const std::string_view next = part_.extract(view_of(key));
      if (count != 0 && next == last) continue;
      use(count++, next);
      last = next;
    }
    return count;
  }

 private:
  std::span<const ::leveldb::Slice> keys_;
  const key_part& part_;
};

result<std::span<const std::byte>> encode(filter_encoder& encoder, std::span<const ::leveldb::Slice> keys,
                                          const key_part& part, filter_family family, unsigned bits_per_key) {
  if (part.is_whole() && family == filter_family::ours) return encoder.encode_keys(keys, bits_per_key);
  if (part.is_whole()) return encoder.encode_builtin_keys(keys, bits_per_key);
  const parts all(keys, part);
  if (family == filter_family::builtin || bits_per_key < least_slot_bits) {
    const auto digests = encoder.builtin_digests(keys.size());
    if (!digests) return fail(digests.error());
    const auto count = all.each([&](std::size_t i, std::string_view key) { (*digests)[i] = builtin_digest_of(key); });
    return encoder.encode_builtin(digests->first(count), bits_per_key);
  }
  const auto digests = encoder.digests(keys.size());
  if (!digests) return fail(digests.error());
  const auto count = all.each([&](std::size_t i, std::string_view key) { (*digests)[i] = digest_of(key); });
  return encoder.encode(digests->first(count), bits_per_key);
}

class filter_policy final : public ::leveldb::FilterPolicy {
 public:
  filter_policy(filter_family family, policy_options options) : family_(family), options_(std::move(options)) {}

  const char* Name() const override { return options_.part.policy_name().c_str(); }
  void CreateFilter(const ::leveldb::Slice* keys, int n, std::string* dst) const override {
    append_filter({keys, n > 0 ? static_cast<std::size_t>(n) : 0}, options_.part, family_, options_.bits_per_key, *dst);
  }
  bool KeyMayMatch(const ::leveldb::Slice& key, const ::leveldb::Slice& filter) const override {
    const std::string_view part = options_.part.extract(view_of(key));
    if (family_ == filter_family::builtin) return builtin_may_match(bytes_of(filter), builtin_digest_of(part));
    return may_match(bytes_of(filter), part);
  }

 private:
  filter_family family_;
  policy_options options_;
};

}  // namespace

void append_filter(std::span<const ::leveldb::Slice> keys, const key_part& part, filter_family family,
                   unsigned bits_per_key, std::string& out) {
  thread_local filter_encoder encoder;
  result<std::span<const std::byte>> made = filter_encoder::matches_all();
  if (bits_per_key != 0) made = encode(encoder, keys, part, family, bits_per_key);
  const auto bytes = made ? *made : filter_encoder::matches_all();
  out.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

policy_pointer new_filter_policy(const policy_options& options) {
  return std::make_unique<filter_policy>(filter_family::ours, options);
}
policy_pointer new_builtin_policy(const policy_options& options) {
  return std::make_unique<filter_policy>(filter_family::builtin, options);
}

}  // namespace bloomery::inline BLOOMERY_ABI::leveldb

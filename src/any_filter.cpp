// What any_filter does over the list of all kinds.
#include <bloomery/any_filter.hpp>
#include <bloomery/any_filter_model.hpp>
#include <bloomery/hash/identity.hpp>
#include <bloomery/kinds.hpp>
#include <cstdio>

namespace bloomery::inline BLOOMERY_ABI {

BLOOMERY_BODY result<void> any_filter::check_mode(const kind_info& kind, std::string_view mode) noexcept {
  if (mode.empty() || !kind.modes.empty()) return {};  // a kind with modes knows them itself
  std::array<char, 96> text{};
  std::snprintf(text.data(), text.size(), "kind %.*s has no modes: leave --mode out",
                static_cast<int>(kind.name.size()), kind.name.data());
  return fail(errc::unsupported, text.data());
}

BLOOMERY_BODY result<void> any_filter::check_hash(const kind_info& kind, const hash_spec& hash,
                                                  const size_plan& plan) noexcept {
  const hash_info* info = find_hash(hash.id);
  if (info == nullptr) return fail(errc::unknown_hash, "?");
  if (kind.integer_keys != (hash.id == identity::info.id)) {
    return fail(errc::unsupported, kind.integer_keys
                                       ? "this kind takes integer keys (--u64) and no other hash than identity"
                                       : "hash identity is for kinds of integers: plain integers are no digests");
  }
  if (kind.exact) return {};
  // What grows needs the bits of what it may grow to.
  return check_hash_bits(*info, plan.keys < plan.grows_to_keys ? plan.grows_to_keys : plan.keys, plan.fpr,
                         plan.digest_bits);
}

template <filter_kind K>
result<void> any_filter::check_params(const filter_params& params, const hash_spec& hash) noexcept {
  if (auto known = check_mode(K::info, params.mode); !known) return known;
  if (params.growth && !K::info.growth_factor) return detail::cannot(K::info, "have a growth factor: leave it out");
  size_plan plan;
  if constexpr (!K::info.exact) {
    const auto solved = K::plan(params.sizes(), params.layout);
    if (!solved) return fail(solved.error());
    plan = *solved;
  }
  return check_hash(K::info, hash, plan);
}

BLOOMERY_BODY result<any_filter> any_filter::make(std::string_view kind, const filter_params& params,
                                                  const hash_spec& hash) noexcept {
  const kind_info* info = find_kind(kind);
  if (info == nullptr) return fail(errc::unknown_kind, kind);
  return with_kind(kind_list{}, info->id, [&](auto tag) -> result<any_filter> {
    using K = typename decltype(tag)::type;
    if constexpr (dynamic_kind<K>) {
      if (auto fits = check_params<K>(params, hash); !fits) return fail(fits.error());
      auto self = detail::in_memory<K>::wrap(K::make(params));
      if (!self) return fail(self.error());
      return any_filter(std::move(*self), hash);
    } else {
      return detail::cannot(K::info, "be made empty: it is built at once, from all of its keys");
    }
  });
}

BLOOMERY_BODY result<any_filter> any_filter::build(std::string_view kind, const filter_params& params,
                                                   const hash_spec& hash, std::span<std::uint64_t> digests,
                                                   unsigned threads) noexcept {
  const kind_info* info = find_kind(kind);
  if (info == nullptr) return fail(errc::unknown_kind, kind);
  filter_params sized = params;
  sized.keys = digests.empty() ? 1 : digests.size();  // no kind is made for none
  return with_kind(kind_list{}, info->id, [&](auto tag) -> result<any_filter> {
    using K = typename decltype(tag)::type;
    if constexpr (static_kind<K>) {
      // Digests that come again count once. Where all of them are too many, the different ones may not be.
      std::span<std::uint64_t> different = digests;
      if (!check_params<K>(sized, hash)) {
        different = digests.first(detail::sort_distinct(digests, threads == 0 ? machine_threads() : threads));
        sized.keys = different.empty() ? 1 : different.size();
        if (auto fits = check_params<K>(sized, hash); !fits) return fail(fits.error());
      }
      sized.keys.reset();  // the kind knows how many are different
      auto self = detail::in_memory<K>::wrap(K::build(sized, different, threads));
      if (!self) return fail(self.error());
      return any_filter(std::move(*self), hash);
    } else {
      auto made = make(kind, sized, hash);
      if (!made) return made;
      if (auto inserted = made->insert(digests); !inserted) return fail(inserted.error());
      return made;
    }
  });
}

BLOOMERY_BODY result<any_filter> any_filter::build(std::string_view kind, const filter_params& params,
                                                   const hash_spec& hash, std::span<std::uint64_t> digests,
                                                   std::span<std::uint64_t> excluded, unsigned threads) noexcept {
  const kind_info* info = find_kind(kind);
  if (info == nullptr) return fail(errc::unknown_kind, kind);
  filter_params sized = params;
  sized.keys = digests.empty() ? 1 : digests.size();  // no kind is made for none
  sized.excluded_keys = excluded.size();
  return with_kind(kind_list{}, info->id, [&](auto tag) -> result<any_filter> {
    using K = typename decltype(tag)::type;
    if constexpr (excluding_kind<K>) {
      if (auto fits = check_params<K>(sized, hash); !fits) return fail(fits.error());
      auto self = detail::in_memory<K>::wrap(K::build(sized, digests, excluded, threads));
      if (!self) return fail(self.error());
      return any_filter(std::move(*self), hash);
    } else {
      return detail::cannot(K::info, "exclude keys");
    }
  });
}

// A pipe can be opened and read only once.
BLOOMERY_BODY result<any_filter> any_filter::load_stream(const input_file& stream,
                                                         const load_options& options) noexcept {
  const auto read = detail::read_filter(stream, options.memory, options.max_bytes);
  if (!read) return fail(read.error());
  return load_bytes(read->bytes(), options);
}

BLOOMERY_BODY result<any_filter> any_filter::load(const char* path, const load_options& options) noexcept {
  const auto file = input_file::open(path);
  if (!file) return fail(file.error());
  if (!file->is_regular()) return load_stream(*file, options);
  const auto header = read_header(path);
  if (!header) return fail(header.error());
  return with_kind(kind_list{}, header->kind_id, [&](auto tag) -> result<any_filter> {
    auto stored = bloomery::load<typename decltype(tag)::type>(path, options);
    if (!stored) return fail(stored.error());
    return own(std::move(stored->filter), stored->hash);
  });
}

BLOOMERY_BODY result<any_filter> any_filter::load_bytes(std::span<const std::byte> bytes,
                                                        const load_options& options) noexcept {
  const auto header = read_header_bytes(bytes);
  if (!header) return fail(header.error());
  return with_kind(kind_list{}, header->kind_id, [&](auto tag) -> result<any_filter> {
    auto stored = bloomery::load_bytes<typename decltype(tag)::type>(bytes, options);
    if (!stored) return fail(stored.error());
    return own(std::move(stored->filter), stored->hash);
  });
}

BLOOMERY_BODY result<any_filter> any_filter::open(const char* path, const load_options& options) noexcept {
  const auto input = input_file::open(path);
  if (!input) return fail(input.error());
  if (!input->is_regular()) return load_stream(*input, options);
  const auto header = read_header(path);
  if (!header) return fail(header.error());
  if (header->codec != 0 || header->text) return load(path, options);
  return with_kind(kind_list{}, header->kind_id, [&](auto tag) -> result<any_filter> {
    using K = typename decltype(tag)::type;
    if constexpr (mappable<K>) {
      auto file = mapped<K>::open(path, options.trust, nullptr, options.shard);
      if (!file) return fail(file.error());
      const hash_spec hash = file->header().hash;
      owner self(new (std::nothrow) detail::in_file<K>(std::move(*file)));
      if (self == nullptr) return fail(errc::out_of_memory, "the filter", {sizeof(detail::in_file<K>)});
      return any_filter(std::move(self), hash);
    } else {
      return load(path, options);
    }
  });
}

BLOOMERY_BODY result<void> any_filter::check_same(const any_filter& other) const noexcept {
  if (info().id != other.info().id) return fail(errc::mismatch, "they are of different kinds");
  if (hash_.id != other.hash_.id) return fail(errc::mismatch, "they use different hashes");
  if (hash_.seed != other.hash_.seed) return fail(errc::mismatch, "they use different seeds");
  if (hash_.key_id != other.hash_.key_id) return fail(errc::mismatch, "they use different secret keys");
  if (shards() == other.shards()) return {};
  std::array<char, 96> text{};
  if (shards() != 0 && other.shards() != 0) {
    std::snprintf(text.data(), text.size(), "one is of %u shards, the other of %u", shards(), other.shards());
  } else {
    std::snprintf(text.data(), text.size(), "one is of %u shards, the other in one piece",
                  shards() != 0 ? shards() : other.shards());
  }
  return fail(errc::mismatch, text.data());
}

BLOOMERY_BODY result<void> any_filter::merge(const any_filter& other, merge_fpr rate) noexcept {
  if (auto same = check_same(other); !same) return same;
  if (auto whole = other.self_->bytes(); !whole) return fail(whole.error());  // a mapped one: every chunk is checked
  return self_->merge(*other.self_, rate);
}

BLOOMERY_BODY result<void> any_filter::intersect(const any_filter& other) noexcept {
  if (auto same = check_same(other); !same) return same;
  if (auto whole = other.self_->bytes(); !whole) return fail(whole.error());  // a mapped one: every chunk is checked
  return self_->intersect(*other.self_);
}

BLOOMERY_BODY result<any_filter> any_filter::fold(std::uint64_t factor) const noexcept {
  auto folded = self_->fold(factor);
  if (!folded) return fail(folded.error());
  return any_filter(std::move(*folded), hash_);
}

BLOOMERY_BODY result<any_filter> any_filter::clone() const noexcept {
  auto copy = self_->clone();
  if (!copy) return fail(copy.error());
  return any_filter(std::move(*copy), hash_);
}

}  // namespace bloomery::inline BLOOMERY_ABI

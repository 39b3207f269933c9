// What any_filter does over the list of all kinds.
#include <bloomery/any_filter.hpp>
#include <bloomery/any_filter_model.hpp>
#include <bloomery/hash/identity.hpp>
#include <bloomery/kinds.hpp>
#include <cstdio>
#include <cstring>

namespace bloomery::inline BLOOMERY_ABI {

namespace detail {

BLOOMERY_BODY failure cannot(const kind_info& kind, std::string_view what) noexcept {
  std::array<char, 96> text{};
  std::snprintf(text.data(), text.size(), "kind %.*s cannot %.*s", static_cast<int>(kind.name.size()), kind.name.data(),
                static_cast<int>(what.size()), what.data());
  return fail(errc::unsupported, text.data());
}

// ---- what a model does not override ----

BLOOMERY_BODY failure filter_model::cannot(std::string_view what) const noexcept {
  return detail::cannot(info(), what);
}
BLOOMERY_BODY result<std::uint64_t> filter_model::add(const digest_span& /*digests*/) noexcept {
  return cannot("take keys");
}
BLOOMERY_BODY result<explanation> filter_model::explain(const digest_span& /*digest*/) const noexcept {
  return cannot("explain a look-up");
}
BLOOMERY_BODY result<std::uint64_t> filter_model::erase(std::span<const std::uint64_t> /*digests*/) noexcept {
  return cannot("erase");
}
BLOOMERY_BODY result<void> filter_model::count(std::span<const std::uint64_t> /*digests*/,
                                               std::span<std::uint64_t> /*counts*/) const noexcept {
  return cannot("count");
}
BLOOMERY_BODY result<void> filter_model::merge(const filter_model& /*other*/, merge_fpr /*rate*/) noexcept {
  return cannot("merge");
}
BLOOMERY_BODY result<void> filter_model::intersect(const filter_model& /*other*/) noexcept {
  return cannot("intersect");
}
BLOOMERY_BODY result<std::unique_ptr<filter_model>> filter_model::fold(std::uint64_t /*factor*/) const noexcept {
  return cannot("fold");
}
BLOOMERY_BODY result<void> filter_model::clear() noexcept { return cannot("be cleared"); }
BLOOMERY_BODY std::uint64_t filter_model::allocated_bytes() const noexcept {
  const auto known = stats();
  return sizeof(*this) + (known ? known->memory_bytes : 0);
}

// ---- one digest and streams of them, by the batch calls ----

BLOOMERY_BODY single_answer filter_model::insert_one(std::uint64_t digest) noexcept {
  const auto added = add(std::span<const std::uint64_t>(&digest, 1));
  if (added) return *added != 0 ? single_answer::yes : single_answer::no;
  return is_full(added.error()) ? single_answer::full : single_answer::failed;
}

BLOOMERY_BODY single_answer filter_model::contains_one(std::uint64_t digest) const noexcept {
  std::uint64_t mask = 0;
  if (!may_contain(std::span<const std::uint64_t>(&digest, 1), {&mask, 1})) return single_answer::failed;
  return (mask & 1U) != 0 ? single_answer::yes : single_answer::no;
}

BLOOMERY_BODY result<batch_outcome> filter_model::insert(const digest_span& digests,
                                                         std::span<std::uint64_t> fresh) noexcept {
  batch_outcome all;
  for (; all.taken < digests.size(); ++all.taken) {
    const auto added = add(digests.subspan(all.taken, 1));
    if (!added && is_full(added.error())) return all;
    if (!added) return fail(added.error());
    all.inserted += *added;
    fresh[all.taken / 64] |= std::uint64_t{*added != 0 ? 1U : 0U} << (all.taken % 64);
  }
  return all;
}

// The digests of a feed in groups, which begin words of a mask. f(digests, index of the first) returns result<void>.
template <class F>
result<void> for_each_feed_group(std::size_t count, const digest_feed& feed, F&& f) noexcept {
  constexpr std::size_t group = 512;
  constexpr std::size_t most = 64;  // that a feed makes in one call
  std::array<std::uint64_t, group> digests;
  for (std::size_t first = 0; first < count; first += group) {
    const std::size_t size = count - first < group ? count - first : group;
    for (std::size_t at = 0; at < size; at += most) {
      const std::size_t some = size - at < most ? size - at : most;
      const std::uint64_t* made = feed(first + at, some, digests.data() + at);
      if (made != digests.data() + at) std::memcpy(digests.data() + at, made, some * sizeof(std::uint64_t));
    }
    if (auto done = f(std::span<const std::uint64_t>(digests).first(size), first); !done) return done;
  }
  return {};
}

BLOOMERY_BODY result<std::uint64_t> filter_model::add_stream(std::size_t count, const digest_feed& feed) noexcept {
  std::uint64_t inserted = 0;
  const auto done = for_each_feed_group(count, feed, [&](auto digests, std::size_t first) -> result<void> {
    const auto added = add(digests);
    if (added) {
      inserted += *added;
      return {};
    }
    error why = added.error();
    if (is_full(why)) why.number[1] += first;
    return fail(why);
  });
  if (!done) return fail(done.error());
  return inserted;
}

BLOOMERY_BODY result<void> filter_model::may_contain_stream(std::size_t count, const digest_feed& feed,
                                                            std::span<std::uint64_t> mask) const noexcept {
  return for_each_feed_group(
      count, feed, [&](auto digests, std::size_t first) { return may_contain(digests, mask.subspan(first / 64)); });
}

}  // namespace detail

// ---- keys ----

BLOOMERY_BODY result<void> any_filter::unlock(std::span<const std::byte> key) noexcept {
  auto made = hasher::make(hash(), key);
  if (!made) return fail(made.error());
  hash_ = *made;
  return {};
}

BLOOMERY_BODY error any_filter::no_keys() const noexcept {
  if (hash_.is_usable()) return make_error(errc::unsupported, "this filter takes integer keys, of 8 bytes");
  const hash_info* info = find_hash(hash().id);
  if (info == nullptr) return make_error(errc::unknown_hash, "?");
  return make_error(errc::bad_key_size, info->name, {0, info->key_bytes});
}

BLOOMERY_BODY result<void> any_filter::check_keys(const key_batch& keys) const noexcept {
  if (auto sound = keys.check(); !sound) return sound;
  if (keys.keys() == key_batch::type::digests) {
    const unsigned bits = keys.digests().bits();
    if (bits == digest_bits_ || (bits == 128 && digest_bits_ == 64)) return {};
    return fail(errc::unsupported, digest_bits_ == 64    ? "this filter takes 64-bit digests"
                                   : digest_bits_ == 128 ? "this filter takes 128-bit digests"
                                                         : "this filter takes 256-bit digests");
  }
  if (!hash_.is_usable() || !hash_.get().accepts(keys)) return fail(no_keys());
  return {};
}

namespace detail {

// The digests of keys first to first + count - 1, at most 64.
inline void make_digests(const hasher& hash, const key_batch& keys, std::size_t first, std::size_t count, unsigned bits,
                         std::uint64_t* words) noexcept {
  std::array<std::array<char, 8>, 64> integers;
  std::array<std::string_view, 64> views;
  for (std::size_t i = 0; i < count; ++i) views[i] = bytes_of_key(keys, first + i, integers[i].data());
  hash.digest_words(std::span<const std::string_view>(views).first(count), bits, words);
}

// Digests of `bits` bits, group after group.
template <class F>
result<void> for_each_key_group(const hasher& hash, const key_batch& keys, unsigned bits, F&& f) noexcept {
  constexpr std::size_t group_words = 512;
  const std::size_t words = bits / 64;
  const std::size_t group = group_words / words;  // a multiple of 64: every group begins a word of a mask
  alignas(32) std::array<std::uint64_t, group_words> digests;
  for (std::size_t first = 0; first < keys.size(); first += group) {
    const std::size_t size = keys.size() - first < group ? keys.size() - first : group;
    for (std::size_t at = 0; at < size; at += 64) {
      make_digests(hash, keys, first + at, size - at < 64 ? size - at : 64, bits, digests.data() + at * words);
    }
    if (auto more = f(digest_span(digests.data(), size, bits), first); !more || !*more) {
      return more ? result<void>{} : fail(more.error());
    }
  }
  return {};
}

}  // namespace detail

template <class F>
result<void> any_filter::for_each_group(const key_batch& keys, F&& f) const noexcept {
  if (keys.keys() == key_batch::type::digests) {
    const digest_span digests = keys.digests();
    if (digests.bits() == digest_bits_) {
      const auto done = f(digests, std::size_t{0});
      return done ? result<void>{} : fail(done.error());
    }
    // 128-bit digests of a filter that takes their low words.
    constexpr std::size_t group = 512;
    std::array<std::uint64_t, group> low;
    for (std::size_t first = 0; first < keys.size(); first += group) {
      const std::size_t size = keys.size() - first < group ? keys.size() - first : group;
      for (std::size_t i = 0; i < size; ++i) low[i] = digests.as<digest128>()[first + i].low;
      const auto more = f(digest_span(std::span<const std::uint64_t>(low).first(size)), first);
      if (!more) return fail(more.error());
      if (!*more) break;
    }
    return {};
  }
  return detail::for_each_key_group(hash_.get(), keys, digest_bits_, f);
}

BLOOMERY_BODY result<batch_outcome> any_filter::insert(const key_batch& keys, std::span<std::uint64_t> fresh) noexcept {
  if (fresh.size() < mask_words(keys.size())) return too_small(fresh.size(), keys.size());
  if (auto sound = check_keys(keys); !sound) return fail(sound.error());
  for (std::size_t i = 0; i < mask_words(keys.size()); ++i) fresh[i] = 0;
  batch_outcome all;
  const auto done = for_each_group(keys, [&](const digest_span& digests, std::size_t first) -> result<bool> {
    const auto some = self_->insert(digests, fresh.subspan(first / 64));
    if (!some) return fail(some.error());
    all.taken += some->taken;
    all.inserted += some->inserted;
    return some->taken == digests.size();
  });
  if (!done) return fail(done.error());
  return all;
}

BLOOMERY_BODY result<std::uint64_t> any_filter::add(const key_batch& keys) noexcept {
  if (auto sound = check_keys(keys); !sound) return fail(sound.error());
  if (digest_bits_ == 64 && keys.keys() != key_batch::type::digests) {
    result<std::uint64_t> added = 0;
    hash_.get().with_feed(keys, [&](const digest_feed& feed) { added = self_->add_stream(keys.size(), feed); });
    return added;
  }
  std::uint64_t inserted = 0;
  const auto done = for_each_group(keys, [&](const digest_span& digests, std::size_t first) -> result<bool> {
    const auto added = self_->add(digests);
    if (added) {
      inserted += *added;
      return true;
    }
    error why = added.error();
    if (is_full(why)) why.number[1] += first;
    return fail(why);
  });
  if (!done) return fail(done.error());
  return inserted;
}

BLOOMERY_BODY result<void> any_filter::may_contain(const key_batch& keys,
                                                   std::span<std::uint64_t> mask) const noexcept {
  if (mask.size() < mask_words(keys.size())) return too_small(mask.size(), keys.size());
  if (auto sound = check_keys(keys); !sound) return sound;
  if (digest_bits_ == 64 && keys.keys() != key_batch::type::digests) {
    result<void> done;
    hash_.get().with_feed(keys,
                          [&](const digest_feed& feed) { done = self_->may_contain_stream(keys.size(), feed, mask); });
    return done;
  }
  return for_each_group(keys, [&](const digest_span& digests, std::size_t first) -> result<bool> {
    if (auto done = self_->may_contain(digests, mask.subspan(first / 64)); !done) return fail(done.error());
    return true;
  });
}

BLOOMERY_BODY result<std::size_t> any_filter::may_contain_select(const key_batch& keys,
                                                                 std::span<std::uint32_t> selection) const noexcept {
  if (selection.size() < keys.size()) return fail(errc::bad_span, "the selection", {selection.size(), keys.size()});
  if (auto sound = check_keys(keys); !sound) return fail(sound.error());
  std::size_t count = 0;
  const auto done = for_each_group(keys, [&](const digest_span& digests, std::size_t first) -> result<bool> {
    constexpr std::size_t group = 512;
    std::array<std::uint64_t, mask_words(group)> mask{};
    for (std::size_t at = 0; at < digests.size(); at += group) {
      const std::size_t size = digests.size() - at < group ? digests.size() - at : group;
      if (auto found = self_->may_contain(digests.subspan(at, size), mask); !found) return fail(found.error());
      const std::size_t some = selection_of(mask, size, selection.subspan(count));
      for (std::size_t i = 0; i < some; ++i) selection[count + i] += static_cast<std::uint32_t>(first + at);
      count += some;
    }
    return true;
  });
  if (!done) return fail(done.error());
  return count;
}

BLOOMERY_BODY result<std::uint64_t> any_filter::erase(const key_batch& keys) noexcept {
  if (auto sound = check_keys(keys); !sound) return fail(sound.error());
  if (digest_bits_ != 64) return self_->cannot("erase");
  std::uint64_t erased = 0;
  const auto done = for_each_group(keys, [&](const digest_span& digests, std::size_t /*first*/) -> result<bool> {
    const auto some = self_->erase(digests.as<std::uint64_t>());
    if (!some) return fail(some.error());
    erased += *some;
    return true;
  });
  if (!done) return fail(done.error());
  return erased;
}

BLOOMERY_BODY result<void> any_filter::count(const key_batch& keys, std::span<std::uint64_t> counts) const noexcept {
  if (counts.size() < keys.size()) return fail(errc::bad_span, "the counts", {counts.size(), keys.size()});
  if (auto sound = check_keys(keys); !sound) return sound;
  if (digest_bits_ != 64) return self_->cannot("count");
  return for_each_group(keys, [&](const digest_span& digests, std::size_t first) -> result<bool> {
    const auto done = self_->count(digests.as<std::uint64_t>(), counts.subspan(first, digests.size()));
    if (!done) return fail(done.error());
    return true;
  });
}

// ---- making ----

BLOOMERY_BODY result<void> any_filter::check_hash(const kind_info& kind, const hash_spec& hash,
                                                  const size_plan& plan) noexcept {
  const hash_info* info = find_hash(hash.id);
  if (info == nullptr) return fail(errc::unknown_hash, "?");
  if (kind.integer_keys != (hash.id == identity::info.id)) {
    if (kind.integer_keys) return fail(errc::integer_keys_only);
    return fail(errc::unsupported, "hash identity is for kinds of integers: plain integers are no digests");
  }
  if (kind.exact) return {};
  // What grows needs the bits of what it may grow to.
  return check_hash_bits(*info, plan.keys < plan.grows_to_keys ? plan.grows_to_keys : plan.keys, plan.fpr,
                         plan.digest_bits);
}

template <filter_kind K>
result<void> any_filter::check_params(const filter_params& params, const hash_spec& hash) noexcept {
  size_plan plan;
  if constexpr (!K::info.exact) {
    const auto solved = K::plan(params.sizes(), params.layout);
    if (!solved) return fail(solved.error());
    plan = *solved;
  }
  return check_hash(K::info, hash, plan);
}

BLOOMERY_BODY result<any_filter> any_filter::make(std::string_view kind, const filter_params& wanted,
                                                  const filter_hash& hash) noexcept {
  const kind_entry* entry = find_kind(kind);
  if (entry == nullptr) return fail(errc::unknown_kind, kind);
  filter_params params = wanted;
  layout_text layout{};
  if (auto fits = apply_options(*entry, params, layout); !fits) return fail(fits.error());
  return with_kind(kind_list{}, entry->info->id, [&](auto tag) -> result<any_filter> {
    using K = typename decltype(tag)::type;
    if constexpr (dynamic_kind<K>) {
      if (auto fits = check_params<K>(params, hash.spec()); !fits) return fail(fits.error());
      auto self = detail::in_memory<K>::wrap(K::make(params));
      if (!self) return fail(self.error());
      return any_filter(std::move(*self), hash);
    } else {
      return detail::cannot(K::info, "be made empty: it is built at once, from all of its keys");
    }
  });
}

BLOOMERY_BODY result<size_plan> any_filter::plan(std::string_view kind, const filter_params& wanted) noexcept {
  const kind_entry* entry = find_kind(kind);
  if (entry == nullptr) return fail(errc::unknown_kind, kind);
  filter_params params = wanted;
  layout_text layout{};
  if (auto fits = apply_options(*entry, params, layout); !fits) return fail(fits.error());
  return entry->plan(params.sizes(), params.layout);
}

namespace detail {
// The 64-bit digests of all keys, in memory of their own.
BLOOMERY_BODY result<aligned_buffer> digests_of_keys(const filter_hash& hash, const key_batch& keys,
                                                     const memory_hooks* memory) noexcept {
  auto buffer = aligned_buffer::make(std::uint64_t{keys.size()} * sizeof(std::uint64_t), "the digests", memory);
  if (!buffer) return buffer;
  auto* const out = reinterpret_cast<std::uint64_t*>(buffer->data());
  if (keys.keys() == key_batch::type::digests) {
    const digest_span from = keys.digests();
    for (std::size_t i = 0; i < keys.size(); ++i) {
      out[i] = from.bits() == 64 ? from.as<std::uint64_t>()[i] : from.as<digest128>()[i].low;
    }
    return buffer;
  }
  for (std::size_t first = 0; first < keys.size(); first += 64) {
    make_digests(hash.get(), keys, first, keys.size() - first < 64 ? keys.size() - first : 64, 64, out + first);
  }
  return buffer;
}
inline std::span<std::uint64_t> words_of(aligned_buffer& memory) noexcept {
  return {reinterpret_cast<std::uint64_t*>(memory.data()), memory.size_bytes() / sizeof(std::uint64_t)};
}
// Keys that a filter with 64-bit digests can be built from.
BLOOMERY_BODY result<void> check_build_keys(const filter_hash& hash, const key_batch& keys) noexcept {
  if (auto sound = keys.check(); !sound) return sound;
  if (keys.keys() == key_batch::type::digests) {
    if (keys.digests().bits() <= 128) return {};
    return fail(errc::unsupported, "this filter takes 64-bit digests");
  }
  if (!hash.is_usable()) {
    const hash_info* info = find_hash(hash.spec().id);
    if (info == nullptr) return fail(errc::unknown_hash, "?");
    return fail(errc::bad_key_size, info->name, {0, info->key_bytes});
  }
  if (!hash.get().accepts(keys)) return fail(errc::unsupported, "this filter takes integer keys, of 8 bytes");
  return {};
}
}  // namespace detail

BLOOMERY_BODY result<any_filter> any_filter::build(std::string_view kind, const filter_params& params,
                                                   const filter_hash& hash, const key_batch& keys,
                                                   unsigned threads) noexcept {
  const kind_entry* entry = find_kind(kind);
  if (entry == nullptr) return fail(errc::unknown_kind, kind);
  if (entry->capabilities.inserts) {
    filter_params sized = params;
    sized.keys = keys.size() == 0 ? 1 : keys.size();  // no kind is made for none
    auto made = make(kind, sized, hash);
    if (!made) return made;
    if (auto added = made->add(keys); !added) return fail(added.error());
    return made;
  }
  if (auto sound = detail::check_build_keys(hash, keys); !sound) return fail(sound.error());
  auto digests = detail::digests_of_keys(hash, keys, params.memory);
  if (!digests) return fail(digests.error());
  return build_digests(kind, params, hash, detail::words_of(*digests), threads);
}

BLOOMERY_BODY result<any_filter> any_filter::build(std::string_view kind, const filter_params& params,
                                                   const filter_hash& hash, const key_batch& keys,
                                                   const key_batch& excluded, unsigned threads) noexcept {
  if (auto sound = detail::check_build_keys(hash, keys); !sound) return fail(sound.error());
  if (auto sound = detail::check_build_keys(hash, excluded); !sound) return fail(sound.error());
  auto digests = detail::digests_of_keys(hash, keys, params.memory);
  if (!digests) return fail(digests.error());
  auto others = detail::digests_of_keys(hash, excluded, params.memory);
  if (!others) return fail(others.error());
  return build_digests(kind, params, hash, detail::words_of(*digests), detail::words_of(*others), threads);
}

BLOOMERY_BODY result<any_filter> any_filter::build_digests(std::string_view kind, const filter_params& params,
                                                           const filter_hash& hash, std::span<std::uint64_t> digests,
                                                           unsigned threads) noexcept {
  const kind_entry* entry = find_kind(kind);
  if (entry == nullptr) return fail(errc::unknown_kind, kind);
  filter_params sized = params;
  layout_text layout{};
  if (auto fits = apply_options(*entry, sized, layout); !fits) return fail(fits.error());
  sized.keys = digests.empty() ? 1 : digests.size();  // no kind is made for none
  return with_kind(kind_list{}, entry->info->id, [&](auto tag) -> result<any_filter> {
    using K = typename decltype(tag)::type;
    if constexpr (static_kind<K>) {
      // Digests that come again count once. Where all of them are too many, the different ones may not be.
      std::span<std::uint64_t> different = digests;
      if (!check_params<K>(sized, hash.spec())) {
        different = digests.first(detail::sort_distinct(digests, threads == 0 ? machine_threads() : threads));
        sized.keys = different.empty() ? 1 : different.size();
        if (auto fits = check_params<K>(sized, hash.spec()); !fits) return fail(fits.error());
      }
      sized.keys.reset();  // the kind knows how many are different
      auto self = detail::in_memory<K>::wrap(K::build(sized, different, threads));
      if (!self) return fail(self.error());
      return any_filter(std::move(*self), hash);
    } else {
      auto made = make(kind, sized, hash);
      if (!made) return made;
      if (auto added = made->add(as_prehashed(digests)); !added) return fail(added.error());
      return made;
    }
  });
}

BLOOMERY_BODY result<any_filter> any_filter::build_digests(std::string_view kind, const filter_params& params,
                                                           const filter_hash& hash, std::span<std::uint64_t> digests,
                                                           std::span<std::uint64_t> excluded,
                                                           unsigned threads) noexcept {
  const kind_entry* entry = find_kind(kind);
  if (entry == nullptr) return fail(errc::unknown_kind, kind);
  filter_params sized = params;
  layout_text layout{};
  if (auto fits = apply_options(*entry, sized, layout); !fits) return fail(fits.error());
  sized.keys = digests.empty() ? 1 : digests.size();  // no kind is made for none
  sized.excluded_keys = excluded.size();
  return with_kind(kind_list{}, entry->info->id, [&](auto tag) -> result<any_filter> {
    using K = typename decltype(tag)::type;
    if constexpr (excluding_kind<K>) {
      if (auto fits = check_params<K>(sized, hash.spec()); !fits) return fail(fits.error());
      auto self = detail::in_memory<K>::wrap(K::build(sized, digests, excluded, threads));
      if (!self) return fail(self.error());
      return any_filter(std::move(*self), hash);
    } else {
      return detail::cannot(K::info, "exclude keys");
    }
  });
}

template <class Read>
result<any_filter> any_filter::load_kind(const file_header& header, Read&& read) noexcept {
  return with_kind(kind_list{}, header.kind_id, [&](auto tag) -> result<any_filter> {
    auto stored = read(tag);
    if (!stored) return fail(stored.error());
    return own(std::move(stored->filter), stored->hash);
  });
}

BLOOMERY_BODY result<any_filter> any_filter::load(file_path path, const load_options& options) noexcept {
  const auto file = input_file::open(path);
  if (!file) return fail(file.error());
  return load(*file, options);
}

BLOOMERY_BODY result<any_filter> any_filter::load(const input_file& file, const load_options& options) noexcept {
  const auto native = native_file::read(file, options);
  if (!native) return name_file(fail(native.error()), file.path());
  return name_file(load(*native, options), file.path());
}

BLOOMERY_BODY result<any_filter> any_filter::load(const native_file& file, const load_options& options) noexcept {
  return load_kind(file.header(),
                   [&](auto tag) { return bloomery::load<typename decltype(tag)::type>(file, options); });
}

BLOOMERY_BODY result<any_filter> any_filter::load_bytes(std::span<const std::byte> bytes,
                                                        const load_options& options) noexcept {
  const auto file = detail::decode_file(bytes);
  if (!file) return fail(file.error());
  return load_kind(file->header,
                   [&](auto tag) { return detail::load_decoded<typename decltype(tag)::type>(*file, options); });
}

BLOOMERY_BODY result<any_filter> any_filter::open(file_path path, const load_options& options) noexcept {
  const auto file = input_file::open(path);
  if (!file) return fail(file.error());
  return open(*file, options);
}

BLOOMERY_BODY result<any_filter> any_filter::open(const input_file& file, const load_options& options) noexcept {
  const auto native = native_file::read(file, options);
  if (!native) return name_file(fail(native.error()), file.path());
  return name_file(open(*native, options), file.path());
}

BLOOMERY_BODY result<any_filter> any_filter::open(const native_file& file, const load_options& options) noexcept {
  if (file.mappable_file() == nullptr) return load(file, options);
  return with_kind(kind_list{}, file.header().kind_id, [&](auto tag) -> result<any_filter> {
    using K = typename decltype(tag)::type;
    if constexpr (mappable<K>) {
      auto in_place = mapped<K>::open(file, options.trust, nullptr, options.shard);
      if (!in_place) return fail(in_place.error());
      in_place->set_clock(options.clock);
      owner self(new (std::nothrow) detail::in_file<K>(std::move(*in_place)));
      if (self == nullptr) return fail(errc::out_of_memory, "the filter", {sizeof(detail::in_file<K>)});
      return any_filter(std::move(self), file.header().hash);
    } else {
      return load(file, options);
    }
  });
}

BLOOMERY_BODY result<void> any_filter::check_same(const any_filter& other) const noexcept {
  if (info().id != other.info().id) return fail(errc::mismatch, "they are of different kinds");
  if (hash().id != other.hash().id) return fail(errc::mismatch, "they use different hashes");
  if (hash().seed != other.hash().seed) return fail(errc::mismatch, "they use different seeds");
  if (hash().key_id != other.hash().key_id) return fail(errc::mismatch, "they use different secret keys");
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
  if (auto whole = other.self_->verify(); !whole) return whole;
  return self_->merge(*other.self_, rate);
}

BLOOMERY_BODY result<void> any_filter::intersect(const any_filter& other) noexcept {
  if (auto same = check_same(other); !same) return same;
  if (auto whole = other.self_->verify(); !whole) return whole;
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

BLOOMERY_BODY result<void> any_filter::relocate() noexcept {
  if (is_mapped()) return {};
  auto copy = self_->clone();
  if (!copy) return fail(copy.error());
  self_ = std::move(*copy);
  return {};
}

}  // namespace bloomery::inline BLOOMERY_ABI

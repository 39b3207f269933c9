// kinds/cuckoo.hpp: the cuckoo filter: keys can be taken out again, at the size of a Bloom filter.
//
// What it is    a table of fingerprints of a few bits. A key has two buckets of a few slots; an insert puts its
//               fingerprint into a free slot of one of them, and where there is none moves others to their other
//               bucket.
// Use it when   keys leave as well as come, and memory counts: 12.8 bits per key at 0.1 % (`bloom` takes 14.4,
//               `counting` 57.5), 9.6 to 10.5 at 1 %. A look-up touches two cache lines at any FPR.
// Use instead   `bloom` or `blocked` when nothing is ever erased, or filters are to be merged; `growing` when the
//               number of keys is not known; `counting` when a key may come more than a few times.
//
// Full          its capacity is fixed: it is full a little beyond it. `insert` then returns `full`, and the filter is
//               exactly as it was before: what is in it stays, and after an erase there may be space again. Keys whose
//               number is below the capacity are in but for one filter in a million (one in a thousand when the layout
//               is chosen by hand): then build with another seed, or for more keys.
// Modes         multiset (default): every insert takes a slot, of a key that is there as well: `inserted` means that
//               the key was surely absent before, `present` that it may have been there. There is space for 8 of one
//               key (4 in the layouts window and slots2); the next is refused as `full`, however empty the rest is
//               (why_full reports why).
//               set: a key that may be there is not inserted again, so that keys may come any number of times. Nothing
//               can be erased: the fingerprint may stand for several keys.
// Erase         takes one occurrence away. A key that is surely absent is refused (false) and nothing changes. Erase
//               only what you inserted: a key that merely seems to be there (with the probability p) takes the
//               fingerprint of another away, which is then absent though it was inserted.
// Count         the slots that hold the key's fingerprint: never less than how often it is there, more with the
//               probability p.
// Merges        no: fingerprints do not determine their place in a filter of another size, and two of the same size do
//               not fit into one.
// Keys          keys() counts inserts of keys that were surely absent, less the erases after which a key was so; exact.
//
// Layouts       window    buckets of 2 slots that begin at any slot; 94 % full. The smallest, and inserts into a filter
//                         that is nearly full take about twice as long.
//               slots4    buckets of 4 slots; 96 % full. One bit more per key.
//               slots2    buckets of 2 slots; 87 % full.
//               sorted    as slots4, with a bit less a slot for some decoding: half as fast.
//               redis     one sub-filter of RedisBloom's cuckoo filter, byte by byte, with hash murmur64a: buckets of 2
//                         bytes, or of as many as follow (redis:4). Made as CF.RESERVE makes it, and as full as that
//                         gets, which is before its capacity: 60 % of 65,536 slots, 80 % with 4. FPRs of 1.6 %
//                         and 3.1 %.
//               Unless one is named, window or slots4: the smaller one that will hold its keys. A width may follow, 4
//               to 32 bits a slot (sorted: from 5): slots4:12. Else the width follows from the FPR requested; it is a
//               whole number, so that the FPR is up to half of that. kinds/cuckoo/layout.hpp has the measured loads.
// Bytes         slot after slot of so many bits, the lowest bit first, without gaps (sorted:
//               kernels/cuckoo/sorted.hpp); zeros after it, so that 8 bytes (16 for wide buckets) can be read from
//               where the last bucket begins. kernels/cuckoo.hpp defines a key's buckets and fingerprint.
// Papers        B. Fan, D. Andersen, M. Kaminsky, M. Mitzenmacher, "Cuckoo filter: practically better than Bloom",
//               CoNEXT 2014; J. Schmitz, J. Zentgraf, S. Rahmann, "Smaller and more flexible cuckoo filters", 2025
//               (windows).
// Threads       any number of readers, or one writer.
//
//     auto filter = bloomery::filter<bloomery::cuckoo>::make({.keys = 1'000'000, .fpr = 0.001});
//     if (!filter) return 2;
//     if (filter->insert("alice") == bloomery::insert_result::full) return 2;
//     filter->erase("alice");                     // true
//     bool maybe = filter->may_contain("alice");  // false
#pragma once

#include <bloomery/kernels/blocked.hpp>
#include <bloomery/kernels/cuckoo/redis.hpp>
#include <bloomery/kernels/cuckoo/single.hpp>
#include <bloomery/kinds/bit_store.hpp>
#include <bloomery/kinds/concept.hpp>
#include <bloomery/kinds/cuckoo/explain.hpp>
#include <bloomery/kinds/cuckoo/layout.hpp>

namespace bloomery::inline BLOOMERY_ABI {

namespace detail {

// The code that a geometry takes, decided once a filter.
enum class cuckoo_code : std::uint8_t {
  slots,
  whole_slots,
  wide_slots,
  window,
  wide_window,
  sorted,
  wide_sorted,
  redis
};

inline cuckoo_code cuckoo_code_of(const kernels::cuckoo_geometry& geometry) noexcept {
  if (geometry.form == kernels::cuckoo_form::redis) return cuckoo_code::redis;
  const bool narrow = geometry.is_narrow();
  if (geometry.form == kernels::cuckoo_form::window) return narrow ? cuckoo_code::window : cuckoo_code::wide_window;
  if (geometry.form == kernels::cuckoo_form::sorted) return narrow ? cuckoo_code::sorted : cuckoo_code::wide_sorted;
  if (!narrow) return cuckoo_code::wide_slots;
  return geometry.is_whole() ? cuckoo_code::whole_slots : cuckoo_code::slots;
}

// Calls f with the slots as tables (to be queried) or editors (to be written) of that code.
template <template <class, kernels::cuckoo_form, bool> class Table, class Byte, class F>
decltype(auto) with_cuckoo(cuckoo_code code, Byte* bytes, const kernels::cuckoo_geometry& geometry, F&& f) {
  using kernels::cuckoo_form;
  using narrow = std::uint64_t;
  switch (code) {
    case cuckoo_code::slots:
      return f(Table<narrow, cuckoo_form::slots, false>(bytes, geometry));
    case cuckoo_code::whole_slots:
      return f(Table<narrow, cuckoo_form::slots, true>(bytes, geometry));
    case cuckoo_code::wide_slots:
      return f(Table<uint128, cuckoo_form::slots, false>(bytes, geometry));
    case cuckoo_code::window:
      return f(Table<narrow, cuckoo_form::window, false>(bytes, geometry));
    case cuckoo_code::wide_window:
      return f(Table<uint128, cuckoo_form::window, false>(bytes, geometry));
    case cuckoo_code::sorted:
      return f(Table<narrow, cuckoo_form::sorted, false>(bytes, geometry));
    case cuckoo_code::redis:
      return f(Table<narrow, cuckoo_form::redis, false>(bytes, geometry));
    default:
      return f(Table<uint128, cuckoo_form::sorted, false>(bytes, geometry));
  }
}

// The geometry of a filter with its code and its memory.
struct cuckoo_slots {
  bit_store store{};
  kernels::cuckoo_geometry geometry{};
  kernels::cuckoo_single single{};
  cuckoo_code code = cuckoo_code::slots;

  void set(const kernels::cuckoo_geometry& to) noexcept {
    geometry = to;
    single = kernels::cuckoo_single::of(to);
    code = cuckoo_code_of(to);
  }
  template <class F>
  decltype(auto) ask(F&& f) const {
    return with_cuckoo<kernels::cuckoo_table>(code, store.bytes().data(), geometry, f);
  }
  template <class F>
  decltype(auto) edit(F&& f) {
    return with_cuckoo<kernels::cuckoo_editor>(code, reinterpret_cast<std::byte*>(store.data()), geometry, f);
  }
};

}  // namespace detail

enum class cuckoo_mode : std::uint8_t { multiset = 0, set = 1 };

class BLOOMERY_API cuckoo {
 public:
  static constexpr kind_info info{
      .id = 8,
      .name = "cuckoo",
      .summary = "fingerprints in two buckets: erases at the size of a Bloom filter; can be full",
      .lines = "2"};
  static constexpr unsigned payload_cell_bits = 8;
  static constexpr std::array<option_choice, 5> layouts{
      {{.name = "window", .help = "buckets of 2 slots that begin at any slot: the smallest", .suffix = "[:BITS]"},
       {.name = "slots4", .help = "buckets of 4 slots: faster to fill", .suffix = "[:BITS]"},
       {.name = "slots2", .help = "aligned buckets of 2 slots", .suffix = "[:BITS]"},
       {.name = "sorted", .help = "as slots4, a bit less a slot and half as fast", .suffix = "[:BITS]"},
       {.name = "redis", .help = "the bytes of RedisBloom's cuckoo filter", .suffix = "[:SLOTS]"}}};
  static constexpr std::array<option_choice, 2> modes{
      {{.name = "multiset", .help = "stores each copy of a key: erases and counts", .copies_per_cell = 1},
       {.name = "set", .help = "stores equal keys once"}}};
  static constexpr std::array<option_info, 2> option_list{layout_option(layouts), mode_option(modes)};
  static constexpr std::span<const option_info> options() noexcept { return option_list; }

  static result<size_plan> plan(const size_request& request, std::string_view layout = {}) noexcept {
    const auto sized = sizing::size_cuckoo(request, layout);
    if (!sized) return fail(sized.error());
    return sized->plan;
  }
  static result<cuckoo> make(const filter_params& params) noexcept;
  [[nodiscard]] result<cuckoo> clone() const noexcept;

  // full: nothing has changed.
  insert_result insert(std::uint64_t digest) noexcept {
    const insert_result done = slots_.edit(
        [this, digest](const auto& table) { return kernels::cuckoo_insert(table, table.key(digest), copies()); });
    keys_ += done == insert_result::inserted ? 1 : 0;
    copies_ += done == insert_result::present && mode_ == cuckoo_mode::multiset ? 1 : 0;
    return done;
  }
  // As insert, without its answer. False: the filter is full and does not hold it.
  bool add(std::uint64_t digest) noexcept { return insert(digest) != insert_result::full; }
  [[nodiscard]] bool may_contain(std::uint64_t digest) const noexcept {
    if (slots_.single.low != 0) return slots_.single.contains(payload().data(), digest);
    return slots_.ask([digest](const auto& table) { return table.contains(table.key(digest)); });
  }
  // What a look-up reads and decides: see kinds/explain.hpp.
  [[nodiscard]] explanation explain(std::uint64_t digest) const noexcept {
    explanation out(digest);
    slots_.ask([&](const auto& table) { explain_buckets(out, table, slots_.geometry, table.key(digest), {}); });
    return out;
  }
  // Why `insert` returns full: all slots in which the key may be hold it (or keys that look like it), or the filter is
  // full.
  [[nodiscard]] error why_full(std::uint64_t digest) const noexcept {
    const std::uint64_t places = slots_.ask([this, digest](const auto& table) -> std::uint64_t {
      return kernels::cuckoo_places(slots_.geometry, table.key(digest));
    });
    if (count(digest) == places) return make_error(errc::too_many_copies, {}, {places});
    return make_error(errc::full, {}, {keys_});
  }
  // Whether keys can be erased: an error that states why not. erase itself refuses by false.
  [[nodiscard]] result<void> check_erase() const noexcept {
    if (mode_ == cuckoo_mode::multiset) return {};
    return fail(errc::unsupported, "kind cuckoo erases in mode multiset only, and this filter is of mode set");
  }
  // Takes one occurrence of the key away; false, and nothing changes, when it is surely absent.
  bool erase(std::uint64_t digest) noexcept {
    if (mode_ == cuckoo_mode::set) return false;
    const unsigned there =
        slots_.edit([digest](const auto& table) { return kernels::cuckoo_erase(table, table.key(digest)); });
    if (there == 0) return false;
    // A file may hold another number of keys, but no more of them than slots in use: nor do erases make it so.
    std::uint64_t& from = copies_ == 0 || (there == 1 && keys_ != 0) ? keys_ : copies_;
    --from;
    return true;
  }
  // How often the key is there, at least.
  [[nodiscard]] std::uint64_t count(std::uint64_t digest) const noexcept {
    return slots_.ask([digest](const auto& table) { return table.count(table.key(digest)); });
  }

  // How many of the digests were surely absent before. Stops at the first that does not fit: add_until_full reports
  // where.
  std::uint64_t add_batch(std::span<const std::uint64_t> digests) noexcept { return add_until_full(digests).inserted; }
  batch_outcome add_until_full(std::span<const std::uint64_t> digests) noexcept {
    return insert_many(digests.size(), digest_feed(digests.data()));
  }
  // Bit i of the mask (bit i % 64 of word i / 64) answers digest i; the mask holds mask_words(digests.size()) words.
  void may_contain_batch(std::span<const std::uint64_t> digests, std::span<std::uint64_t> mask) const noexcept {
    may_contain_stream(digests.size(), digest_feed(digests.data()), mask);
  }
  // The same with digests that are made as they are needed: see stream_kind in kinds/concept.hpp.
  std::uint64_t add_stream(std::size_t count, const digest_feed& feed) noexcept;
  void may_contain_stream(std::size_t count, const digest_feed& feed, std::span<std::uint64_t> mask) const noexcept;
  // Look-ups for which the layout is decided: see lookup_kind in kinds/concept.hpp.
  template <class F>
  decltype(auto) with_lookup(F&& f) const {
    return slots_.ask([&f](const auto& table) {
      return f([table](std::uint64_t digest) { return table.contains(table.key(digest)); });
    });
  }

  void clear() noexcept {
    slots_.store.clear();
    keys_ = 0;
    copies_ = 0;
  }
  // Same geometry, mode and slots: the same answers for ever.
  friend bool operator==(const cuckoo& a, const cuckoo& b) noexcept {
    return a.mode_ == b.mode_ && a.slots_.geometry.form == b.slots_.geometry.form &&
           a.slots_.geometry.slots == b.slots_.geometry.slots &&
           a.slots_.geometry.slot_bits == b.slots_.geometry.slot_bits &&
           a.slots_.geometry.buckets == b.slots_.geometry.buckets && a.slots_.store == b.slots_.store;
  }

  [[nodiscard]] key_count keys() const noexcept { return {keys_, true}; }
  [[nodiscard]] std::uint64_t capacity_keys() const noexcept { return capacity_; }
  [[nodiscard]] double target_fpr() const noexcept { return fpr_; }
  [[nodiscard]] cuckoo_mode mode() const noexcept { return mode_; }
  [[nodiscard]] const kernels::cuckoo_geometry& geometry() const noexcept { return slots_.geometry; }
  [[nodiscard]] std::uint64_t memory_bytes() const noexcept { return slots_.store.words() * 8; }
  // Slots in use: keys, and copies of keys. Reads the whole array, as fill and estimated_keys do.
  [[nodiscard]] std::uint64_t used_slots() const noexcept;
  [[nodiscard]] double fill() const noexcept {
    const std::uint64_t slots = slots_.geometry.total_slots();
    return slots == 0 ? 0.0 : static_cast<double>(used_slots()) / static_cast<double>(slots);
  }
  [[nodiscard]] double estimated_keys() const noexcept { return static_cast<double>(used_slots()); }
  [[nodiscard]] double fpr_now() const noexcept {
    if (keys_ == 0) return 0.0;
    const auto keys = static_cast<double>(keys_);
    return with_cuckoo_model(slots_.geometry, [keys](const auto& model) { return model.fpr_of_classes(keys); });
  }
  [[nodiscard]] fact_list facts() const noexcept;

  // The native file: see kinds/concept.hpp.
  [[nodiscard]] stored_shape shape() const noexcept {
    return {.capacity_keys = capacity_,
            .fpr = fpr_,
            .keys = keys_,
            .keys_exact = true,
            .digest_bits = 64,
            .field = {slots_.geometry.buckets, slots_.geometry.slot_bits, slots_.geometry.slots,
                      static_cast<std::uint64_t>(slots_.geometry.form), static_cast<std::uint64_t>(mode_)}};
  }
  [[nodiscard]] std::span<const std::byte> payload() const noexcept { return slots_.store.bytes(); }
  static result<std::uint64_t> payload_bytes(const stored_shape& shape) noexcept;
  static result<cuckoo> adopt(const stored_shape& shape, aligned_buffer payload) noexcept;
  static result<cuckoo> view(const stored_shape& shape, std::span<const std::byte> payload) noexcept;

  // Calls f(first byte, size) for both buckets.
  template <class F>
  void for_each_touched(std::uint64_t digest, F&& f) const {
    const kernels::cuckoo_key key = slots_.ask([digest](const auto& table) { return table.key(digest); });
    for (const std::uint64_t bucket : {key.first, key.other}) {
      const std::uint64_t bit = bucket * slots_.geometry.stride();
      f(bit / 8, (bit % 8 + slots_.geometry.stored_bits() + 7) / 8);
    }
  }

 private:
  [[nodiscard]] kernels::cuckoo_copies copies() const noexcept {
    return mode_ == cuckoo_mode::set ? kernels::cuckoo_copies::drop : kernels::cuckoo_copies::keep;
  }
  batch_outcome insert_many(std::size_t count, const digest_feed& feed) noexcept;
  // Of a filter that is to be changed: the slots, and the keys against those in use.
  result<void> count_copies() noexcept;
  void set_geometry(const stored_shape& shape) noexcept;

  detail::cuckoo_slots slots_;
  std::uint64_t capacity_ = 0;
  std::uint64_t keys_ = 0;
  std::uint64_t copies_ = 0;  // slots in use beyond those of the keys; 0 in a mapped file
  double fpr_ = 0;
  cuckoo_mode mode_ = cuckoo_mode::multiset;
};

static_assert(mappable<cuckoo> && erasing_in_some_modes<cuckoo> && countable<cuckoo> && explaining_kind<cuckoo> &&
              stream_kind<cuckoo> && lookup_kind<cuckoo>);

}  // namespace bloomery::inline BLOOMERY_ABI

#ifdef BLOOMERY_HEADER_ONLY
#include <bloomery/src/kinds/cuckoo.cpp>
#endif

// kinds/dual.hpp: the dual filter: one filter for adds, one for removals. It may lose keys.
//
// What it is    two `blocked` filters. An insert goes into the add filter, an erase into the removal filter, and a key is there
//               when the add filter says yes and the removal filter says no. No bit is ever taken away.
// Use it when   a plain filter is to stay as it is and the removals are to lie beside it: removals are rare, the add filter is
//               rebuilt now and then anyway, and a key that is wrongly called absent now and then does no harm.
// Use instead   `cuckoo`, `counting`, `dleft` or `growing` wherever keys leave: they lose nothing that was inserted, and
//               `cuckoo` is half as large. `blocked` when nothing leaves.
//
// Its errors    1. False positives: those of the add filter that no removal hides: p at most.
//               2. It MAY LOSE KEYS, from the first removal on: a key that is there, and all of whose bits other removals have
//               set in the removal filter, is called absent. That filter has the same p: of the keys that were inserted
//               before the removals a share of p is lost when it has as many as it was made for, a twentieth of that
//               at half as many (at 1 %). loss_now() tells. Before the first removal nothing is lost.
// Coming back   a bit of the removal filter cannot be taken away again: other removals need it. So a key that is inserted
//               while the removal filter has it goes to an exact list as well: it was removed before, or is new and would
//               be lost at once. The list has a slot of 8 bytes for each removal block and 16 more, and two thirds of them can be
//               used: for 1.3 % of the removals that the filter is made for at 1 %, 2 % at 0.1 %. When it is full, `insert`
//               says `full` and nothing has changed (why_full tells): build it again then.
// Erase         of what is surely absent is refused (false) and nothing changes. It is a set: a key that was inserted twice is
//               gone after one removal. Erasing a key that merely seems to be there harms as any removal does, and no more.
// Beyond        its capacity both filters go on at a higher rate: false positives with keys, lost keys with removals. Keys that
//               left still fill the add filter: it is made for so many inserts, not for so many keys at a time.
// Merges        union and intersection of filters with the same geometry and the same removals, bit for bit, such as none: then
//               what is in one of them (in both) is in the result. Others are refused: a key that was removed from one and
//               is in the other would be lost. Folds, by any factor that divides the removal blocks, before the first
//               removal: with fewer bits, removals would cost more keys.
// Keys          keys() counts inserts of keys that were surely absent, less the erases; lost ones are counted still. Exact
//               but after a merge.
//
// Layouts       even (default): as many removals as keys, 21.2 bits per key at 1 %, 33.1 at 0.1 %. half, quarter, tenth: so many
//               removals for each key, 15.6, 12.8 and 11.1 bits at 1 %. Memory is cut so that both filters have one rate:
//               kinds/dual/layout.hpp.
// Bytes         the add filter, the removal filter (both as of kind blocked, layout split64), the list: digests of 8 bytes.
// Threads       any number of readers, or one writer.
//
//     auto filter = bloomery::filter<bloomery::dual>::make({.keys = 1'000'000, .fpr = 0.001});
//     if (!filter) return 2;
//     if (filter->insert("alice") == bloomery::insert_result::full) return 2;
//     filter->erase("alice");                         // true
//     bool maybe = filter->may_contain("alice");      // false
//     double lost = filter->kind().loss_now().rate;   // of the keys that are left: next to nothing after one removal
#pragma once

#include <bloomery/kinds/blocked.hpp>
#include <bloomery/kinds/dual/layout.hpp>

namespace bloomery::inline BLOOMERY_ABI {

class dual {
 public:
  static constexpr kind_info info{
      .id = 13,
      .name = "dual",
      .summary = "two Bloom filters, for adds and for removals: erases, and then may lose keys",
      .lines = "1 (2 after a removal)",
      .may_lose = true,
      .layouts = "even half quarter tenth"};

  static result<size_plan> plan(const size_request& request, std::string_view layout = {}) noexcept;
  static result<dual> make(const filter_params& params) noexcept;
  [[nodiscard]] result<dual> clone() const noexcept;

  // full: there is no room for another key that was removed, and nothing has changed.
  insert_result insert(std::uint64_t digest) noexcept;
  [[nodiscard]] bool may_contain(std::uint64_t digest) const noexcept {
    return adds_.may_contain(digest) && (!is_removed(digest) || has_returned(digest));
  }
  // False, and nothing changes, when it is surely absent.
  bool erase(std::uint64_t digest) noexcept;
  // Why `insert` says full.
  [[nodiscard]] error why_full(std::uint64_t /*digest*/) const noexcept {
    return make_error(errc::no_room_to_return, {}, {returned_});
  }

  // How many of the digests were surely absent before. Stops at the first that does not fit: insert_until_full says where.
  std::uint64_t insert_batch(std::span<const std::uint64_t> digests) noexcept {
    return insert_until_full(digests).inserted;
  }
  batch_outcome insert_until_full(std::span<const std::uint64_t> digests) noexcept;
  // Bit i of the mask (bit i % 64 of word i / 64) answers digest i; the mask holds mask_words(digests.size()) words.
  void may_contain_batch(std::span<const std::uint64_t> digests, std::span<std::uint64_t> mask) const noexcept;

  // Refused where removals differ: see above.
  result<void> merge(const dual& other) noexcept;
  result<void> intersect(const dual& other) noexcept;
  [[nodiscard]] result<dual> fold(std::uint64_t factor) const noexcept;
  [[nodiscard]] std::uint64_t fold_units() const noexcept { return removals_.blocks(); }
  void clear() noexcept {
    adds_.clear();
    removals_.clear();
    list_.clear();
    returned_ = 0;
    keys_ = 0;
    keys_exact_ = true;
  }
  // Same geometry and the same bits: the same answers for ever.
  friend bool operator==(const dual& a, const dual& b) noexcept {
    return a.share_ == b.share_ && a.adds_.hashes() == b.adds_.hashes() && a.store_ == b.store_;
  }

  [[nodiscard]] key_count keys() const noexcept { return {keys_, keys_exact_}; }
  [[nodiscard]] std::uint64_t capacity_keys() const noexcept { return adds_.capacity_keys(); }
  [[nodiscard]] double target_fpr() const noexcept { return adds_.target_fpr(); }
  // Both filters, to look at.
  [[nodiscard]] const blocked& adds() const noexcept { return adds_; }
  [[nodiscard]] const blocked& removals() const noexcept { return removals_; }
  [[nodiscard]] std::uint64_t returned() const noexcept { return returned_; }  // digests in the list
  [[nodiscard]] std::uint64_t return_slots() const noexcept { return list_.slots(); }
  // The price of the removals: see loss_state in kinds/concept.hpp. Reads the removal filter.
  [[nodiscard]] loss_state loss_now() const noexcept;
  [[nodiscard]] std::uint64_t memory_bytes() const noexcept { return store_.words() * 8; }
  [[nodiscard]] cell_shape cells() const noexcept { return adds_.cells(); }
  [[nodiscard]] double fill() const noexcept { return adds_.fill(); }  // of the add filter; reads all of it
  [[nodiscard]] double estimated_keys() const noexcept;
  [[nodiscard]] double fpr_now() const noexcept;
  [[nodiscard]] named_values describe() const noexcept {
    return {{{.name = "layout", .text = layout_name()},
             {.name = "blocks", .number = adds_.blocks()},
             {.name = "removal blocks", .number = removals_.blocks()},
             {.name = "hash functions", .number = adds_.hashes()}}};
  }

  // The native file: see kinds/concept.hpp.
  [[nodiscard]] stored_shape shape() const noexcept;
  [[nodiscard]] std::span<const std::byte> payload() const noexcept { return store_.bytes(); }
  static result<std::uint64_t> payload_bytes(const stored_shape& shape) noexcept;
  static result<dual> adopt(const stored_shape& shape, aligned_buffer payload) noexcept;
  static result<dual> view(const stored_shape& shape, std::span<const std::byte> payload) noexcept;

  // Calls f(first byte, size) for every part of the payload that a look-up of the digest may read.
  template <class F>
  void for_each_touched(std::uint64_t digest, F&& f) const {
    adds_.for_each_touched(digest, f);
    if (!has_removals()) return;
    std::uint64_t start = adds_.memory_bytes();
    const auto behind = [&](std::uint64_t first, std::uint64_t size) { f(start + first, size); };
    removals_.for_each_touched(digest, behind);
    start += removals_.memory_bytes();
    if (returned_ != 0) list_.for_each_touched(digest, behind);
  }

 private:
  // What says nothing is not asked: the removal filter is not read before the first removal.
  [[nodiscard]] bool has_removals() const noexcept { return removals_.keys().keys != 0; }
  [[nodiscard]] bool is_removed(std::uint64_t digest) const noexcept {
    return has_removals() && removals_.may_contain(digest);
  }
  [[nodiscard]] bool has_returned(std::uint64_t digest) const noexcept {
    return returned_ != 0 && list_.contains(digest);
  }
  [[nodiscard]] std::string_view layout_name() const noexcept {
    for (const dual_layout& each : dual_layouts) {
      if (each.share == share_) return each.name;
    }
    return {};
  }
  void estimate_count() noexcept {
    keys_ = static_cast<std::uint64_t>(estimated_keys() + 0.5);
    keys_exact_ = false;
  }
  [[nodiscard]] result<void> check_same(const dual& other) const noexcept;
  [[nodiscard]] result<void> check_counts() const noexcept;
  static result<dual> over(const stored_shape& shape, bit_store store) noexcept;

  bit_store store_;  // the bytes of the three behind
  blocked adds_;
  blocked removals_;
  return_list list_;
  std::uint64_t returned_ = 0;
  std::uint64_t keys_ = 0;
  unsigned share_ = 1;
  bool keys_exact_ = true;
};

inline result<size_plan> dual::plan(const size_request& request, std::string_view layout) noexcept {
  const auto found = find_dual_layout(layout);
  if (!found) return fail(found.error());
  auto solved = sizing::solve(dual_model{found->share}, request);
  if (solved && solved->digest_bits > 64) {
    return fail(errc::not_enough_hash_bits, "kind dual",
                {solved->keys, sizing::hash_bits_needed(solved->keys, solved->fpr), 64});
  }
  return solved;
}

inline result<dual> dual::make(const filter_params& params) noexcept {
  const auto solved = plan(params.sizes(), params.layout);
  if (!solved) return fail(solved.error());
  const dual_model model{find_dual_layout(params.layout)->share};
  auto store = bit_store::make(solved->memory_bytes / 8, "the filter", params.memory);
  if (!store) return fail(store.error());
  return over({.capacity_keys = solved->keys,
               .fpr = params.fpr ? *params.fpr : solved->fpr,
               .field = {model.units(solved->bits), solved->hashes, model.share}},
              std::move(*store));
}

// Of a mapped file the counts are checked here: only copies of it are changed.
inline result<dual> dual::clone() const noexcept {
  if (auto good = check_counts(); !good) return fail(good.error());
  auto store = store_.clone("a copy of the filter");
  if (!store) return fail(store.error());
  return over(shape(), std::move(*store));
}

inline insert_result dual::insert(std::uint64_t digest) noexcept {
  insert_result done = insert_result::inserted;
  if (is_removed(digest)) {
    if (has_returned(digest)) return insert_result::present;
    if (!list_.insert(digest)) return insert_result::full;
    ++returned_;
    adds_.insert(digest);
  } else {
    done = adds_.insert(digest);
  }
  keys_ += done == insert_result::inserted ? 1 : 0;
  return done;
}

inline bool dual::erase(std::uint64_t digest) noexcept {
  if (!may_contain(digest)) return false;
  // What lies in the list has its removal still.
  if (has_returned(digest) && list_.erase(digest)) {
    --returned_;
  } else {
    removals_.insert(digest);
  }
  keys_ -= keys_ != 0 ? 1 : 0;
  return true;
}

// Runs of digests that the removal filter does not have go into the add filter at once, in their order.
inline batch_outcome dual::insert_until_full(std::span<const std::uint64_t> digests) noexcept {
  constexpr std::size_t group = 1024;
  std::array<std::uint64_t, mask_words(group)> removed{};
  batch_outcome all;
  const auto insert_run = [&](std::size_t end) {
    const std::uint64_t inserted = adds_.insert_batch(digests.subspan(all.taken, end - all.taken));
    keys_ += inserted;
    all = {end, all.inserted + inserted};
  };
  for (std::size_t first = 0; has_removals() && first < digests.size(); first += group) {
    const auto here = digests.subspan(first, std::min(group, digests.size() - first));
    removals_.may_contain_batch(here, removed);
    for (std::size_t word = 0; word < mask_words(here.size()); ++word) {
      for (std::uint64_t bits = removed[word]; bits != 0; bits &= bits - 1) {
        insert_run(first + word * 64 + static_cast<unsigned>(std::countr_zero(bits)));
        const insert_result done = insert(digests[all.taken]);
        if (done == insert_result::full) return all;
        ++all.taken;
        all.inserted += done == insert_result::inserted ? 1U : 0U;
      }
    }
  }
  insert_run(digests.size());
  return all;
}

// The removal filter is asked for those digests only that the add filter has.
inline void dual::may_contain_batch(std::span<const std::uint64_t> digests,
                                    std::span<std::uint64_t> mask) const noexcept {
  constexpr std::size_t group = 1024;
  adds_.may_contain_batch(digests, mask);
  if (!has_removals()) return;
  std::array<std::uint64_t, group> asked;
  std::array<std::uint16_t, group> place;
  std::array<std::uint64_t, mask_words(group)> removed;
  for (std::size_t first = 0; first < digests.size(); first += group) {
    std::uint64_t* const answers = mask.data() + first / 64;
    std::size_t count = 0;
    for (std::size_t word = 0; word < mask_words(std::min(group, digests.size() - first)); ++word) {
      for (std::uint64_t bits = answers[word]; bits != 0; bits &= bits - 1) {
        const std::size_t at = word * 64 + static_cast<unsigned>(std::countr_zero(bits));
        asked[count] = digests[first + at];
        place[count++] = static_cast<std::uint16_t>(at);
      }
    }
    removals_.may_contain_batch(std::span<const std::uint64_t>(asked).first(count), removed);
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint64_t gone = removed[i / 64] >> (i % 64) & 1U;
      if (gone != 0 && !has_returned(asked[i])) answers[place[i] / 64] &= ~(std::uint64_t{1} << (place[i] % 64));
    }
  }
}

inline result<void> dual::check_same(const dual& other) const noexcept {
  if (share_ != other.share_) return fail(errc::mismatch, "their layouts differ");
  if (removals_.blocks() != other.removals_.blocks())
    return fail(errc::mismatch, "their numbers of blocks differ; fold the larger one first");
  if (adds_.hashes() != other.adds_.hashes()) return fail(errc::mismatch, "their numbers of hash functions differ");
  if (!(removals_ == other.removals_))
    return fail(errc::mismatch, "their removals differ, and what one removed and the other has would be lost");
  return other.check_counts();
}

inline result<void> dual::merge(const dual& other) noexcept {
  if (auto same = check_same(other); !same) return same;
  if (other.returned_ != 0) {
    // Into a copy of the list, so that what does not fit changes nothing.
    auto copy = bit_store::make(list_.slots(), "the union", store_.hooks());
    if (!copy) return fail(copy.error());
    std::memcpy(copy->data(), list_.bytes().data(), list_.bytes().size());
    return_list both(copy->bytes());
    bool fits = true;
    other.list_.for_each([&](std::uint64_t digest) { fits = fits && both.insert(digest); });
    if (!fits) return fail(errc::no_room_to_return, {}, {both.used()});
    returned_ = both.used();
    std::memcpy(store_.data() + store_.words() - list_.slots(), copy->data(), list_.bytes().size());
  }
  if (auto united = adds_.merge(other.adds_); !united) return united;
  estimate_count();
  return {};
}

inline result<void> dual::intersect(const dual& other) noexcept {
  if (auto same = check_same(other); !same) return same;
  if (auto common = adds_.intersect(other.adds_); !common) return common;
  list_.for_each([&](std::uint64_t digest) {
    if (!other.list_.contains(digest)) list_.erase(digest);
  });
  returned_ = list_.used();
  const double gone = (has_removals() ? removals_.estimated_keys() : 0.0) - static_cast<double>(returned_);
  keys_ = static_cast<std::uint64_t>(std::max(0.0, static_cast<double>(adds_.keys().keys) - gone) + 0.5);
  keys_exact_ = false;
  return {};
}

inline result<dual> dual::fold(std::uint64_t factor) const noexcept {
  if (factor == 0 || fold_units() % factor != 0)
    return fail(errc::cannot_fold, "the factor must divide the number of removal blocks");
  if (has_removals())
    return fail(errc::unsupported, "keys were removed from it: folded, it would lose more of the others");
  const dual_model model{share_};
  stored_shape small = shape();
  small.field[0] /= factor;
  // The promise stays, so the capacity shrinks to what the blocks left can keep it for.
  const auto room =
      sizing::keys_for(model, {.fpr = target_fpr(), .hashes = adds_.hashes()}, model.bits(small.field[0]));
  small.capacity_keys = room ? *room : 0;
  auto store = bit_store::make(model.bits(small.field[0]) / 64, "the folded filter", store_.hooks());
  if (!store) return fail(store.error());
  adds_.fold_into(factor, store->data());
  return over(small, std::move(*store));
}

inline loss_state dual::loss_now() const noexcept {
  return {.added_keys = adds_.keys().keys,
          .removals = removals_.keys().keys,
          .capacity_removals = removals_.capacity_keys(),
          .returned = returned_,
          .return_slots = list_.slots(),
          .target_rate = target_fpr(),
          .rate = has_removals() ? removals_.fpr_now() : 0.0};
}

inline double dual::estimated_keys() const noexcept {
  if (!has_removals()) return adds_.estimated_keys();
  const double left = adds_.estimated_keys() - removals_.estimated_keys() + static_cast<double>(returned_);
  return left > 0 ? left : 0.0;
}

inline double dual::fpr_now() const noexcept {
  const double adds = adds_.fpr_now();
  return has_removals() ? adds - adds_.fpr_of_both(removals_) : adds;
}

inline stored_shape dual::shape() const noexcept {
  return {.capacity_keys = capacity_keys(),
          .fpr = target_fpr(),
          .keys = keys_,
          .keys_exact = keys_exact_,
          .digest_bits = 64,
          .field = {removals_.blocks(), adds_.hashes(), share_, adds_.keys().keys, removals_.keys().keys, returned_}};
}

inline result<std::uint64_t> dual::payload_bytes(const stored_shape& shape) noexcept {
  const auto model = dual_model::of(shape);
  if (!model) return fail(model.error());
  return model->bits(shape.field[0]) / 8;
}

inline result<dual> dual::over(const stored_shape& shape, bit_store store) noexcept {
  const auto expected = payload_bytes(shape);
  if (!expected) return fail(expected.error());
  const auto bytes = store.bytes();
  if (*expected != bytes.size()) return fail(errc::truncated, {}, {bytes.size(), *expected});
  constexpr std::uint64_t block_bytes = dual_model::block_bits / 8;
  const std::uint64_t units = shape.field[0];
  const std::uint64_t hashes = shape.field[1];
  const std::uint64_t share = shape.field[2];
  const std::uint64_t removals_at = units * share * block_bytes;
  auto adds = blocked::view({.capacity_keys = shape.capacity_keys,
                             .fpr = shape.fpr,
                             .keys = shape.field[3],
                             .keys_exact = shape.keys_exact,
                             .field = {units * share, hashes}},
                            bytes.first(removals_at));
  if (!adds) return fail(adds.error());
  dual filter;
  filter.share_ = static_cast<unsigned>(share);
  auto removals = blocked::view({.capacity_keys = dual_model{filter.share_}.removals(shape.capacity_keys),
                                 .fpr = shape.fpr,
                                 .keys = shape.field[4],
                                 .field = {units, hashes}},
                                bytes.subspan(removals_at, units * block_bytes));
  if (!removals) return fail(removals.error());
  filter.adds_ = std::move(*adds);
  filter.removals_ = std::move(*removals);
  filter.list_ = return_list(bytes.subspan(removals_at + units * block_bytes));
  filter.returned_ = shape.field[5];
  filter.keys_ = shape.keys;
  filter.keys_exact_ = shape.keys_exact;
  filter.store_ = std::move(store);
  return filter;
}

// What is not asked because its count is 0 has to be empty, so that it is not found there later. Each removal that was counted
// set a bit, so that the count cannot overflow to 0 either.
inline result<void> dual::check_counts() const noexcept {
  const auto [bits, count] = std::pair(removals_.set_bits(), removals_.keys().keys);
  if (count > bits || (count == 0 && bits != 0)) return fail(errc::bad_field, "removals", {count});
  if (list_.used() != returned_) return fail(errc::bad_field, "keys that came back", {returned_});
  return {};
}

inline result<dual> dual::adopt(const stored_shape& shape, aligned_buffer payload) noexcept {
  auto filter = over(shape, bit_store::adopt(std::move(payload)));
  const auto good = filter ? filter->check_counts() : result<void>{};
  return good ? std::move(filter) : result<dual>(fail(good.error()));
}

inline result<dual> dual::view(const stored_shape& shape, std::span<const std::byte> payload) noexcept {
  return over(shape, bit_store::view(payload));
}

static_assert(mappable<dual> && contiguous_kind<dual> && intersectable<dual> && foldable<dual> && erasable<dual> &&
              explaining_kind<dual> && losing<dual>);

}  // namespace bloomery::inline BLOOMERY_ABI

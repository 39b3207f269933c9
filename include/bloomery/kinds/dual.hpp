// kinds/dual.hpp: the dual filter: one filter for adds, one for removals. It may lose keys.
//
// What it is    two `blocked` filters. An insert goes into the add filter, an erase into the removal filter, and a key
//               is there when the add filter answers yes and the removal filter answers no. No bit is ever taken away.
// Use it when   a plain filter is to stay as it is and the removals are to be stored beside it: removals are rare, the
//               add filter is rebuilt now and then anyway, and a key that is wrongly called absent now and then does no
//               harm.
// Use instead   `cuckoo`, `counting`, `dleft` or `growing` wherever keys leave: they lose nothing that was inserted,
//               and `cuckoo` is half as large. `blocked` when nothing leaves.
//
// Its errors    1. False positives: those of the add filter that no removal hides: p at most.
//               2. It MAY LOSE KEYS, from the first removal on: a key that is there, and all of whose bits other
//               removals have set in the removal filter, is called absent. That filter has the same p: of the keys that
//               were inserted before the removals a share of p is lost when it has as many as it was made for, a
//               twentieth of that at half as many (at 1 %). loss_now() reports the loss. Before the first removal
//               nothing is lost.
// Coming back   a bit of the removal filter cannot be taken away again: other removals need it. So a key that is
//               inserted while the removal filter has it goes to an exact list as well: it was removed before, or is
//               new and would be lost immediately. The list has a slot of 8 bytes for each removal block and 16 more,
//               and two thirds of them can be used: for 1.3 % of the removals that the filter is made for at 1 %, 2 %
//               at 0.1 %. When it is full, `insert` returns `full` and nothing has changed (why_full reports why):
//               build it again then.
// Erase         of what is surely absent is refused (false) and nothing changes. It is a set: a key that was inserted
//               twice is gone after one removal. Erasing a key that merely seems to be there harms as any removal does,
//               and no more.
// Beyond        its capacity both filters go on at a higher FPR: false positives with keys, lost keys with removals.
//               Keys that left still fill the add filter: it is made for so many inserts, not for so many keys at a
//               time.
// Merges        union and intersection of filters with the same geometry and the same removals, bit for bit, such as
//               none: then what is in one of them (in both) is in the result. Others are refused: a key that was
//               removed from one and is in the other would be lost. Folds, by any factor that divides the removal
//               blocks, before the first removal: with fewer bits, removals would cost more keys.
// Keys          keys() counts inserts of keys that were surely absent, less the erases; lost ones are counted still.
//               Exact but after a merge.
//
// Layouts       even (default): as many removals as keys, 21.2 bits per key at 1 %, 33.1 at 0.1 %. half, quarter,
//               tenth: so many removals for each key, 15.6, 12.8 and 11.1 bits at 1 %. Memory is cut so that both
//               filters have one FPR: kinds/dual/layout.hpp.
// Bytes         the add filter, the removal filter (both as of kind blocked, layout split64), the list: digests of 8
//               bytes.
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

class BLOOMERY_API dual {
 public:
  static constexpr kind_info info{
      .id = 13,
      .name = "dual",
      .summary = "two Bloom filters, for adds and for removals: erases, and then may lose keys",
      .lines = "1 (2 after a removal)"};
  static constexpr std::array<option_choice, 4> layouts{{{.name = "even", .help = "as many removals as keys"},
                                                         {.name = "half", .help = "half as many removals"},
                                                         {.name = "quarter", .help = "a quarter as many removals"},
                                                         {.name = "tenth", .help = "a tenth as many removals"}}};
  static constexpr std::array<option_info, 1> option_list{layout_option(layouts)};
  static constexpr std::span<const option_info> options() noexcept { return option_list; }

  static result<size_plan> plan(const size_request& request, std::string_view layout = {}) noexcept;
  static result<dual> make(const filter_params& params) noexcept;
  [[nodiscard]] result<dual> clone() const noexcept;

  // full: there is no space for another key that was removed, and nothing has changed.
  insert_result insert(std::uint64_t digest) noexcept;
  // As insert, without its answer. False: the filter is full and does not hold it.
  bool add(std::uint64_t digest) noexcept { return insert(digest) != insert_result::full; }
  [[nodiscard]] bool may_contain(std::uint64_t digest) const noexcept {
    return adds_.may_contain(digest) && (!is_removed(digest) || has_returned(digest));
  }
  // What a look-up reads and decides: see kinds/explain.hpp.
  [[nodiscard]] explanation explain(std::uint64_t digest) const noexcept;
  // False, and nothing changes, when it is surely absent.
  bool erase(std::uint64_t digest) noexcept;
  // Why `insert` returns full.
  [[nodiscard]] error why_full(std::uint64_t /*digest*/) const noexcept {
    return make_error(errc::no_room_to_return, {}, {returned_});
  }

  // How many of the digests were surely absent before. Stops at the first that does not fit: add_until_full reports
  // where.
  std::uint64_t add_batch(std::span<const std::uint64_t> digests) noexcept { return add_until_full(digests).inserted; }
  batch_outcome add_until_full(std::span<const std::uint64_t> digests) noexcept;
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
  [[nodiscard]] fact_list facts() const noexcept;
  [[nodiscard]] fact_list facts_now() const noexcept;

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
  // An empty filter is not looked up: the removal filter is not read before the first removal.
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

  bit_store store_;  // the bytes of the three that follow
  blocked adds_;
  blocked removals_;
  return_list list_;
  std::uint64_t returned_ = 0;
  std::uint64_t keys_ = 0;
  unsigned share_ = 1;
  bool keys_exact_ = true;
};

static_assert(mappable<dual> && contiguous_kind<dual> && intersectable<dual> && foldable<dual> && erasable<dual> &&
              explaining_kind<dual> && losing<dual>);

}  // namespace bloomery::inline BLOOMERY_ABI

#ifdef BLOOMERY_HEADER_ONLY
#include <bloomery/src/kinds/dual.cpp>
#endif

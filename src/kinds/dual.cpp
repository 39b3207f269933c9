#include <bloomery/kinds/dual.hpp>

namespace bloomery::inline BLOOMERY_ABI {

BLOOMERY_BODY result<size_plan> dual::plan(const size_request& request, std::string_view layout) noexcept {
  const auto found = find_dual_layout(layout);
  if (!found) return fail(found.error());
  auto solved = sizing::solve(dual_model{found->share}, request);
  if (solved && solved->digest_bits > 64) {
    return fail(errc::not_enough_hash_bits, "kind dual",
                {solved->keys, sizing::hash_bits_needed(solved->keys, solved->fpr), 64});
  }
  return solved;
}

BLOOMERY_BODY result<dual> dual::make(const filter_params& params) noexcept {
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
BLOOMERY_BODY result<dual> dual::clone() const noexcept {
  if (auto good = check_counts(); !good) return fail(good.error());
  auto store = store_.clone("a copy of the filter");
  if (!store) return fail(store.error());
  return over(shape(), std::move(*store));
}

BLOOMERY_BODY insert_result dual::insert(std::uint64_t digest) noexcept {
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

BLOOMERY_BODY bool dual::erase(std::uint64_t digest) noexcept {
  if (!may_contain(digest)) return false;
  // What is in the list has its removal still.
  if (has_returned(digest) && list_.erase(digest)) {
    --returned_;
  } else {
    removals_.insert(digest);
  }
  keys_ -= keys_ != 0 ? 1 : 0;
  return true;
}

// Runs of digests that the removal filter does not have go into the add filter together, in their order.
BLOOMERY_BODY batch_outcome dual::add_until_full(std::span<const std::uint64_t> digests) noexcept {
  constexpr std::size_t group = 1024;
  std::array<std::uint64_t, mask_words(group)> removed{};
  batch_outcome all;
  const auto insert_run = [&](std::size_t end) {
    const std::uint64_t inserted = adds_.add_batch(digests.subspan(all.taken, end - all.taken));
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

// The removal filter is queried only for the digests that the add filter has.
BLOOMERY_BODY void dual::may_contain_batch(std::span<const std::uint64_t> digests,
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

BLOOMERY_BODY result<void> dual::check_same(const dual& other) const noexcept {
  if (share_ != other.share_) return fail(errc::mismatch, "their layouts differ");
  if (removals_.blocks() != other.removals_.blocks())
    return fail(errc::mismatch, "their numbers of blocks differ; fold the larger one first");
  if (adds_.hashes() != other.adds_.hashes()) return fail(errc::mismatch, "their numbers of hash functions differ");
  if (!(removals_ == other.removals_))
    return fail(errc::mismatch, "their removals differ, and what one removed and the other has would be lost");
  return other.check_counts();
}

BLOOMERY_BODY result<void> dual::merge(const dual& other) noexcept {
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

BLOOMERY_BODY result<void> dual::intersect(const dual& other) noexcept {
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

BLOOMERY_BODY result<dual> dual::fold(std::uint64_t factor) const noexcept {
  if (factor == 0 || fold_units() % factor != 0)
    return fail(errc::cannot_fold, "the factor must divide the number of removal blocks");
  if (has_removals())
    return fail(errc::unsupported, "keys were removed from it: folded, it would lose more of the others");
  const dual_model model{share_};
  stored_shape small = shape();
  small.field[0] /= factor;
  // The target FPR stays, so the capacity shrinks to what the blocks left can keep it for.
  const auto room =
      sizing::keys_for(model, {.fpr = target_fpr(), .hashes = adds_.hashes()}, model.bits(small.field[0]));
  small.capacity_keys = room ? *room : 0;
  auto store = bit_store::make(model.bits(small.field[0]) / 64, "the folded filter", store_.hooks());
  if (!store) return fail(store.error());
  adds_.fold_into(factor, store->data());
  return over(small, std::move(*store));
}

BLOOMERY_BODY loss_state dual::loss_now() const noexcept {
  return {.added_keys = adds_.keys().keys,
          .removals = removals_.keys().keys,
          .capacity_removals = removals_.capacity_keys(),
          .returned = returned_,
          .return_slots = list_.slots(),
          .target_rate = target_fpr(),
          .rate = has_removals() ? removals_.fpr_now() : 0.0};
}

BLOOMERY_BODY double dual::estimated_keys() const noexcept {
  if (!has_removals()) return adds_.estimated_keys();
  const double left = adds_.estimated_keys() - removals_.estimated_keys() + static_cast<double>(returned_);
  return left > 0 ? left : 0.0;
}

BLOOMERY_BODY double dual::fpr_now() const noexcept {
  const double adds = adds_.fpr_now();
  return has_removals() ? adds - adds_.fpr_of_both(removals_) : adds;
}

BLOOMERY_BODY stored_shape dual::shape() const noexcept {
  return {.capacity_keys = capacity_keys(),
          .fpr = target_fpr(),
          .keys = keys_,
          .keys_exact = keys_exact_,
          .digest_bits = 64,
          .field = {removals_.blocks(), adds_.hashes(), share_, adds_.keys().keys, removals_.keys().keys, returned_}};
}

BLOOMERY_BODY result<std::uint64_t> dual::payload_bytes(const stored_shape& shape) noexcept {
  const auto model = dual_model::of(shape);
  if (!model) return fail(model.error());
  return model->bits(shape.field[0]) / 8;
}

BLOOMERY_BODY result<dual> dual::over(const stored_shape& shape, bit_store store) noexcept {
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
                            bytes.first(to_size(removals_at)));
  if (!adds) return fail(adds.error());
  dual filter;
  filter.share_ = static_cast<unsigned>(share);
  auto removals = blocked::view({.capacity_keys = dual_model{filter.share_}.removals(shape.capacity_keys),
                                 .fpr = shape.fpr,
                                 .keys = shape.field[4],
                                 .field = {units, hashes}},
                                bytes.subspan(to_size(removals_at), to_size(units * block_bytes)));
  if (!removals) return fail(removals.error());
  filter.adds_ = std::move(*adds);
  filter.removals_ = std::move(*removals);
  filter.list_ = return_list(bytes.subspan(to_size(removals_at + units * block_bytes)));
  filter.returned_ = shape.field[5];
  filter.keys_ = shape.keys;
  filter.keys_exact_ = shape.keys_exact;
  filter.store_ = std::move(store);
  return filter;
}

// What is not looked up because its count is 0 has to be empty, so that it is not found there later. Each removal that
// was counted set a bit, so that the count cannot overflow to 0 either.
BLOOMERY_BODY result<void> dual::check_counts() const noexcept {
  const auto [bits, count] = std::pair(removals_.set_bits(), removals_.keys().keys);
  if (count > bits || (count == 0 && bits != 0)) return fail(errc::bad_field, "removals", {count});
  if (list_.used() != returned_) return fail(errc::bad_field, "keys that came back", {returned_});
  return {};
}

BLOOMERY_BODY result<dual> dual::adopt(const stored_shape& shape, aligned_buffer payload) noexcept {
  auto filter = over(shape, bit_store::adopt(std::move(payload)));
  const auto good = filter ? filter->check_counts() : result<void>{};
  return good ? std::move(filter) : result<dual>(fail(good.error()));
}

BLOOMERY_BODY result<dual> dual::view(const stored_shape& shape, std::span<const std::byte> payload) noexcept {
  return over(shape, bit_store::view(payload));
}

BLOOMERY_BODY fact_list dual::facts() const noexcept {
  return {layout_fact(layout_name()),
          blocks_fact(adds_.blocks()),
          {.name = "removal_blocks",
           .label = "removal blocks",
           .value = removals_.blocks(),
           .help = "blocks of the filter of removed keys"},
          hashes_fact(adds_.hashes())};
}

BLOOMERY_BODY fact_list dual::facts_now() const noexcept {
  const loss_state loss = loss_now();
  const auto of_loss = [](fact one) {
    one.topic = fact_topic::fpr;
    one.group = "loss";
    if (one.join == fact_join::each) one.join = fact_join::sum;
    return one;
  };
  return {of_loss({.name = "added_keys",
                   .label = "added keys",
                   .value = loss.added_keys,
                   .unit = fact_unit::keys,
                   .help = "inserts that changed something: what counts against the capacity",
                   .detail = true}),
          of_loss({.name = "removals", .label = "removals", .value = loss.removals, .help = "keys that were removed"}),
          of_loss({.name = "capacity_removals",
                   .label = "removals promised",
                   .value = loss.capacity_removals,
                   .help = "removals that it was made for",
                   .phrase = {.before = " of the ", .after = " that it was made for", .continues = true}}),
          of_loss({.name = "returned",
                   .label = "came back",
                   .value = loss.returned,
                   .unit = fact_unit::keys,
                   .help = "keys that came back after they were removed, or would have been lost immediately"}),
          of_loss({.name = "return_slots",
                   .label = "return slots",
                   .value = loss.return_slots,
                   .unit = fact_unit::slots,
                   .help = "room for keys that come back",
                   .phrase = {.before = " in a list of ", .continues = true}}),
          of_loss({.name = "target_loss",
                   .label = "loss promised",
                   .value = loss.target_rate,
                   .unit = fact_unit::share,
                   .help = "of its keys, the share that may be called absent after as many removals as promised",
                   .join = fact_join::most,
                   .phrase = {.after = " of its keys, after so many removals; none before the first"}}),
          of_loss({.name = "loss_now",
                   .label = "loss now",
                   .value = loss.rate,
                   .unit = fact_unit::share,
                   .help = "of the keys that were there before the removals, the share that is called absent",
                   .join = fact_join::mean,
                   .phrase = {.zero = "none"}})};
}

BLOOMERY_BODY explanation dual::explain(std::uint64_t digest) const noexcept {
  explanation out(digest);
  adds_.explain_part(out, digest, {.name = "adds"});
  if (!has_removals()) return out;
  std::uint64_t start = adds_.memory_bytes();
  removals_.explain_part(out, digest, {.name = "removals", .first_byte = start, .stage = 1, .negated = true});
  if (returned_ == 0) return out;
  start += removals_.memory_bytes();
  // Of the slots in which it may be: the one that holds it, or the first.
  const std::uint64_t slot = list_.slot_of(digest);
  out.begin({.part = {.name = "returned keys", .first_byte = start, .stage = 1}, .rule = probe_rule::any});
  out.add({.position = slot,
           .byte_offset = start + slot * 8,
           .read = list_.at(slot),
           .expected = return_list::entry(digest),
           .unit = probe_unit::entry,
           .has_expected = true,
           .matches = list_.at(slot) == return_list::entry(digest)});
  out.end();
  return out;
}

}  // namespace bloomery::inline BLOOMERY_ABI

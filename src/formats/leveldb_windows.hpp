// src/formats/leveldb_windows.hpp: any_filter over one filter of windows, or a table of such (compat/leveldb/filter.hpp):
// it is read and copied, never changed.
#pragma once

#include <bit>
#include <bloomery/compat/leveldb/filter.hpp>
#include <bloomery/compat/leveldb/windows.hpp>
#include <cstring>

#include "src/formats/foreign_model.hpp"
#include "src/formats/leveldb.hpp"

namespace bloomery::inline BLOOMERY_ABI::formats::leveldb {

namespace engine = bloomery::leveldb;

inline constexpr hash_spec windows_hash{.id = xxh3::info.id};

// What `info` shows of filters of windows.
inline fact slot_bits_fact(unsigned bits) noexcept {
  return {.name = "slot_bits",
          .label = "bits per slot",
          .value = std::uint64_t{bits},
          .help = "bits of a slot and of a fingerprint: r, for an FPR of 2^-r"};
}

inline std::uint64_t set_bits_of(std::span<const std::byte> bytes) noexcept {
  std::uint64_t set = 0;
  for (const std::byte byte : bytes) set += static_cast<unsigned>(std::popcount(std::to_integer<unsigned>(byte)));
  return set;
}

class windows_model final : public foreign_model {
 public:
  static constexpr kind_info windows_info{.id = first_foreign_id + 71,
                                          .name = "windows",
                                          .summary = "system of equations in the bytes of LevelDB's Bloom filter",
                                          .lines = "1 or 2 for each window"};
  static constexpr kind_entry entry{.info = &windows_info, .capabilities = {.maps = true}};

  static bool is_one(std::span<const std::byte> bytes) noexcept {
    if (engine::is_builtin(bytes)) return false;
    return engine::is_window_filter(bytes) || (std::to_integer<unsigned>(bytes.back()) == engine::table_code &&
                                               engine::window_table::read(bytes).groups != 0);
  }
  static result<any_filter> open(source_bytes source) noexcept {
    auto self = wrap(std::move(source));
    if (!self) return fail(self.error());
    return any_filter::adopt(std::move(*self), windows_hash);
  }
  // Its bytes, inside an any_filter; nothing: it is another.
  static std::span<const std::byte> in(const any_filter& filter) noexcept {
    if (filter.info().id != windows_info.id) return {};
    return static_cast<const windows_model*>(&filter.model())->source_.bytes();
  }

  [[nodiscard]] const kind_entry& kind() const noexcept override { return entry; }
  [[nodiscard]] bool is_mapped() const noexcept override { return source_.is_mapped(); }
  [[nodiscard]] stored_shape shape() const noexcept override { return {.keys_exact = false}; }
  [[nodiscard]] fact_list facts() const noexcept override {
    const auto what = engine::describe(source_.bytes());
    fact_list out{{.name = "layout", .label = "layout", .value = engine::name_of(what.layout), .help = "of the filter"},
                  slot_bits_fact(what.slot_bits),
                  {.name = "slots", .label = "slots", .value = what.slots, .help = "slots of the system"}};
    if (what.layout == engine::filter_layout::table) {
      out.add({.name = "groups", .label = "groups", .value = what.groups, .help = "filters that share the keys"});
    } else {
      out.add({.name = "attempt",
               .label = "attempt",
               .value = std::uint64_t{what.seed},
               .help = "which of 16 placements of the keys could be solved"});
    }
    return out;
  }
  [[nodiscard]] result<filter_stats> stats() const noexcept override {
    const auto what = engine::describe(source_.bytes());
    const auto bits = source_.bytes().first(source_.bytes().size() - 1);
    filter_stats stats;
    stats.estimated_keys = static_cast<double>(what.slots);
    stats.keys = {what.slots, false};
    stats.fill = static_cast<double>(set_bits_of(bits)) / (static_cast<double>(bits.size()) * 8.0);
    stats.fpr_now = what.fpr;
    stats.memory_bytes = source_.bytes().size();
    stats.target_known = false;
    return stats;
  }
  [[nodiscard]] result<std::span<const std::byte>> bytes() const noexcept override { return source_.bytes(); }
  result<void> may_contain(const digest_span& keys, std::span<std::uint64_t> mask) const noexcept override {
    const auto digests = keys.as<std::uint64_t>();
    for (std::size_t i = 0; i < digests.size(); ++i) {
      if (i % 64 == 0) mask[i / 64] = 0;
      mask[i / 64] |= std::uint64_t{engine::may_match(source_.bytes(), digests[i])} << (i % 64);
    }
    return {};
  }
  [[nodiscard]] result<explanation> explain(const digest_span& one) const noexcept override {
    const std::uint64_t digest = one.as<std::uint64_t>()[0];
    explanation out(digest);
    engine::explain(out, source_.bytes(), {.windows = digest});
    return out;
  }
  result<std::uint64_t> add(const digest_span& /*digests*/) noexcept override { return read_only(); }
  result<std::uint64_t> erase(std::span<const std::uint64_t> /*digests*/) noexcept override { return read_only(); }
  result<void> merge(const filter_model& /*other*/, merge_fpr /*rate*/) noexcept override { return read_only(); }
  result<void> intersect(const filter_model& /*other*/) noexcept override { return read_only(); }
  result<void> clear() noexcept override { return read_only(); }
  [[nodiscard]] result<std::unique_ptr<filter_model>> clone() const noexcept override {
    auto copy = source_bytes::make(source_.bytes().size(), source_.memory());
    if (!copy) return fail(copy.error());
    std::memcpy(copy->writable().data(), source_.bytes().data(), source_.bytes().size());
    return wrap(std::move(*copy));
  }
  [[nodiscard]] bool equals(const filter_model& other) const noexcept override {
    const auto with = static_cast<const windows_model&>(other).source_.bytes();
    return std::equal(source_.bytes().begin(), source_.bytes().end(), with.begin(), with.end());
  }

 private:
  explicit windows_model(source_bytes source) noexcept : foreign_model(wording), source_(std::move(source)) {}
  static result<std::unique_ptr<filter_model>> wrap(source_bytes source) noexcept {
    std::unique_ptr<filter_model> self(new (std::nothrow) windows_model(std::move(source)));
    if (self == nullptr) return fail(errc::out_of_memory, "the filter", {sizeof(windows_model)});
    return self;
  }
  static constexpr words wording{.subject = "a filter of windows, which is solved for all of its keys at once,",
                                 .not_native = "a filter of windows is for LevelDB: keep its format"};
  static failure read_only() noexcept {
    return fail(errc::unsupported, "a filter of windows is solved for all of its keys at once: make it again");
  }

  source_bytes source_;
};

}  // namespace bloomery::inline BLOOMERY_ABI::formats::leveldb

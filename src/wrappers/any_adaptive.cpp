#include <bloomery/wrappers/any_adaptive.hpp>

namespace bloomery::inline BLOOMERY_ABI {
namespace detail {

// Byte keys in columns.
struct column_keys {
  byte_columns columns;
  [[nodiscard]] std::size_t size() const noexcept { return columns.keys(); }
  [[nodiscard]] std::string_view operator[](std::size_t index) const noexcept { return columns.key(index); }
};

// Calls f(keys), as what they are, if they can be read.
template <class F>
result<void> with_batch(const key_batch& keys, F&& f) noexcept {
  if (auto sound = keys.check(); !sound) return sound;
  switch (keys.keys()) {
    case key_batch::type::bytes:
      f(keys.views());
      return {};
    case key_batch::type::integers:
      f(keys.integers());
      return {};
    case key_batch::type::columns:
      f(column_keys{keys.columns()});
      return {};
    case key_batch::type::digests:
      break;
  }
  if (keys.digests().bits() != 64) return fail(errc::unsupported, "an adaptive filter takes keys, or 64-bit digests");
  f(keys.digests().as<prehashed>());
  return {};
}

}  // namespace detail

BLOOMERY_BODY result<any_adaptive> any_adaptive::start(any_filter first, const hasher& hash,
                                                       std::optional<double> target, const filter_params& params,
                                                       const adaptive_options& options) noexcept {
  if (first.info().exact) return first.model().cannot("adapt: it has no false positives");
  if (first.capabilities().expires)
    return first.model().cannot("adapt: its keys expire, and are nowhere to be rebuilt from");
  if (first.capabilities().is_static) return first.model().cannot("adapt: it takes no keys after it was built");
  if (first.shards() != 0 || first.is_mapped()) {
    return fail(errc::unsupported, "only a filter in memory, and in one piece, adapts");
  }
  constexpr detail::adaptive_maker make_another = [](std::string_view name, const filter_params& like,
                                                     const filter_hash& with) noexcept {
    return any_filter::make(name, like, with);
  };
  filter_params like = params;
  layout_text layout{};
  if (auto known = apply_options(first.kind(), like, layout); !known) return fail(known.error());
  like.options = {};  // those of the caller may be gone when it grows
  auto engine = detail::adaptive_engine::start(std::move(first), target, like, options, hash, make_another);
  if (!engine) return fail(engine.error());
  return any_adaptive(std::move(*engine), hash);
}

BLOOMERY_BODY result<any_adaptive> any_adaptive::make(std::string_view kind, const filter_params& params,
                                                      const hasher& hash, const adaptive_options& options) noexcept {
  auto made = any_filter::make(kind, params, hash);
  if (!made) return fail(made.error());
  return start(std::move(*made), hash, params.fpr, params, options);
}

BLOOMERY_BODY result<any_adaptive> any_adaptive::over(any_filter existing, const filter_params& params,
                                                      const adaptive_options& options) noexcept {
  const filter_hash hash = existing.key_hash();
  if (!hash.is_usable()) return fail(existing.may_contain("").error());  // what a key gets
  return start(std::move(existing), hash.get(), {}, params, options);
}

BLOOMERY_BODY result<guarded_outcome> any_adaptive::add_batch(const key_batch& keys) noexcept {
  guarded_outcome outcome;
  const auto done = detail::with_batch(keys, [&](const auto& all) { outcome = insert_all(all); });
  if (!done) return fail(done.error());
  return outcome;
}

BLOOMERY_BODY result<void> any_adaptive::may_contain_batch(const key_batch& keys,
                                                           std::span<std::uint64_t> mask) const noexcept {
  if (mask.size() < mask_words(keys.size())) {
    return fail(errc::bad_span, "the mask", {std::uint64_t{mask.size()} * 64, keys.size()});
  }
  return detail::with_batch(keys, [&](const auto& all) { query_all(all, mask); });
}

}  // namespace bloomery::inline BLOOMERY_ABI

// redisbloom.cpp: filters of RedisBloom, as its SCANDUMP returns them and as Redis' DUMP does.
// docs/formats/redisbloom.md has the bytes.
#include <charconv>

#include "src/formats/formats.hpp"
#include "src/formats/redis_reader.hpp"

namespace bloomery::inline BLOOMERY_ABI::formats {
namespace redisbloom {

constexpr double largest_fpr = 0.25;  // the product takes no higher FPR

// ---- making ---------------------------------------------------------------------------------------------------------

// What is requested. A Bloom filter without a number of keys is made for those that there are: the tool counts them.
constexpr kind_info bloom_info{.id = scalable::info.id,
                               .name = scalable::info.name,
                               .summary = scalable::info.summary,
                               .lines = scalable::info.lines};
constexpr kind_info cuckoo_info{.id = cuckoo_model::chain_info.id,
                                .name = cuckoo_model::chain_info.name,
                                .summary = cuckoo_model::chain_info.summary,
                                .lines = cuckoo_model::chain_info.lines};
constexpr std::array chain_options = {*find_option(scalable::options(), "mode"),
                                      *find_option(scalable::options(), "growth")};
constexpr kind_entry bloom_kind{
    .info = &bloom_info, .capabilities = capabilities_of<scalable>(), .options = chain_options};
constexpr kind_entry cuckoo_kind{
    .info = &cuckoo_info, .capabilities = cuckoo_model::entry.capabilities, .options = chain_options};

const kind_entry* kind_of(const format_options& options) noexcept {
  if (options.kind.empty() || options.kind == bloom_info.name) return &bloom_kind;
  return options.kind == cuckoo_info.name ? &cuckoo_kind : nullptr;
}
failure no_such_kind() noexcept {
  return fail(errc::unsupported, "format redisbloom has the kinds scalable (BF) and cuckoo (CF)");
}
bool is_cuckoo(const format_options& options) noexcept { return kind_of(options) == &cuckoo_kind; }

result<hash_spec> hash(const format_options& options) noexcept {
  if (kind_of(options) == nullptr) return no_such_kind();
  return hash_spec{.id = is_cuckoo(options) ? murmur64a::info.id : paired_murmur64a::info.id};
}

result<bool> scales(const filter_params& params) noexcept {
  if (params.mode.empty() || params.mode == "scaling") return true;
  if (params.mode == "fixed") return false;
  return fail(errc::unsupported, "format redisbloom has the modes scaling and fixed (NONSCALING)");
}
result<std::uint64_t> growth(const filter_params& params, std::uint64_t usual) noexcept {
  const std::uint64_t asked = params.growth.value_or(usual);
  if (asked < 1 || asked > scalable::max_growth) return fail(errc::bad_growth, {}, {asked, scalable::max_growth});
  return asked;
}
// A number of a cuckoo filter, from its word.
result<std::uint64_t> number_of(std::string_view word, std::uint64_t usual, std::uint64_t most,
                                std::string_view option) noexcept {
  if (word.empty()) return usual;
  std::uint64_t value = 0;
  const auto [end, bad] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (bad == std::errc{} && end == word.data() + word.size() && value >= 1 && value <= most) return value;
  error_text text;
  text.append(option);
  text.append(" ");
  text.append(word);
  return fail(errc::bad_option, text.view(), {1, most});
}

result<cuckoo_head> asked_cuckoo(const filter_params& params, const format_options& options) noexcept {
  if (params.bits || params.hashes || params.bits_per_key || params.memory_bytes) {
    return fail(errc::unsupported, "a cuckoo filter of RedisBloom is sized by its number of keys alone");
  }
  size_request sizes = params.sizes();
  sizes.fpr = params.fpr.value_or(default_fpr);
  if (auto usable = sizing::check(sizes); !usable) return fail(usable.error());
  if (!params.keys) return fail(errc::missing_parameter, "this format is sized by a number of keys");
  const auto slots = number_of(options.bucket_size, 2, 255, "bucket-size");
  const auto moves = number_of(options.max_iterations, 20, 65535, "max-iterations");
  const auto grows = scales(params);
  const auto factor = growth(params, 1);
  for (const auto* each : {&slots, &moves, &factor}) {
    if (!*each) return fail(each->error());
  }
  if (!grows) return fail(grows.error());
  const std::uint64_t keys = std::max(*params.keys, 2 * *slots);  // the least that CF.RESERVE takes
  cuckoo_head asked{.buckets = std::bit_ceil(keys / *slots), .slots = *slots, .moves = *moves};
  asked.growth = *grows ? std::bit_ceil(*factor) : 0;
  if (asked.bytes_of(0) == 0) {
    return fail(errc::unsupported, "RedisBloom's cuckoo filters have up to 4 GiB: ask for fewer keys");
  }
  return asked;
}

result<size_plan> plan_cuckoo(const filter_params& params, const format_options& options) noexcept {
  const auto asked = asked_cuckoo(params, options);
  if (!asked) return fail(asked.error());
  const kernels::cuckoo_geometry of{.buckets = asked->buckets,
                                    .slot_bits = 8,
                                    .slots = static_cast<unsigned>(asked->slots),
                                    .form = kernels::cuckoo_form::redis};
  const auto keys = static_cast<double>(*params.keys);
  const double rate = cuckoo_redis_model{of}.fpr(keys);
  if (params.fpr && rate > *params.fpr) {
    return fail(errc::unsupported,
                "RedisBloom's cuckoo filters have fingerprints of 8 bits: ask for 2 %, or leave the rate out");
  }
  return size_plan{.keys = *params.keys,
                   .fpr = rate,
                   .bits = of.bits(),
                   .bits_per_key = static_cast<double>(of.bits()) / keys,
                   .memory_bytes = asked->bytes_of(0),
                   .digest_bits = 64};
}

result<keys_and_rate> asked_bloom(const filter_params& params) noexcept {
  if (params.hashes) return fail(errc::unsupported, "RedisBloom chooses the number of hash functions: leave it out");
  auto asked = keys_and_rate_of(params, default_fpr);
  if (asked) asked->fpr = std::min(asked->fpr, largest_fpr);
  return asked;
}

result<size_plan> plan(const filter_params& params, const format_options& options) noexcept {
  if (kind_of(options) == nullptr) return no_such_kind();
  if (is_cuckoo(options)) return plan_cuckoo(params, options);
  if (!options.bucket_size.empty() || !options.max_iterations.empty()) {
    return fail(errc::unsupported, "bucket-size and max-iterations are for kind cuckoo");
  }
  const auto asked = asked_bloom(params);
  const auto grows = scales(params);
  const auto factor = growth(params, scalable::usual_growth);
  if (!asked) return fail(asked.error());
  if (!grows) return fail(grows.error());
  if (!factor) return fail(factor.error());
  const auto size = redis_sub_filter::size_for(asked->keys, asked->fpr * (*grows ? 0.5 : 1.0));
  if (!size) return fail(size.error());
  return size_plan{.keys = asked->keys,
                   .fpr = redis_sub_filter::expected_fpr(asked->keys, *size),
                   .bits = size->bits,
                   .hashes = static_cast<unsigned>(size->hashes),
                   .bits_per_key = static_cast<double>(size->bits) / static_cast<double>(asked->keys),
                   .memory_bytes = size->bits / 8,
                   .digest_bits = 128};
}

result<any_filter> make(const filter_params& params, const format_options& options) noexcept {
  if (const auto possible = plan(params, options); !possible) return fail(possible.error());
  if (is_cuckoo(options)) {
    const auto asked = asked_cuckoo(params, options);
    if (!asked) return fail(asked.error());
    auto made = cuckoo_chain::make({.capacity = asked->buckets * asked->slots,
                                    .slots = static_cast<std::uint32_t>(asked->slots),
                                    .moves = static_cast<std::uint32_t>(asked->moves),
                                    .growth = static_cast<std::uint32_t>(asked->growth)},
                                   cuckoo_limits, params.memory);
    if (!made) return fail(made.error());
    return cuckoo_model::own(std::move(*made));
  }
  const auto asked = asked_bloom(params);
  if (!asked) return fail(asked.error());
  auto made = scalable::make({.keys = asked->keys,
                              .fpr = asked->fpr,
                              .layout = "redis",
                              .memory = params.memory,
                              .mode = params.mode,
                              .growth = params.growth});
  if (!made) return fail(made.error());
  return any_filter::own(std::move(*made), hash_spec{.id = paired_murmur64a::info.id});
}

// ---- writing --------------------------------------------------------------------------------------------------------

// The kind inside an any_filter, in memory or in a file.
template <class K>
const K* kind_in(const any_filter& filter) noexcept {
  return filter.info().id == K::info.id ? static_cast<const K*>(filter.model().kind_object()) : nullptr;
}

// A chain of either sort, for writing.
class chain_view {
 public:
  explicit chain_view(const any_filter& filter) noexcept
      : kind_(kind_in<scalable>(filter)), old_(bloom_model::in(filter)) {
    if (old_ != nullptr) {
      head_ = old_->head();
    } else if (kind_ != nullptr) {
      const bool scales_up = kind_->mode() == chain_mode::scaling;
      const bool wide_hash = filter.hash().id == paired_murmur64a::info.id;
      head_ = {
          .keys = kind_->keys().keys,
          .sub_filters = kind_->sub_filters(),
          .options = redis::no_rounding | (wide_hash ? redis::hashes_64 : 0U) | (scales_up ? 0U : redis::no_scaling),
          .growth = kind_->growth()};
    }
  }
  [[nodiscard]] const bloom_head& head() const noexcept { return head_; }
  [[nodiscard]] bloom_record sub_filter(std::size_t i) const noexcept {
    if (old_ != nullptr) return old_->record(i);
    bloom_record sub_filter{.size_bytes = kind_->sub_filter_bytes(i).size(),
                            .keys = kind_->sub_filter_keys(i),
                            .error_rate = kind_->sub_filter_fpr(i)};
    sub_filter.bits = sub_filter.size_bytes * 8;
    sub_filter.bits_per_key = bloom_record::bits_per_key_for(sub_filter.error_rate);
    sub_filter.hashes = kind_->sub_filter_hashes(i);
    sub_filter.capacity = kind_->sub_filter_capacity(i);
    return sub_filter;
  }
  [[nodiscard]] std::span<const std::byte> bits(std::size_t i) const noexcept {
    return old_ != nullptr ? old_->bits(i) : kind_->sub_filter_bytes(i);
  }

 private:
  const scalable* kind_;
  const bloom_chain* old_;
  bloom_head head_{};
};

bool holds(const any_filter& filter) noexcept {
  if (bloom_model::in(filter) != nullptr || cuckoo_model::in(filter) != nullptr) return true;
  const hash_spec& by = filter.hash();
  if (const auto* chain = kind_in<scalable>(filter)) {
    return chain->layout() == chain_layout::redis &&
           (by.id == paired_murmur64a::info.id || by.id == paired_murmur2::info.id);
  }
  const auto* table = kind_in<cuckoo>(filter);
  return table != nullptr && table->geometry().form == kernels::cuckoo_form::redis &&
         by == hash_spec{.id = murmur64a::info.id};
}

result<void> write_chain(const chain_view& chain, const byte_sink& sink) noexcept {
  std::array<std::byte, sub_filter_bytes> bytes{};
  byte_writer first(bytes);
  chain.head().write(first);
  if (auto done = sink(std::span(bytes).first(head_bytes)); !done) return done;
  for (std::size_t i = 0; i < chain.head().sub_filters; ++i) {
    byte_writer to(bytes);
    chain.sub_filter(i).write(to);
    if (auto done = sink(bytes); !done) return done;
  }
  for (std::size_t i = 0; i < chain.head().sub_filters; ++i) {
    if (auto done = sink(chain.bits(i)); !done) return done;
  }
  return {};
}

// Which encoding of DUMP has a chain: the newest, where the bits of all sub-filters fill their bytes. The oldest has
// bits that follow from the capacity, and neither options nor a growth; nothing else holds such sub-filters.
result<std::uint64_t> encoding_of(const chain_view& chain) noexcept {
  bool filled = true;
  bool oldest = chain.head().options == 0 && chain.head().growth == bloom_head{}.growth;
  for (std::size_t i = 0; i < chain.head().sub_filters; ++i) {
    const bloom_record sub_filter = chain.sub_filter(i);
    filled &= sub_filter.bits == sub_filter.size_bytes * 8;
    oldest &= sub_filter.log2_bits == 0 && sub_filter.bits == bits_in_oldest(sub_filter);
  }
  if (filled) return newest_encoding;
  if (oldest) return std::uint64_t{0};
  return fail(errc::unsupported,
              "it has sub-filters of the oldest encoding and newer ones, which no encoding holds together");
}

result<void> dump_chain(const chain_view& chain, std::uint64_t encoding, const byte_sink& sink) noexcept {
  rdb::writer to(sink, bloom_module | encoding);
  to.number(chain.head().keys);
  to.number(chain.head().sub_filters);
  if (encoding != 0) {
    to.number(chain.head().options);
    to.number(chain.head().growth);
  }
  for (std::size_t i = 0; i < chain.head().sub_filters; ++i) {
    const bloom_record sub_filter = chain.sub_filter(i);
    to.number(sub_filter.capacity);
    to.real(sub_filter.error_rate);
    to.number(sub_filter.hashes);
    to.real(sub_filter.bits_per_key);
    if (encoding != 0) {
      to.number(sub_filter.bits);
      to.number(sub_filter.log2_bits);
    }
    to.string(chain.bits(i));
    to.number(sub_filter.keys);
  }
  return to.finish();
}

// Calls f with the head of a cuckoo filter and the bytes of its sub-filters.
template <class F>
result<void> with_cuckoo(const any_filter& filter, F&& f) noexcept {
  if (const cuckoo_chain* chain = cuckoo_model::in(filter)) {
    return f(chain->head(), [&](std::size_t i) { return chain->slots(i); });
  }
  const cuckoo& table = *kind_in<cuckoo>(filter);
  const cuckoo_head head{
      .keys = table.used_slots(), .buckets = table.geometry().buckets, .slots = table.geometry().slots};
  return f(head, [&](std::size_t /*i*/) { return table.payload().first(to_size(head.bytes_of(0))); });
}

template <class Links>
result<void> write_cuckoo(const cuckoo_head& head, const Links& sub_filters, const byte_sink& sink) noexcept {
  std::array<std::byte, cuckoo_head_bytes> first{};
  byte_writer to(first);
  head.write(to);
  if (auto done = sink(first); !done) return done;
  for (std::size_t i = 0; i < head.sub_filters; ++i) {
    if (auto done = sink(sub_filters(i)); !done) return done;
  }
  return {};
}

template <class Links>
result<void> dump_cuckoo(const cuckoo_head& head, const Links& sub_filters, const byte_sink& sink) noexcept {
  rdb::writer to(sink, cuckoo_module | newest_encoding);
  for (const std::uint64_t field :
       {head.sub_filters, head.buckets, head.keys, head.removed, head.slots, head.moves, head.growth}) {
    to.number(field);
  }
  for (std::size_t i = 0; i < head.sub_filters; ++i) {
    to.number(head.buckets_of(i));
    to.string(sub_filters(i));
  }
  return to.finish();
}

result<void> save(const any_filter& filter, const byte_sink& sink, const format_options& options) noexcept {
  const bool dump = options.form == "dump";
  if (!dump && !options.form.empty() && options.form != "scandump") {
    return fail(errc::unsupported, "format redisbloom has the forms scandump and dump");
  }
  if (cuckoo_model::in(filter) != nullptr || kind_in<cuckoo>(filter) != nullptr) {
    return with_cuckoo(filter, [&](const cuckoo_head& head, const auto& sub_filters) {
      if (head.bytes_of(0) == 0)
        return result<void>(fail(errc::unsupported, "RedisBloom's sub-filters have up to 4 GiB"));
      return dump ? dump_cuckoo(head, sub_filters, sink) : write_cuckoo(head, sub_filters, sink);
    });
  }
  const chain_view chain(filter);
  const auto encoding = encoding_of(chain);
  if (!encoding) return fail(encoding.error());
  if (dump) return dump_chain(chain, *encoding, sink);
  if (*encoding == 0) {
    return fail(errc::unsupported,
                "its sub-filters are those of the oldest encoding, which only DUMP has: use encoding dump");
  }
  return write_chain(chain, sink);
}

result<any_filter> as_native(const any_filter& filter) noexcept {
  if (const cuckoo_chain* chain = cuckoo_model::in(filter)) {
    auto kind = as_kind(*chain);
    if (!kind) return fail(kind.error());
    return any_filter::own(std::move(*kind), filter.hash());
  }
  return fail(errc::unsupported, "its sub-filters are those of an old RedisBloom, which no native file holds");
}

constexpr std::array encodings = {option_choice{"scandump", "the pieces of BF.SCANDUMP or CF.SCANDUMP"},
                                  option_choice{"dump", "the value of DUMP"}};
constexpr std::array kind_choices = {option_choice{bloom_info.name, "BF.*"}, option_choice{cuckoo_info.name, "CF.*"}};
constexpr std::array options_of_format = {
    option_info{.name = "encoding", .title = "encodings", .help = "encoding of the file", .choices = encodings},
    option_info{.name = "kind", .title = "kinds", .help = "type of filter", .choices = kind_choices},
    chain_options[0],
    chain_options[1],
    option_info{.name = "bucket-size",
                .title = "bucket size",
                .type = option_type::integer,
                .help = "kind cuckoo: slots per bucket",
                .least = 1,
                .most = 255,
                .default_value = 2},
    option_info{.name = "max-iterations",
                .title = "limit of evictions",
                .type = option_type::integer,
                .help = "kind cuckoo: evictions before it grows",
                .least = 1,
                .most = 65535,
                .default_value = 20},
};

}  // namespace redisbloom

const format redisbloom_format = {
    .name = redisbloom::name,
    .summary = "Bloom and cuckoo filters of RedisBloom: SCANDUMP with its chunks, or DUMP",
    .writes = true,
    .merges = true,
    .parts = true,
    .options = redisbloom::options_of_format,
    .kind = &redisbloom::bloom_kind,
    .detect = redisbloom::detect,
    .open = redisbloom::open,
    .hash = redisbloom::hash,
    .plan = redisbloom::plan,
    .make = redisbloom::make,
    .holds = redisbloom::holds,
    .save = redisbloom::save,
    .kind_of = redisbloom::kind_of,
    .form_of = redisbloom::form_of,
    .as_native = redisbloom::as_native,
};

}  // namespace bloomery::inline BLOOMERY_ABI::formats

// bits_and_blooms.cpp: files of the Go package bits-and-blooms/bloom. docs/formats/bits-and-blooms.md has the bytes.
#include <bloomery/hash/murmur3.hpp>
#include <bloomery/native/text.hpp>
#include "src/formats/base64.hpp"
#include "src/formats/foreign_bloom.hpp"
#include "src/formats/formats.hpp"
#include "src/formats/sizes.hpp"

namespace bloomery::inline BLOOMERY_ABI::formats {
namespace bits_and_blooms {

constexpr std::string_view name = "bits-and-blooms";

constexpr std::uint64_t words_of(std::uint64_t bits) noexcept { return bits / 64 + (bits % 64 == 0 ? 0 : 1); }

// Which bytes a filter was read from, so that it is written again as its program expects it.
enum class form : std::uint8_t { binary, json, json_standard };  // the last: base64 with + and /

struct carried : nothing_carried {
  std::uint64_t length = 0;  // of the bit set: m, or m rounded up to words
  form as = form::binary;

  [[nodiscard]] result<carried> clone() const noexcept { return *this; }
  // However it is written, it is the same filter.
  friend bool operator==(const carried& a, const carried& b) noexcept { return a.length == b.length; }
};

struct rule {
  static constexpr kind_info info = foreign_kind(2, "Bloom filter of bits-and-blooms, two times MurmurHash3");
  using digest = digest256;
  using carried = bits_and_blooms::carried;
  class probes {
   public:
    // The digest stays where it is for as long as this is used.
    probes(const digest256& of, const divisor& bits) noexcept : word_(&of.word), bits_(&bits) {}
    std::uint64_t next() noexcept {
      // The first two words take turns; of the last two the order is 2, 3, 3, 2.
      const std::uint64_t i = at_++;
      const std::uint64_t step = (*word_)[2 + (i + i % 2) % 4 / 2];
      return bits_->remainder_of((*word_)[i % 2] + i * step);
    }

   private:
    const std::array<std::uint64_t, 4>* word_;
    const divisor* bits_;
    std::uint64_t at_ = 0;
  };
  static constexpr std::uint64_t byte_of(std::uint64_t bit) noexcept { return big_endian_words(bit); }
};
using filter = foreign_bloom<rule>;

constexpr hash_spec murmur{.id = murmur3_x64_128::info.id};

// ---- both encodings: m, k, and the bit set with its own length ----

struct header {
  std::uint64_t bits = 0;
  std::uint64_t hashes = 0;
  std::uint64_t length = 0;

  [[nodiscard]] std::uint64_t bit_bytes() const noexcept { return words_of(length) * 8; }
};

result<void> check(const header& h) noexcept {
  if (h.bits == 0 || h.bits > max_filter_bits) return fail(errc::bad_field, "m", {h.bits});
  if (h.hashes == 0 || h.hashes > max_hashes) return fail(errc::bad_field, "k", {h.hashes});
  // A bit set that was made from words is as long as these.
  if (h.length < h.bits || words_of(h.length) != words_of(h.bits)) {
    return fail(errc::bad_field, "length of the bit set", {h.length});
  }
  return {};
}

result<any_filter> wrap(source_bytes source, std::uint64_t offset, const header& h, form as) noexcept {
  carried with;
  with.length = h.length;
  with.as = as;
  return filter::open(std::move(source), offset, {h.bits, static_cast<unsigned>(h.hashes), h.bit_bytes()}, with,
                      murmur);
}

// ---- binary: three numbers, then words, all with the highest byte first ----

constexpr std::size_t header_bytes = 24;

header read_header(std::span<const std::byte> bytes) noexcept {
  return {load_be<std::uint64_t>(bytes.data()), load_be<std::uint64_t>(bytes.data() + 8),
          load_be<std::uint64_t>(bytes.data() + 16)};
}

detection look_binary(const detection_input& seen) noexcept {
  if (seen.first.size() < header_bytes) return {};
  const header h = read_header(seen.first);
  if (!check(h)) return {};
  const std::uint64_t expected = header_bytes + h.bit_bytes();
  if (seen.size_bytes && *seen.size_bytes != expected) return {};
  return {confidence::fits, expected};
}

result<any_filter> open_binary(source_bytes source) noexcept {
  const std::uint64_t size = source.bytes().size();
  if (size < header_bytes) return fail(errc::truncated, {}, {size, header_bytes});
  const header h = read_header(source.bytes());
  if (auto usable = check(h); !usable) return fail(usable.error());
  const std::uint64_t expected = header_bytes + h.bit_bytes();
  if (size != expected) return fail(size < expected ? errc::truncated : errc::trailing_bytes, {}, {size, expected});
  return wrap(std::move(source), header_bytes, h, form::binary);
}

// ---- JSON: {"m":959,"k":7,"b":"..."}, where b is the bit set, length and words, in base64 ----

constexpr std::size_t length_bytes = 8;  // in front of the words

// Reads the three members, in any order, in place. Nothing is unescaped or nested, so nothing is allocated.
class json_reader {
 public:
  explicit json_reader(std::span<const std::byte> bytes) noexcept
      : text_(reinterpret_cast<const char*>(bytes.data()), bytes.size()) {}

  // True when all is there and right; otherwise is_cut() returns which of both it is not.
  bool read() noexcept {
    bool more = expect('{');
    while (more) {
      if (!member()) return false;
      more = peek() == ',' && expect(',');
    }
    if (wrong_ || cut_ || !expect('}')) return false;
    skip_blanks();
    wrong_ = at_ != text_.size() || seen_ != 7;
    return !wrong_;
  }
  [[nodiscard]] bool is_cut() const noexcept { return cut_; }
  // It is cut, if at all, after the beginning of a filter.
  [[nodiscard]] bool has_begun() const noexcept { return !wrong_ && seen_ != 0; }
  [[nodiscard]] std::uint64_t position() const noexcept { return at_; }
  [[nodiscard]] std::uint64_t bits() const noexcept { return numbers_[0]; }
  [[nodiscard]] std::uint64_t hashes() const noexcept { return numbers_[1]; }
  [[nodiscard]] std::string_view bit_set() const noexcept { return bit_set_; }

 private:
  void skip_blanks() noexcept {
    while (at_ < text_.size() && bloomery::detail::is_blank(text_[at_])) ++at_;
  }
  // The next character that is not blank; 0 at the end.
  char peek() noexcept {
    skip_blanks();
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool fail_here() noexcept {
    (at_ == text_.size() ? cut_ : wrong_) = true;
    return false;
  }
  bool expect(char c) noexcept {
    if (peek() != c || at_ == text_.size()) return fail_here();
    ++at_;
    return true;
  }
  bool member() noexcept {
    if (!expect('"')) return false;
    const std::size_t which = at_ < text_.size() ? std::string_view("mkb").find(text_[at_]) : std::string_view::npos;
    if (which == std::string_view::npos || (seen_ >> which & 1U) != 0) return fail_here();
    ++at_;
    if (at_ == text_.size() || text_[at_] != '"') return fail_here();
    ++at_;
    if (!expect(':')) return false;
    const bool is_text = which == 2;
    if (is_text ? !expect('"') : peek() < '0' || peek() > '9') return fail_here();
    seen_ |= 1U << which;
    return is_text ? string() : number(numbers_[which]);
  }
  bool number(std::uint64_t& value) noexcept {
    for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_) {
      const auto digit = static_cast<std::uint64_t>(text_[at_] - '0');
      if (!checked_multiply(value, 10, value) || !checked_add(value, digit, value)) return fail_here();
    }
    return at_ < text_.size() || fail_here();
  }
  bool string() noexcept {
    const std::size_t begin = at_;
    while (at_ < text_.size() && (is_base64(text_[at_]) || text_[at_] == '=')) ++at_;
    bit_set_ = text_.substr(begin, at_ - begin);
    if (at_ == text_.size() || text_[at_] != '"') return fail_here();
    ++at_;
    return true;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  bool wrong_ = false;
  bool cut_ = false;
  unsigned seen_ = 0;
  std::array<std::uint64_t, 2> numbers_{};
  std::string_view bit_set_{};
};

bool is_json(std::span<const std::byte> first) noexcept {
  for (const std::byte b : first) {
    const char c = std::to_integer<char>(b);
    if (!bloomery::detail::is_blank(c)) return c == '{';
  }
  return false;
}

// An object that begins with one of the three members, and goes on as far as it is seen.
detection look_json(const detection_input& seen) noexcept {
  json_reader from(seen.first);
  from.read();
  return {from.has_begun() ? confidence::signature : confidence::no, no_limit};
}

failure bad_json(const json_reader& from) noexcept {
  if (from.is_cut()) return bad_header(name, "its JSON is cut short: copy it again");
  std::array<char, 96> text{};
  std::snprintf(text.data(), text.size(), R"(its JSON is not {"m":1,"k":1,"b":"..."} from byte %llu on)",
                static_cast<unsigned long long>(from.position()));
  return bad_header(name, text.data());
}

result<any_filter> open_json(const source_bytes& source) noexcept {
  json_reader from(source.bytes());
  if (!from.read()) return bad_json(from);
  const std::string_view text = from.bit_set();
  const std::size_t size = base64_bytes(text);
  std::array<std::byte, length_bytes> front{};
  if (size < front.size() || !decode_base64(text, front).ok) return bad_header(name, "b is not a bit set in base64");
  const header h{from.bits(), from.hashes(), load_be<std::uint64_t>(front.data())};
  if (auto usable = check(h); !usable) return fail(usable.error());
  if (size - front.size() != h.bit_bytes()) return bad_header(name, "b has more or fewer bits than it says");
  auto bytes = source_bytes::make(size, source.memory());
  if (!bytes) return fail(bytes.error());
  const base64_text decoded = decode_base64(text, bytes->writable());
  if (!decoded.ok) return bad_header(name, "b is not base64 in one alphabet, with padding at its end");
  return wrap(std::move(*bytes), front.size(), h, decoded.standard ? form::json_standard : form::json);
}

result<void> save_json(const filter& self, const byte_sink& sink, bool standard) noexcept {
  const auto put = [&](std::string_view text) { return sink(std::as_bytes(std::span(text))); };
  std::array<char, 80> begin{};
  std::snprintf(begin.data(), begin.size(), R"({"m":%llu,"k":%u,"b":")",
                static_cast<unsigned long long>(self.geometry().bits), self.geometry().hashes);
  if (auto done = put(begin.data()); !done) return done;
  std::array<std::byte, length_bytes> length{};
  store_be(length.data(), self.with().length);
  base64_writer to(sink, standard);
  if (auto done = to.write(length); !done) return done;
  if (auto done = to.write(self.bits()); !done) return done;
  if (auto done = to.finish(); !done) return done;
  return put("\"}");
}

// ---- the format ----

detection detect(const detection_input& seen) noexcept {
  return is_json(seen.first) ? look_json(seen) : look_binary(seen);
}

result<any_filter> open(source_bytes source, const format_options& /*options*/) noexcept {
  return is_json(source.bytes()) ? open_json(source) : open_binary(std::move(source));
}

result<hash_spec> hash(const format_options& /*options*/) noexcept { return murmur; }

result<size_plan> plan(const filter_params& params, const format_options& /*options*/) noexcept {
  const auto asked = keys_and_rate_of(params, default_fpr);
  if (!asked) return fail(asked.error());
  const auto keys = static_cast<double>(asked->keys);
  // As the package computes them.
  const double bits = std::max(1.0, std::ceil(-keys * std::log(asked->fpr) / std::pow(std::log(2.0), 2.0)));
  if (bits > static_cast<double>(max_filter_bits)) return sizing::too_large(name, bits);
  const double hashes =
      params.hashes ? static_cast<double>(*params.hashes) : std::max(1.0, std::ceil(std::log(2.0) * bits / keys));
  if (hashes < 1.0 || hashes > static_cast<double>(max_hashes)) {
    return fail(errc::bad_hashes, {}, {static_cast<std::uint64_t>(hashes), 1, max_hashes});
  }
  const auto whole_bits = static_cast<std::uint64_t>(bits);
  return size_plan{.keys = asked->keys,
                   .fpr = asked->fpr,
                   .bits = whole_bits,
                   .hashes = static_cast<unsigned>(hashes),
                   .bits_per_key = bits / keys,
                   .memory_bytes = words_of(whole_bits) * 8,
                   .digest_bits = filter::width};
}

result<any_filter> make(const filter_params& params, const format_options& options) noexcept {
  const auto size = plan(params, options);
  if (!size) return fail(size.error());
  carried with;
  with.length = size->bits;
  return filter::make({size->bits, size->hashes, size->memory_bytes}, with, murmur, params.memory);
}

bool holds(const any_filter& from) noexcept { return filter::in(from) != nullptr; }

result<void> save(const any_filter& from, const byte_sink& sink, const format_options& options) noexcept {
  const filter* const self = filter::in(from);
  form as = self->with().as;
  if (options.form == "binary") {
    as = form::binary;
  } else if (options.form == "json") {
    as = as == form::json_standard ? as : form::json;
  } else if (!options.form.empty()) {
    return fail(errc::unsupported, "form is binary or json");
  }
  if (as != form::binary) return save_json(*self, sink, as == form::json_standard);
  std::array<std::byte, header_bytes> first{};
  store_be(first.data(), self->geometry().bits);
  store_be<std::uint64_t>(first.data() + 8, self->geometry().hashes);
  store_be(first.data() + 16, self->with().length);
  if (auto done = sink(first); !done) return done;
  return sink(self->bits());
}

constexpr std::array encodings = {option_choice{"binary", "as WriteTo does"},
                                  option_choice{"json", "as MarshalJSON does"}};
constexpr std::array options_of_format = {
    option_info{.name = "encoding", .title = "encodings", .help = "encoding of the file", .choices = encodings}};

}  // namespace bits_and_blooms

const format bits_and_blooms_format = {
    .name = bits_and_blooms::name,
    .summary = "the Go package bits-and-blooms/bloom, binary and JSON",
    .writes = true,
    .merges = true,
    .options = bits_and_blooms::options_of_format,
    .kind = &foreign_entry<bits_and_blooms::rule>,
    .detect = bits_and_blooms::detect,
    .open = bits_and_blooms::open,
    .hash = bits_and_blooms::hash,
    .plan = bits_and_blooms::plan,
    .make = bits_and_blooms::make,
    .holds = bits_and_blooms::holds,
    .save = bits_and_blooms::save,
};

}  // namespace bloomery::inline BLOOMERY_ABI::formats

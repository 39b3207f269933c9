#include "src/formats/formats.hpp"
#include <bloomery/native/text.hpp>

#include <algorithm>
#include <cstring>

#include "src/formats/foreign_model.hpp"
#include "src/formats/gzip.hpp"

namespace bloomery::inline BLOOMERY_ABI::formats {
namespace {

detection detect_native(const detection_input& seen) noexcept {
  const std::size_t magic = std::min(seen.first.size(), file_magic.size());
  if (magic == 0 || !bloomery::detail::starts_with(seen.first, file_magic.substr(0, magic))) return {};
  return {confidence::signature, no_limit};  // see native_limit
}

// How long a native stream is: it is read no further than its header states. The loader reports what is wrong with it.
std::uint64_t native_limit(std::span<const std::byte> first, std::optional<file_header>* header) noexcept {
  const auto decoded = bloomery::detail::decode_header_area(first, first.size());
  if (decoded && header != nullptr) *header = *decoded;
  return decoded ? decoded->file_bytes() : no_limit;
}

detection detect_text(const detection_input& seen) noexcept {
  return {is_text_form(seen.first) ? confidence::signature : confidence::no, no_limit};
}

detection look_at(const format& form, const detection_input& seen) noexcept {
  if (form.name == native_format.name) return detect_native(seen);
  if (form.name == text_format.name) return detect_text(seen);
  return form.detect(seen);
}

// The detection of each format for a file: for what is packed in it, where the format allows that.
class detections {
 public:
  detections(std::span<const format* const> list, const detection_input& seen) noexcept
      : list_(list.first(std::min(list.size(), most))) {
    std::array<std::byte, detection_bytes> front{};
    detection_input inside;
    if (is_gzip(seen.first)) {
      inside.first = std::span<const std::byte>(front).first(gunzip_front(seen.first, front));
      // All of a short file.
      if (inside.first.size() < front.size() && seen.size_bytes == seen.first.size()) {
        inside.size_bytes = inside.first.size();
      }
    }
    for (std::size_t i = 0; i < list_.size(); ++i) {
      const format& form = *list_[i];
      found_[i] = look_at(form, seen);
      if (form.gzip && found_[i].sure == confidence::no && !inside.first.empty()) {
        found_[i] = {look_at(form, inside).sure, no_limit};
      }
      best_ = std::max(best_, found_[i].sure);
    }
  }
  [[nodiscard]] confidence best() const noexcept { return best_; }
  // The only one that is so sure; nullptr when there are several.
  [[nodiscard]] const format* only(confidence sure) const noexcept {
    const format* found = nullptr;
    for (std::size_t i = 0; i < list_.size(); ++i) {
      if (found_[i].sure != sure) continue;
      if (found != nullptr) return nullptr;
      found = list_[i];
    }
    return found;
  }
  // How long the file may be for those that are so sure.
  [[nodiscard]] std::uint64_t limit_bytes(confidence sure) const noexcept {
    std::uint64_t limit = 0;
    for (std::size_t i = 0; i < list_.size(); ++i) {
      if (found_[i].sure == sure) limit = std::max(limit, found_[i].limit_bytes);
    }
    return limit;
  }
  // "leveldb, guava": those that are so sure.
  [[nodiscard]] error_text names(confidence sure) const noexcept {
    error_text out;
    for (std::size_t i = 0; i < list_.size(); ++i) {
      if (found_[i].sure != sure) continue;
      if (out.length != 0) out.append(", ");
      out.append(list_[i]->name);
    }
    return out;
  }

 private:
  static constexpr std::size_t most = 64;
  static_assert(every_format.size() <= most);

  std::span<const format* const> list_;
  std::array<detection, most> found_{};
  confidence best_ = confidence::no;
};

// What a file is by its end, where its beginning does not show it. The filters of RocksDB end with five bytes: ff 00 k
// 00 00 of a Bloom filter in lines of 64 bytes, fe, a seed and the number of blocks of a ribbon filter; before format
// version 5, k and the number of lines, which is odd.
std::string_view guess_by_end(const detection_input& seen) noexcept {
  constexpr std::string_view filter = " (a filter of RocksDB, which is none of the formats)";
  const bool all_seen = seen.size_bytes == seen.first.size();
  if (all_seen && std::all_of(seen.first.begin(), seen.first.end(), [](std::byte b) { return b == std::byte{0}; })) {
    return " (nothing but zeros)";
  }
  const auto last = seen.last;
  if (!seen.size_bytes || last.size() < 8) return {};
  const std::uint64_t magic = load_le<std::uint64_t>(last.data() + last.size() - 8);
  for (const std::uint64_t known : {0x88e241b785f4cff7ULL, 0x8242229663bf9564ULL, 0x926789d0c5f17873ULL}) {
    if (magic == known) return " (a table of RocksDB, which is none of the formats)";
  }
  const auto trailer = last.last(5);
  const std::uint64_t size_bytes = *seen.size_bytes - trailer.size();
  const auto k = std::to_integer<unsigned>(trailer[2]);
  const std::uint64_t lines = load_le<std::uint32_t>(trailer.data() + 1);
  if (trailer[0] == std::byte{0xff} && lines == k << 8U && k >= 1 && k <= 30 && size_bytes % 64 == 0) return filter;
  if (trailer[0] == std::byte{0xfe} && size_bytes % 16 == 0) {
    const std::uint64_t blocks = lines >> 8U;
    if (blocks >= 2 && size_bytes / 16 >= blocks && size_bytes / 16 <= blocks * 32) return filter;
  }
  const bool odd_lines = lines % 2 == 1 && lines * 64 == size_bytes;
  return odd_lines && trailer[0] >= std::byte{1} && trailer[0] <= std::byte{30} ? filter : std::string_view{};
}

// What the file looks like, and which formats it may be that take no signature.
failure no_format(const detection_input& seen, const detections& all) noexcept {
  if (is_gzip(seen.first) && !has_gzip()) return no_gzip();
  error_text what;
  what.append(bloomery::detail::not_a_filter(seen.first).value().text_view());
  const bool known = !bloomery::detail::guess_of(seen.first).empty();
  const std::string_view by_end = known ? std::string_view{} : guess_by_end(seen);
  what.append(by_end);
  // What is well known to be something else is none of those.
  const bool may_be_weak = all.best() == confidence::weak && !known && by_end.empty();
  if (may_be_weak) {
    what.append("; could be ");
    what.append(all.names(confidence::weak).view());
  }
  error why = make_error(errc::no_format, what.view());
  if (may_be_weak) why.advice = remedy::name_the_format;
  return fail(why);
}

// What is wrong with a file, if its first bytes show it: they are opened as if they were all, and that they are cut off
// is no fault of theirs.
result<void> check_front(const format& form, std::span<const std::byte> first) noexcept {
  if (form.is_native()) {
    const auto header = read_header_bytes(first);
    if (!header && header.error().code != errc::truncated) return fail(header.error());
    return {};
  }
  auto copy = source_bytes::make(first.size());
  if (!copy) return fail(copy.error());
  if (!first.empty()) std::memcpy(copy->writable().data(), first.data(), first.size());
  const auto tried = form.open(std::move(*copy), {});
  if (!tried && tried.error().code != errc::truncated) return fail(tried.error());
  return {};
}

// A file that was packed whole. Its front is unpacked first; memory for the rest is taken when its header is one of
// this format and so much can be packed in so few bytes.
result<file_bytes> unpacked(const format& form, std::span<const std::byte> packed, const load_options& how) noexcept {
  constexpr std::uint64_t most_behind_bytes = std::uint64_t{64} << 20U;  // after what the header requires
  std::array<std::byte, detection_bytes> front{};
  if (!has_gzip()) return no_gzip();
  const auto first = std::span<const std::byte>(front).first(gunzip_front(packed, front));
  if (first.size() > how.max_bytes) return bloomery::detail::over_limit(how.max_bytes);
  if (first.size() < front.size()) return gunzip(packed, first.size(), how.memory);
  const detection found = form.detect({first, {}, {}});
  if (found.sure == confidence::no) {
    if (auto usable = check_front(form, first); !usable) return fail(usable.error());
  }
  const std::uint64_t least = std::max<std::uint64_t>(found.least_bytes, first.size());
  const auto size = gunzipped_bytes(packed, least);
  if (!size) return bad_gzip();
  if (*size > how.max_bytes) return bloomery::detail::over_limit(how.max_bytes);
  if (*size - least > most_behind_bytes) {
    return fail(errc::codec_failed, "it is damaged, or has more than 64 MiB behind the filter: unpack it first");
  }
  return gunzip(packed, *size, how.memory);
}

}  // namespace

const format native_format = {
    .name = "native", .summary = "the file of Bloomery itself: every kind, checksums", .writes = true, .merges = true};
const format text_format = {
    .name = "text", .summary = "the same in lines of text, for copy and paste", .writes = true, .merges = true};

std::span<const format* const> list() noexcept { return every_format; }

const format* find(std::string_view name) noexcept {
  for (const format* form : every_format) {
    if (form->name == name) return form;
  }
  return nullptr;
}

result<const format*> detect_among(std::span<const format* const> list, const detection_input& seen) noexcept {
  if (seen.first.empty()) return fail(errc::empty_file, {}, {small_header_bytes});
  const detections all(list, seen);
  if (all.best() < confidence::fits) return no_format(seen, all);
  const format* found = all.only(all.best());
  if (found == nullptr) return fail(errc::several_formats, all.names(all.best()).view());
  return found;
}

result<const format*> detect(const detection_input& seen) noexcept { return detect_among(every_format, seen); }

result<void> packs(const format& form, std::uint32_t codec) noexcept {
  if (form.is_native() || codec == codec_none || (codec == codec_gzip && form.gzip)) return {};
  if (!form.gzip) return fail(errc::format_not_compressed, form.name);
  error_text text;
  text.append("files in format ");
  text.append(form.name);
  text.append(" are packed with gzip or not at all");
  return fail(errc::unsupported, text.view());
}

result<any_filter> make(std::string_view name, const filter_params& params, const format_options& options) noexcept {
  const auto form = find_or_fail(name);
  if (!form) return fail(form.error());
  if ((*form)->make == nullptr) return fail(errc::unsupported, "this format is not made by parameters alone");
  return (*form)->make(params, options);
}

namespace {
// Every filter of another product is a foreign_model. Nothing: it looks up digests.
const foreign_model* key_model(const any_filter& filter) noexcept {
  if (filter.info().id < first_foreign_id) return nullptr;
  const auto& model = static_cast<const foreign_model&>(filter.model());
  return model.looks_up() == key_form::digest ? nullptr : &model;
}
}  // namespace

key_form looks_up(const any_filter& filter) noexcept {
  const foreign_model* const model = key_model(filter);
  return model == nullptr ? key_form::digest : model->looks_up();
}

result<void> may_contain(const any_filter& filter, std::span<const std::string_view> keys,
                         std::span<std::uint64_t> mask) noexcept {
  const foreign_model* const model = key_model(filter);
  if (model == nullptr) return filter.may_contain(keys, mask);
  if (mask.size() < mask_words(keys.size())) {
    return fail(errc::bad_span, "the mask", {std::uint64_t{mask.size()} * 64, keys.size()});
  }
  return model->may_contain_keys(keys, mask);
}

result<explanation> explain(const any_filter& filter, std::string_view key) noexcept {
  const foreign_model* const model = key_model(filter);
  return model == nullptr ? filter.explain(key) : model->explain_key(key);
}

namespace detail {

result<std::uint64_t> stream_limit(std::span<const std::byte> first, std::string_view from,
                                   std::optional<file_header>* header) noexcept {
  if (first.empty()) return no_limit;
  const detection_input seen{first, {}, {}};
  if (!from.empty()) {
    const auto form = find_or_fail(from);
    if (!form) return fail(form.error());
    const detection found = look_at(**form, seen);
    if (*form == &native_format && found.sure != confidence::no) return native_limit(first, header);
    if (found.sure != confidence::no && found.limit_bytes != no_limit) return found.limit_bytes;
    // What is none of this format is not read to its end, which it may not have.
    const bool packed = (*form)->gzip && is_gzip(first);
    if (found.sure == confidence::no && !(*form)->by_end && !packed) {
      if (auto usable = check_front(**form, first); !usable) return fail(usable.error());
    }
    return no_limit;
  }
  const detections all(every_format, seen);
  // Without its size, a stream may still turn out to be what only fits.
  if (all.best() < confidence::fits) return no_format(seen, all);
  if (all.only(all.best()) == &native_format) return native_limit(first, header);
  return all.limit_bytes(all.best());
}

result<opened> open_foreign(const format& form, source_bytes source, const open_options& how) noexcept {
  const std::uint64_t size_bytes = source.bytes().size();
  std::uint32_t codec = codec_none;
  if (form.gzip && is_gzip(source.bytes())) {
    auto whole = unpacked(form, source.bytes(), how.load);
    if (!whole) return fail(whole.error());
    source = source_bytes(std::move(*whole));
    codec = codec_gzip;
  }
  const format_options written{.form = form.form_of == nullptr ? std::string_view{} : form.form_of(source.bytes())};
  auto filter = form.open(std::move(source), how.format);
  if (!filter) return fail(filter.error());
  if (how.in_memory && filter->is_mapped()) {
    auto copy = filter->model().clone();
    if (!copy) return fail(copy.error());
    filter = any_filter::adopt(std::move(*copy), filter->hash());
  }
  return opened{std::move(*filter), &form, size_bytes, codec, {}, written};
}

result<void> save_foreign(const any_filter& filter, const format& form, const byte_sink& sink, const save_options& how,
                          const format_options& options) noexcept {
  if (form.save == nullptr) return fail(errc::unsupported, "this format is read and not written");
  if (!holds(form, filter)) return fail(errc::not_in_format, form.name);
  if (auto can = packs(form, how.codec); !can) return can;
  if (how.codec == codec_none) return form.save(filter, sink, options);
  gzip_writer packed(sink, how.level);
  if (auto done = form.save(filter, byte_sink(packed), options); !done) return done;
  return packed.finish();
}

}  // namespace detail

}  // namespace bloomery::inline BLOOMERY_ABI::formats

// formats.hpp: filter files of other products: detecting a file's format, querying it, writing it, making a new one.
//
//     #include <bloomery/formats.hpp>                      // link bloomery::all, or bloomery::formats
//
//     auto opened = bloomery::formats::open("blocklist.bloom");          // any product's file, detected by its content
//     if (!opened) return fail(opened.error());
//     auto hash = bloomery::hasher::make(opened->filter.hash());         // that product's hash
//     opened->filter.may_contain(digests, mask);                         // answers as that product does
//
//     auto made = bloomery::formats::make("dcso", {.keys = 1000, .fpr = 0.01});
//     made->insert(digests);
//     auto saved = bloomery::formats::save(*made, *bloomery::formats::find("dcso"), "blocklist.bloom");
//
// A file of another product becomes an any_filter: its bits, that product's probe rule and that product's hash. It is
// queried, filled, merged and counted as every other filter, but it is saved in a format of its own: a native file
// would state that one of our kinds had set the bits. `format` is one line of the list; `list()` gives them all,
// `native` and `text` (native/text.hpp) first.
//
// Detection. A format decides from the first bytes and the size of a file whether it can be one of its own: by a
// signature, or because every size in its header fits the size of the file exactly. Two that fit are an error that
// names both; `from` decides. Formats that nearly any bytes fit (confidence::weak) are never chosen by themselves.
//
// A file is opened once, and what is detected is what is mapped or read: another file under its name is never mixed in.
//
// Files are mapped and queried in place. A filter that is to be changed is loaded into memory (`in_memory`).
// Nothing is allocated before the sizes in the header were compared with what is there.
#pragma once

#include <algorithm>
#include <array>
#include <bloomery/any_filter.hpp>
#include <bloomery/core/size.hpp>
#include <bloomery/native/codec.hpp>
#include <bloomery/native/foreign.hpp>
#include <bloomery/posix/input.hpp>
#include <bloomery/posix/load.hpp>
#include <bloomery/posix/mapping.hpp>
#include <bloomery/posix/output.hpp>
#include <bloomery/posix/save.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

namespace bloomery::inline BLOOMERY_ABI::formats {

// What a format's files do not carry, or what their writers may choose, as words. Empty: the format's own default.
// `format::options` names those that a format takes; the others are ignored.
struct format_options {
  std::string_view form{};            // bits-and-blooms: binary, json; redisbloom: scandump, dump
  std::string_view kind{};            // redisbloom: scalable, cuckoo
  std::string_view bucket_size{};     // redisbloom, kind cuckoo: BUCKETSIZE
  std::string_view max_iterations{};  // the same: MAXITERATIONS
  std::string_view strategy{};        // guava: 32, 64
  std::string_view k_rule{};          // guava: old, new
  std::string_view spark_version{};   // spark: 1, 2
  std::string_view seed{};            // spark: of version 2
  std::string_view bloom_type{};      // hbase: row, rowcol, rowprefix
  std::string_view prefix_length{};   // hbase, of rowprefix
  std::string_view hash_type{};       // hbase: murmur, jenkins, murmur3
  std::string_view chunk_bytes{};     // hbase: of a chunk before it is folded
};

// The bytes of a file, mapped or in memory, on their way into a filter that keeps them.
class source_bytes {
 public:
  source_bytes() noexcept = default;
  explicit source_bytes(file_mapping mapping) noexcept : mapping_(std::move(mapping)), mapped_(true) {}
  explicit source_bytes(file_bytes owned) noexcept : owned_(std::move(owned)) {}

  static result<source_bytes> make(std::uint64_t size_bytes, const memory_hooks* memory = nullptr) noexcept {
    auto buffer = aligned_buffer::make(size_bytes, "the filter", memory);
    if (!buffer) return fail(buffer.error());
    return source_bytes(file_bytes{std::move(*buffer), to_size(size_bytes)});
  }

  [[nodiscard]] std::span<const std::byte> bytes() const noexcept {
    return mapped_ ? mapping_.bytes() : owned_.bytes();
  }
  [[nodiscard]] bool is_mapped() const noexcept { return mapped_; }
  // The same bytes, for writing; empty where they are mapped.
  [[nodiscard]] std::span<std::byte> writable() noexcept {
    return mapped_ ? std::span<std::byte>{} : owned_.buffer.bytes().first(owned_.size);
  }
  [[nodiscard]] const memory_hooks* memory() const noexcept { return owned_.buffer.hooks(); }

 private:
  file_mapping mapping_;
  file_bytes owned_;
  bool mapped_ = false;
};

// What a format is shown of a file.
struct detection_input {
  std::span<const std::byte> first{};         // at least detection_bytes of it, or all
  std::optional<std::uint64_t> size_bytes{};  // not known of a pipe
  std::span<const std::byte> last{};          // the last_detection_bytes of it, or all; not known of a pipe
};
inline constexpr std::size_t detection_bytes = 4096;
inline constexpr std::size_t last_detection_bytes = 64;

enum class confidence : std::uint8_t {
  no,         // it is none of ours
  weak,       // nothing speaks against it, but hardly anything does against any file: only when it is requested
  fits,       // every size in the header fits the size of the file
  signature,  // the file states it itself
};
struct detection {
  confidence sure = confidence::no;
  std::uint64_t limit_bytes = no_limit;  // how long such a file is, as far as its header states; more is not read
  std::uint64_t least_bytes = 0;         // how long it is at least: before it is unpacked, this is held against it
};

// What the answer of a filter follows from: a digest, or the key itself, where the order of keys decides which part of a
// file has it.
enum class key_form : std::uint8_t {
  digest,
  key,             // the key as it stands
  row_and_column,  // the same, made of two fields by hbase::write_rowcol_key
};

struct format {
  std::string_view name;     // as passed to --format, --from and --to
  std::string_view summary;  // one line for `bloomery formats`
  bool writes = false;       // all are read and queried
  bool merges = false;
  bool gzip = false;    // the product packs whole files with gzip, too
  bool by_end = false;  // what it is shows at its end: its first bytes refute nothing
  bool parts = false;   // the product returns a filter in pieces; a file is all of them, one after the other
  // What it takes beside sizes, as data: the members of format_options, and `mode`, `growth` of filter_params.
  std::span<const option_info> options{};

  // The rest is empty for `native` and `text`, which any_filter reads and writes itself.
  const kind_entry* kind = nullptr;  // what `make` makes
  detection (*detect)(const detection_input& seen) noexcept = nullptr;
  result<any_filter> (*open)(source_bytes source, const format_options& options) noexcept = nullptr;
  // The hash that `make` will need, and the size that it will have: digest_bits among it.
  result<hash_spec> (*hash)(const format_options& options) noexcept = nullptr;
  result<size_plan> (*plan)(const filter_params& params, const format_options& options) noexcept = nullptr;
  result<any_filter> (*make)(const filter_params& params, const format_options& options) noexcept = nullptr;
  // Of formats whose files have the order of their keys, instead of `make`: a filter of all of these, which are in the
  // order of the file (`before`).
  result<any_filter> (*build)(std::span<const std::string_view> keys, const filter_params& params,
                              const format_options& options) noexcept = nullptr;
  bool (*before)(std::string_view a, std::string_view b, const format_options& options) noexcept = nullptr;
  // Of these, what a key is made of.
  key_form (*looks_up)(const format_options& options) noexcept = nullptr;
  // Whether the bits of a filter are of this format, so that it can be saved in it.
  bool (*holds)(const any_filter& filter) noexcept = nullptr;
  // Only for such.
  result<void> (*save)(const any_filter& filter, const byte_sink& sink,
                       const format_options& options) noexcept = nullptr;

  // Of formats with several kinds: the one that `make` will make; nullptr when there is none of that name.
  const kind_entry* (*kind_of)(const format_options& options) noexcept = nullptr;
  // Of formats with several encodings: that of a file, by its first bytes, so that it can be written again in it.
  std::string_view (*form_of)(std::span<const std::byte> first) noexcept = nullptr;
  // Of formats whose filters are not kinds of ours: the one that has the same bits, or an error that states why there
  // is none.
  result<any_filter> (*as_native)(const any_filter& filter) noexcept = nullptr;

  [[nodiscard]] bool is_native() const noexcept { return open == nullptr; }
};

// Filters that no native file holds have kinds with ids from here on.
inline constexpr std::uint32_t first_foreign_id = 0x10000;

BLOOMERY_API std::span<const format* const> list() noexcept;
// nullptr when there is none.
BLOOMERY_API const format* find(std::string_view name) noexcept;
BLOOMERY_API result<const format*> find_or_fail(std::string_view name) noexcept;

// What a file is, by its first bytes (detection_bytes of them, or all there are) and its size: one format, or an error
// that states what it looks like, or which two it may be.
BLOOMERY_API result<const format*> detect(const detection_input& seen) noexcept;

struct open_options {
  std::string_view from{};  // the name of the format; empty: by content
  format_options format{};
  load_options load{};
  bool in_memory = false;  // nothing stays mapped: the filter can be changed
};

struct opened {
  any_filter filter;
  const format* form = nullptr;
  std::uint64_t size_bytes = 0;         // of the file
  std::uint32_t codec = codec_none;     // inside a native file, around another
  std::optional<file_header> header{};  // of a native file
  format_options written{};             // to be passed to `save`, so that it is written in the encoding that it had
};

// What a filter looks up. Of those that look up keys, any_filter::may_contain queries all parts of the file: its answer
// is an upper bound, and these functions have the product's. Of others both are the same.
BLOOMERY_API key_form looks_up(const any_filter& filter) noexcept;
BLOOMERY_API result<void> may_contain(const any_filter& filter, std::span<const std::string_view> keys,
                                      std::span<std::uint64_t> mask) noexcept;
BLOOMERY_API result<explanation> explain(const any_filter& filter, std::string_view key) noexcept;

namespace detail {

// Where a stream of unknown length is to end, by its first bytes. `header` gets that of a native stream.
BLOOMERY_API result<std::uint64_t> stream_limit(std::span<const std::byte> first, std::string_view from,
                                                std::optional<file_header>* header = nullptr) noexcept;
// A file of another product, unpacked where it is packed.
BLOOMERY_API result<opened> open_foreign(const format& form, source_bytes source, const open_options& how) noexcept;
BLOOMERY_API result<void> save_foreign(const any_filter& filter, const format& form, const byte_sink& sink,
                                       const save_options& how, const format_options& options) noexcept;

}  // namespace detail

// A file that was read into memory.
BLOOMERY_API result<opened> open_bytes(file_bytes bytes, const open_options& how = {}) noexcept;

// A file, pipe or device; or one that is open. It is opened once: what is detected is what is opened.
BLOOMERY_API result<opened> open(file_path path, const open_options& how = {}) noexcept;
BLOOMERY_API result<opened> open(const input_file& file, const open_options& how = {}) noexcept;

// Whether files in a format are packed so; an error that states how they are.
BLOOMERY_API result<void> packs(const format& form, std::uint32_t codec) noexcept;

// Whether a filter can be saved in a format. Other hashes and other rules set other bits for the same keys, and a
// filter does not return its keys: what was built for one format is rarely of another.
BLOOMERY_API bool holds(const format& form, const any_filter& filter) noexcept;

// A new, empty filter of another product, sized as that product would.
BLOOMERY_API result<any_filter> make(std::string_view name, const filter_params& params,
                                     const format_options& options = {}) noexcept;

// Writes a filter in a format; an error where its bits are not of that format (see holds).
BLOOMERY_API result<void> save_to(const any_filter& filter, const format& form, const byte_sink& sink,
                                  const save_options& how = {}, const format_options& options = {}) noexcept;

BLOOMERY_API result<void> save(const any_filter& filter, const format& form, file_path path,
                               const save_options& how = {}, const format_options& options = {}) noexcept;

}  // namespace bloomery::inline BLOOMERY_ABI::formats

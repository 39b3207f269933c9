// native_loader.cpp: a fuzz target for everything that reads a native file.
//
// The bytes are given to the loader of every kind twice: as they are, and with the checksums of header and chunks made
// right, so that the fuzzer gets to what lies behind them. Whatever loads must then behave: answer, be saved, and load
// again as the same filter.
#include <bloomery/core/bytes.hpp>
#include <bloomery/kinds.hpp>
#include <bloomery/native/load.hpp>
#include <bloomery/native/save.hpp>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <vector>

namespace {

using namespace bloomery;

// More than this is never needed for inputs of fuzzing size, so that a wrong size shows as refused memory, not as a
// slow run.
constexpr std::uint64_t max_bytes = std::uint64_t{16} << 20U;

void* limited_allocate(void* /*context*/, std::size_t size, std::size_t alignment) {
  // The loader promised to keep the limit by itself.
  if (size > max_bytes) std::abort();
  return default_memory().allocate(nullptr, size, alignment);
}
void limited_release(void* /*context*/, void* memory, std::size_t size, std::size_t alignment) {
  default_memory().release(nullptr, memory, size, alignment);
}
constexpr memory_hooks limited{.allocate = limited_allocate, .release = limited_release};

void require(bool condition) {
  if (!condition) std::abort();
}

template <class K>
void use(const stored_filter<K>& stored) {
  std::uint64_t found = 0;
  for (std::uint64_t i = 0; i < 16; ++i) found += stored.filter.may_contain(mix64(i)) ? 1U : 0U;
  static_cast<void>(found);
  static_cast<void>(stored.filter.fill());
  static_cast<void>(stored.filter.estimated_keys());
  memory_sink sink;
  require(save_to(stored.filter, stored.hash, byte_sink(sink)).has_value());
  const auto again = load_bytes<K>(sink.bytes());
  require(again.has_value());
  require(again->filter == stored.filter);
  require(again->hash == stored.hash);
}

void load_as_every_kind(std::span<const std::byte> file) {
  const auto header = read_header_bytes(file);
  for_each_type(kind_list{}, [&](auto tag) {
    using kind = typename decltype(tag)::type;
    const auto stored = load_bytes<kind>(file, {.memory = &limited, .max_bytes = max_bytes});
    if (!stored) {
      static_cast<void>(describe(stored.error()));
      return;
    }
    require(header.has_value() && header->kind_id == kind::info.id);
    use(*stored);
  });
}

// A copy whose checksums fit its bytes, as far as it has the shape of a file; empty when it has not.
std::vector<std::byte> sealed(std::span<const std::byte> file) {
  if (file.size() < small_header_bytes) return {};
  std::vector<std::byte> copy(file.begin(), file.end());
  file_header sizes;
  sizes.stored_bytes = load_le<std::uint64_t>(copy.data() + 72);
  if (sizes.stored_bytes > copy.size() || copy.size() < sizes.payload_offset()) return {};
  copy.resize(sizes.file_bytes());
  const std::uint64_t header_end = sizes.payload_offset() - checksum_bytes;
  store_le(copy.data() + header_end, xxh3{}(copy.data(), header_end));
  const auto stored = std::span(copy).subspan(sizes.payload_offset(), sizes.stored_bytes);
  for (std::uint64_t i = 0; i < sizes.chunks(); ++i) {
    store_le(copy.data() + sizes.checksums_offset() + i * checksum_bytes, chunk_checksum(i, chunk_at(stored, i)));
  }
  return copy;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const bool enabled = (enable_codecs(), enable_bitmap(), true);
  static_cast<void>(enabled);
  const auto file = std::as_bytes(std::span(data, size));
  load_as_every_kind(file);
  if (is_text_form(file)) {
    const auto native = detail::unpack_text(file, {.max_bytes = max_bytes});
    if (native) load_as_every_kind(sealed(native->bytes()));
  } else {
    load_as_every_kind(sealed(file));
  }
  return 0;
}

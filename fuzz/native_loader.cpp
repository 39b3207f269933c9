// native_loader.cpp: a fuzz target for everything that reads a native file.
//
// Each input is loaded twice: as it is, and with the checksums of header and chunks made right, so that the fuzzer gets past them.
// Whatever loads must then behave: answer, be saved, and load again as the same filter.
#include <array>
#include <bloomery/any_filter.hpp>
#include <bloomery/core/bytes.hpp>
#include <bloomery/kinds/bitmap.hpp>
#include <bloomery/native/codec.hpp>
#include <bloomery/native/text.hpp>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <vector>

#include "target.hpp"

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

void use(const any_filter& filter) {
  std::array<std::uint64_t, 16> digests{};
  std::array<digest128, 16> wide{};
  for (std::uint64_t i = 0; i < digests.size(); ++i) {
    digests[i] = mix64(i);
    wide[i] = {mix64(i), mix64(i + 16)};
  }
  std::array<std::uint64_t, 1> mask{};
  // The hash may be a keyed one, so digests stand for keys.
  const key_batch keys = filter.digest_bits() == 128 ? as_prehashed(wide) : as_prehashed(digests);
  require(filter.may_contain(keys, mask).has_value());
  require(filter.stats().has_value());
  memory_sink sink;
  require(filter.save_to(byte_sink(sink)).has_value());
  const auto again = any_filter::load_bytes(sink.bytes());
  require(again.has_value());
  require(*again == filter);
}

void load(std::span<const std::byte> file) {
  const auto header = read_header_bytes(file);
  const auto loaded = any_filter::load_bytes(file, {.memory = &limited, .max_bytes = max_bytes});
  if (!loaded) {
    static_cast<void>(describe(loaded.error()));
    return;
  }
  require(header.has_value() && header->kind_id == loaded->info().id);
  use(*loaded);
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

int run_input(const std::uint8_t* data, std::size_t size) {
  static const bool enabled = (enable_codecs(), enable_bitmap(), true);
  static_cast<void>(enabled);
  const auto file = std::as_bytes(std::span(data, size));
  load(file);
  if (is_text_form(file)) {
    const auto text = find_text(file);
    if (!text) return 0;
    if (const auto native = detail::unpack_text(*text, {.max_bytes = max_bytes})) load(sealed(native->bytes()));
  } else {
    load(sealed(file));
  }
  return 0;
}

}  // namespace

BLOOMERY_FUZZ_TARGET(run_input)

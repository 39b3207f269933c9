// fuzz/format_run.hpp: what the fuzz targets of formats do with an input; see format.hpp. It is opened as a file of one format, and as
// whatever its content is detected as. What opens must behave: be queried, counted, filled, saved, and open again as the same filter.
#pragma once

#include <algorithm>
#include <array>
#include <bloomery/formats.hpp>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string_view>

namespace bloomery::fuzzing {

// What is packed is unpacked up to max_bytes, and DUMP packs a sub-filter to an 88th at most. So a request for more than
// requested_bytes while a file is opened, queried, copied or saved shows that a size was believed. A filter that is filled may grow by
// any factor that its file names: then memory beyond that is refused, as a system would.
inline constexpr std::uint64_t max_bytes = std::uint64_t{1} << 20U;
inline std::uint64_t requested_bytes = max_bytes;
inline bool may_grow = false;

inline void require(bool condition) {
  if (!condition) std::abort();
}
inline void* limited_allocate(void* /*context*/, std::size_t size, std::size_t alignment) {
  require(may_grow || size <= requested_bytes);
  return size <= requested_bytes ? default_memory().allocate(nullptr, size, alignment) : nullptr;
}
inline void limited_release(void* /*context*/, void* memory, std::size_t size, std::size_t alignment) {
  default_memory().release(nullptr, memory, size, alignment);
}
inline constexpr memory_hooks limited{.allocate = limited_allocate, .release = limited_release};

inline result<formats::opened> open(std::span<const std::byte> file, std::string_view from) {
  requested_bytes = std::max<std::uint64_t>(requested_bytes, 2 * max_bytes + 100 * file.size());
  auto buffer = aligned_buffer::make(file.size(), "a copy", &limited);
  require(buffer.has_value());
  if (!file.empty()) std::memcpy(buffer->data(), file.data(), file.size());
  return formats::open_bytes({std::move(*buffer), file.size()},
                             {.from = from, .load = {.memory = &limited, .max_bytes = max_bytes}});
}

inline constexpr std::array<std::string_view, 6> keys = {"",
                                                         "a",
                                                         "key",
                                                         "another key",
                                                         "a key of more than sixteen bytes",
                                                         "and one that is longer than any block of any hash is"};

inline std::uint64_t answers(const any_filter& filter) {
  std::array<std::uint64_t, 1> mask{};
  require(filter.may_contain(keys, mask).has_value());
  return mask[0];
}

inline void use(formats::opened& opened) {
  any_filter& filter = opened.filter;
  const formats::format& format = *opened.form;
  const std::uint64_t before = answers(filter);
  const auto stats = filter.stats();
  require(stats.has_value() && stats->fill >= 0.0 && stats->fill <= 1.0);
  static_cast<void>(filter.facts());
  if (format.writes) {
    memory_sink sink;
    const auto saved = formats::save_to(filter, format, byte_sink(sink), {}, opened.written);
    // A format that is only read reports it.
    require(saved.has_value() || saved.error().code == errc::unsupported);
    if (saved) {
      const auto again = open(sink.bytes(), format.name);
      require(again.has_value() && again->filter == filter && answers(again->filter) == before);
    }
  }
  auto copy = filter.clone();
  require(copy.has_value() && *copy == filter);
  // What cannot be changed reports it; what can finds every key afterwards.
  may_grow = true;
  if (copy->add(keys)) {
    require(answers(*copy) == (std::uint64_t{1} << keys.size()) - 1);
    if (copy->merge(filter)) require((answers(*copy) & before) == before);
  }
  may_grow = false;
}

inline int run_format(std::string_view name, const std::uint8_t* data, std::size_t size) {
  const auto file = std::as_bytes(std::span(data, size));
  requested_bytes = max_bytes;
  auto as_this = open(file, name);
  if (as_this) {
    use(*as_this);
  } else {
    require(describe(as_this.error()).length != 0);
  }
  auto by_content = open(file, {});
  if (by_content && !by_content->form->is_native()) use(*by_content);
  return 0;
}

}  // namespace bloomery::fuzzing

// Files of other products: opened from bytes, queried with keys, and damage that must do no harm.
#pragma once

#include <gtest/gtest.h>

#include <bloomery/formats.hpp>
#include <bloomery/hash/hasher.hpp>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "support/golden.hpp"
#include "support/memory.hpp"

namespace bloomery::test {

inline file_bytes bytes_of(std::string_view text) {
  auto buffer = aligned_buffer::make(text.size(), "a test");
  EXPECT_TRUE(buffer);
  if (!text.empty()) std::memcpy(buffer->data(), text.data(), text.size());
  return {std::move(*buffer), text.size()};
}

inline result<formats::opened> open_text(std::string_view text, const formats::open_options& how = {}) {
  return formats::open_bytes(bytes_of(text), how);
}

inline std::string text_of(const any_filter& filter, const formats::format& format, const save_options& how = {},
                           const formats::format_options& options = {}) {
  memory_sink sink;
  const auto saved = formats::save_to(filter, format, byte_sink(sink), how, options);
  EXPECT_TRUE(saved) << describe(saved.error()).view();
  return {reinterpret_cast<const char*>(sink.bytes().data()), sink.bytes().size()};
}

// Keys as views of strings.
inline std::vector<std::string_view> views_of(const std::vector<std::string>& keys) {
  return {keys.begin(), keys.end()};
}

inline std::uint64_t insert(any_filter& filter, const std::vector<std::string>& keys) {
  const auto inserted = filter.add(views_of(keys));
  EXPECT_TRUE(inserted) << describe(inserted.error()).view();
  return inserted.value_or(0);
}

inline std::vector<bool> query(const any_filter& filter, const std::vector<std::string>& keys) {
  std::vector<std::uint64_t> mask(mask_words(keys.size()) + 1);
  const auto done = filter.may_contain(views_of(keys), mask);
  EXPECT_TRUE(done) << describe(done.error()).view();
  std::vector<bool> answers(keys.size());
  for (std::size_t i = 0; i < keys.size(); ++i) answers[i] = (mask[i / 64] >> (i % 64) & 1U) != 0;
  return answers;
}

// Opens it as this format, or is refused; what opens is queried, counted, changed and saved.
inline bool survives(std::string_view text, std::string_view format) {
  auto opened = open_text(text, {.from = format, .in_memory = true});
  if (!opened) return false;
  const std::vector<std::string> keys = {"", "a", "some key", std::string(100, 'x')};
  const std::vector<bool> answers = query(opened->filter, keys);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const auto why = opened->filter.explain(keys[i]);
    EXPECT_TRUE(why && why->may_contain() == answers[i]);
  }
  static_cast<void>(opened->filter.stats());
  static_cast<void>(opened->filter.facts());
  const auto inserted = opened->filter.add(views_of(keys));
  if (inserted) {
    for (const bool present : query(opened->filter, keys)) EXPECT_TRUE(present);
  } else {
    const errc code = inserted.error().code;
    EXPECT_TRUE(code == errc::full || code == errc::unsupported) << describe(inserted.error()).view();
  }
  static_cast<void>(text_of(opened->filter, *opened->form));
  return true;
}

// Every truncation and every flipped byte of a file is an error, or a filter that is safe to query.
inline void expect_harmless_damage(const std::string& file, std::string_view format) {
  for (std::size_t size = 0; size < file.size(); ++size) {
    static_cast<void>(survives(std::string_view(file).substr(0, size), format));
  }
  for (std::size_t at = 0; at < file.size(); ++at) {
    for (const unsigned flip : {0x01U, 0x80U, 0xffU}) {
      std::string damaged = file;
      damaged[at] = static_cast<char>(static_cast<unsigned char>(damaged[at]) ^ flip);
      static_cast<void>(survives(damaged, format));
      static_cast<void>(open_text(damaged));  // detected by its content, it is anything or nothing
    }
  }
}

}  // namespace bloomery::test

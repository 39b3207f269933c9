// bloomery/leveldb/key_part.hpp: which part of a key a filter holds, and what that buys.
//
//     key_part()                     the whole key: every get of an absent key is refuted but for the FPR. The default
//     key_part::row(d)               what stands before the first byte d:  row
//     key_part::row_column(d)        what stands before the second one:    row d column
//     key_part::before(d, n)         what stands before the n-th byte d
//     key_part::prefix(n)            the first n bytes
//     key_part::custom(name, f)      any other
//
// What a part buys   LevelDB looks up filters in Get alone, never for an iterator. So a part refutes no scan of a row or
//               of a prefix; what it buys is memory. A filter has one entry for all neighbours with the same part: with 20
//               cells a row, 10 bits a row are half a bit a key. In return a get of an absent key is refuted only if no key
//               of its part is in the block: row refutes gets of rows that are not there, and no get of an absent column;
//               row_column refutes both, and holds all versions of a cell as one.
// Other parts   are another policy name: filters of databases with another part, or with LevelDB's own policy, are ignored
//               by LevelDB until their tables are compacted. Nothing is answered wrongly.
// Comparators   that take different bytes for equal need a part that is equal where the keys are.
#pragma once

#include <bloomery/compat/leveldb/builtin.hpp>
#include <string>
#include <string_view>

namespace bloomery::inline BLOOMERY_ABI::leveldb {

class key_part {
 public:
  // A part of its argument; depends on nothing but the bytes; any thread.
  using function = std::string_view (*)(std::string_view key);

  key_part() = default;
  // A key that is shorter is its own part.
  static key_part prefix(std::uint32_t size_bytes);
  // A key with fewer such bytes is its own part.
  static key_part before(char delimiter, std::uint32_t count);
  static key_part row(char delimiter = '\0') { return before(delimiter, 1); }
  static key_part row_column(char delimiter = '\0') { return before(delimiter, 2); }
  // The name becomes a part of the policy's, which tables store: another function needs another name.
  static key_part custom(std::string_view name, function extract);

  [[nodiscard]] std::string_view extract(std::string_view key) const noexcept;
  [[nodiscard]] bool is_whole() const noexcept { return type_ == type::whole; }
  // Of a policy with this part; the whole key has that of LevelDB's own policy.
  [[nodiscard]] const std::string& policy_name() const noexcept { return policy_name_; }

 private:
  enum class type : std::uint8_t { whole, prefix, before, custom };

  type type_ = type::whole;
  char delimiter_ = 0;
  std::uint32_t count_ = 0;
  function custom_ = nullptr;
  std::string policy_name_{builtin_policy_name};
};

}  // namespace bloomery::inline BLOOMERY_ABI::leveldb

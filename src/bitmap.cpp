// The engine of kinds/bitmap.hpp: Roaring bitmaps, compiled, because it throws and catches inside.
//
// A set is a map from the high 32 bits of the keys to a part. A part is a list of containers, one for each value of the
// next 16 bits, in order and none of them empty. A container holds the low 16 bits of its keys in one of the three
// encodings of the portable format: an array of values, runs, or 65,536 bits.
//
// Every allocation is a std::vector or a std::map, so what is refused throws here, and each change makes all of its
// memory before it touches the set: after a refusal the set is as it was. (CRoaring, as Debian has it, continues
// without the memory.)
//
// What is loaded was validated first: every container's order, counts and bounds.
#include <algorithm>
#include <array>
#include <bit>
#include <bloomery/core/bytes.hpp>
#include <bloomery/kinds/bitmap.hpp>
#include <map>
#include <memory>
#include <new>
#include <span>
#include <vector>

namespace bloomery::inline BLOOMERY_ABI {
namespace {

constexpr std::uint32_t largest_array = 4096;
constexpr std::uint32_t bits_bytes = 8192;
constexpr std::uint32_t cookie_without_runs = 12346;
constexpr std::uint32_t cookie_with_runs = 12347;  // in the low half; the high half is containers - 1
constexpr std::size_t least_offsets = 4;           // with runs, fewer containers have no table of offsets

enum class form : std::uint8_t { array, runs, bits };
using bit_words = std::array<std::uint16_t, 4096>;

struct container {
  std::uint16_t high = 0;
  form as = form::array;
  std::uint32_t keys = 0;
  std::vector<std::uint16_t> words{};  // array: values; runs: start and length - 1 of each; bits: value i is bit i
};
using part = std::vector<container>;
using integer_set = std::map<std::uint32_t, part>;

integer_set& set_of(void* set) noexcept { return *static_cast<integer_set*>(set); }
const integer_set& set_of(const void* set) noexcept { return *static_cast<const integer_set*>(set); }
std::uint32_t high32(std::uint64_t key) noexcept { return static_cast<std::uint32_t>(key >> 32U); }
std::uint16_t middle16(std::uint64_t key) noexcept { return static_cast<std::uint16_t>(key >> 16U); }
std::uint16_t low16(std::uint64_t key) noexcept { return static_cast<std::uint16_t>(key); }

// Runs f, which may throw std::bad_alloc; `otherwise` is the answer then.
template <class T, class F>
T guarded(T otherwise, F&& f) noexcept {
  try {
    return f();
  } catch (...) {
    return otherwise;
  }
}

// ---- bits -----------------------------------------------------------------------------------------------------------

template <class Words>
bool has_bit(const Words& words, std::uint32_t value) noexcept {
  return (words[value / 16] >> (value % 16) & 1U) != 0;
}
template <class Words>
void set_bit(Words& words, std::uint32_t value) noexcept {
  words[value / 16] = static_cast<std::uint16_t>(words[value / 16] | 1U << (value % 16));
}
template <class Words>
std::uint32_t count_bits(const Words& words) noexcept {
  std::uint32_t count = 0;
  for (const std::uint16_t word : words) count += static_cast<std::uint32_t>(std::popcount(word));
  return count;
}
// A run begins with a bit whose lower neighbour is not set.
template <class Words>
std::uint32_t count_bit_runs(const Words& words) noexcept {
  std::uint32_t count = 0;
  unsigned before = 0;
  for (const unsigned word : words) {
    count += static_cast<std::uint32_t>(std::popcount(word & ~(word << 1U | before)));
    before = word >> 15U;
  }
  return count;
}
template <class Words, class F>
void each_bit(const Words& words, F&& f) {
  for (std::uint32_t i = 0; i < words.size(); ++i) {
    for (unsigned word = words[i]; word != 0; word &= word - 1) {
      f(i * 16 + static_cast<std::uint32_t>(std::countr_zero(word)));
    }
  }
}
// f(first, length) for each.
template <class Words, class F>
void each_bit_run(const Words& words, F&& f) {
  std::uint32_t first = 0;
  std::uint32_t length = 0;
  each_bit(words, [&](std::uint32_t value) {
    if (length != 0 && value == first + length) {
      ++length;
      return;
    }
    if (length != 0) f(first, length);
    first = value;
    length = 1;
  });
  if (length != 0) f(first, length);
}

// ---- containers -----------------------------------------------------------------------------------------------------

void expand(const container& from, bit_words& to) noexcept {
  if (from.as == form::bits) {
    std::copy(from.words.begin(), from.words.end(), to.begin());
    return;
  }
  to.fill(0);
  if (from.as == form::array) {
    for (const std::uint16_t value : from.words) set_bit(to, value);
    return;
  }
  for (std::size_t i = 0; i < from.words.size(); i += 2) {
    const std::uint32_t first = from.words[i];
    for (std::uint32_t value = first; value <= first + from.words[i + 1]; ++value) set_bit(to, value);
  }
}

std::uint32_t count_runs(const container& of) noexcept {
  if (of.as == form::runs) return static_cast<std::uint32_t>(of.words.size() / 2);
  if (of.as == form::bits) return count_bit_runs(of.words);
  std::uint32_t count = 0;
  std::uint32_t next = 0x10000;
  for (const std::uint32_t value : of.words) {
    count += value != next ? 1 : 0;
    next = value + 1;
  }
  return count;
}

std::uint32_t form_bytes(form as, std::uint32_t keys, std::uint32_t runs) noexcept {
  return as == form::array ? 2 * keys : as == form::runs ? 2 + 4 * runs : bits_bytes;
}
form form_without_runs(std::uint32_t keys) noexcept { return keys <= largest_array ? form::array : form::bits; }
// As the paper's authors choose: runs only where they are smaller, an array counting two bytes more than it takes.
form smallest_form(std::uint32_t keys, std::uint32_t runs) noexcept {
  const form plain = form_without_runs(keys);
  const std::uint32_t plain_bytes = form_bytes(plain, keys, runs) + (plain == form::array ? 2 : 0);
  return form_bytes(form::runs, keys, runs) < plain_bytes ? form::runs : plain;
}

// The same keys in another encoding.
container from_bits(std::uint16_t high, const bit_words& words, form as) {
  container out{.high = high, .as = as, .keys = count_bits(words)};
  if (as == form::bits) {
    out.words.assign(words.begin(), words.end());
  } else if (as == form::array) {
    out.words.reserve(out.keys);
    each_bit(words, [&](std::uint32_t value) { out.words.push_back(static_cast<std::uint16_t>(value)); });
  } else {
    out.words.reserve(std::size_t{2} * count_bit_runs(words));
    each_bit_run(words, [&](std::uint32_t first, std::uint32_t length) {
      out.words.push_back(static_cast<std::uint16_t>(first));
      out.words.push_back(static_cast<std::uint16_t>(length - 1));
    });
  }
  return out;
}
container in_form(const container& from, form as) {
  bit_words words;
  expand(from, words);
  return from_bits(from.high, words, as);
}

// The last run that does not begin after the value; the number of runs when there is none.
std::size_t find_run(const container& in, std::uint32_t value) noexcept {
  std::size_t first = 0;
  std::size_t end = in.words.size() / 2;
  while (first < end) {
    const std::size_t middle = (first + end) / 2;
    if (in.words[2 * middle] <= value) {
      first = middle + 1;
    } else {
      end = middle;
    }
  }
  return first == 0 ? in.words.size() / 2 : first - 1;
}

bool has_value(const container& in, std::uint16_t value) noexcept {
  if (in.as == form::bits) return has_bit(in.words, value);
  if (in.as == form::array) return std::binary_search(in.words.begin(), in.words.end(), value);
  const std::size_t run = find_run(in, value);
  return 2 * run < in.words.size() && std::uint32_t{in.words[2 * run]} + in.words[2 * run + 1] >= value;
}

// Whether it was new.
bool add_value(container& to, std::uint16_t value) {
  if (to.as == form::runs) {
    if (has_value(to, value)) return false;
    to = in_form(to, form_without_runs(to.keys));
  }
  if (to.as == form::array) {
    const bool is_last = to.words.empty() || to.words.back() < value;
    const auto at = is_last ? to.words.end() : std::lower_bound(to.words.begin(), to.words.end(), value);
    if (at != to.words.end() && *at == value) return false;
    if (to.keys < largest_array) {
      to.words.insert(at, value);
      ++to.keys;
      return true;
    }
    to = in_form(to, form::bits);
  }
  if (has_bit(to.words, value)) return false;
  set_bit(to.words, value);
  ++to.keys;
  return true;
}

// Whether it was there.
bool remove_value(container& from, std::uint16_t value) {
  if (!has_value(from, value)) return false;
  if (from.as == form::runs) from = in_form(from, form_without_runs(from.keys));
  if (from.as == form::array) {
    from.words.erase(std::lower_bound(from.words.begin(), from.words.end(), value));
    --from.keys;
    return true;
  }
  from.words[value / 16] = static_cast<std::uint16_t>(from.words[value / 16] & ~(1U << (value % 16)));
  --from.keys;
  // Bits of few keys are large, not wrong.
  if (from.keys == largest_array) {
    guarded(false, [&] {
      from = in_form(from, form::array);
      return true;
    });
  }
  return true;
}

// Apart, so that only one of the two is in a frame of the stack.
template <class Join>
__attribute__((noinline)) void join(bit_words& words, const container& other, Join&& one) {
  bit_words more;
  expand(other, more);
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = static_cast<std::uint16_t>(one(words[i], more[i]));
}

void unite_containers(container& to, const container& other) {
  if (to.as == form::array && other.as == form::array && to.keys + other.keys <= largest_array) {
    std::vector<std::uint16_t> both(to.words.size() + other.words.size());
    both.erase(std::set_union(to.words.begin(), to.words.end(), other.words.begin(), other.words.end(), both.begin()),
               both.end());
    to.words = std::move(both);
    to.keys = static_cast<std::uint32_t>(to.words.size());
    return;
  }
  bit_words words;
  expand(to, words);
  join(words, other, [](unsigned a, unsigned b) { return a | b; });
  const std::uint32_t keys = count_bits(words);
  const bool with_runs = to.as == form::runs || other.as == form::runs;
  to = from_bits(to.high, words, with_runs ? smallest_form(keys, count_bit_runs(words)) : form_without_runs(keys));
}

void intersect_containers(container& to, const container& other) {
  if (to.as == form::array) {
    to.words.erase(
        std::remove_if(to.words.begin(), to.words.end(), [&](std::uint16_t value) { return !has_value(other, value); }),
        to.words.end());
    to.keys = static_cast<std::uint32_t>(to.words.size());
    return;
  }
  bit_words words;
  expand(to, words);
  join(words, other, [](unsigned a, unsigned b) { return a & b; });
  const std::uint32_t keys = count_bits(words);
  to = from_bits(to.high, words,
                 to.as == form::runs ? smallest_form(keys, count_bit_runs(words)) : form_without_runs(keys));
}

bool same_keys(const container& a, const container& b) noexcept {
  if (a.high != b.high || a.keys != b.keys) return false;
  if (a.as == b.as) return a.words == b.words;
  bit_words words;
  expand(a, words);
  join(words, b, [](unsigned one, unsigned other) { return one ^ other; });
  return std::all_of(words.begin(), words.end(), [](std::uint16_t word) { return word == 0; });
}

std::uint16_t smallest_value(const container& of) noexcept {
  if (of.as != form::bits) return of.words.front();
  std::uint32_t i = 0;
  while (of.words[i] == 0) ++i;
  return static_cast<std::uint16_t>(i * 16 + static_cast<std::uint32_t>(std::countr_zero(of.words[i])));
}
std::uint16_t largest_value(const container& of) noexcept {
  if (of.as == form::array) return of.words.back();
  if (of.as == form::runs) return static_cast<std::uint16_t>(of.words[of.words.size() - 2] + of.words.back());
  std::uint32_t i = 4095;
  while (of.words[i] == 0) --i;
  return static_cast<std::uint16_t>(i * 16 + 15 - static_cast<std::uint32_t>(std::countl_zero(of.words[i])));
}

// ---- sets -----------------------------------------------------------------------------------------------------------

template <class Part>
auto find_container(Part& in, std::uint16_t high) noexcept {
  if (in.empty() || in.back().high < high) return in.end();
  return std::lower_bound(in.begin(), in.end(), high,
                          [](const container& each, std::uint16_t wanted) { return each.high < wanted; });
}

void* create() noexcept { return new (std::nothrow) integer_set; }
void destroy(void* set) noexcept { delete &set_of(set); }
void* clone(const void* set) noexcept {
  return guarded<void*>(nullptr, [&] { return new integer_set(set_of(set)); });
}

// A part that is there, or a new one, which goes again when nothing could be put into it: no part is empty.
class open_part {
 public:
  open_part(integer_set& set, std::uint32_t key) : set_(set), found_(set.try_emplace(key).first) {}
  open_part(const open_part&) = delete;
  open_part& operator=(const open_part&) = delete;
  ~open_part() {
    if (found_->second.empty()) set_.erase(found_);
  }
  [[nodiscard]] part& get() const { return found_->second; }

 private:
  integer_set& set_;
  integer_set::iterator found_;
};

insert_result insert(void* set, std::uint64_t key) noexcept {
  return guarded(insert_result::full, [&] {
    const open_part opened(set_of(set), high32(key));
    part& to = opened.get();
    const auto at = find_container(to, middle16(key));
    if (at != to.end() && at->high == middle16(key)) {
      return add_value(*at, low16(key)) ? insert_result::inserted : insert_result::present;
    }
    to.insert(at, container{.high = middle16(key), .keys = 1, .words = {low16(key)}});
    return insert_result::inserted;
  });
}

bitmap_engine::erased erase(void* set, std::uint64_t key) noexcept {
  using erased = bitmap_engine::erased;
  return guarded(erased::refused, [&] {
    const auto found = set_of(set).find(high32(key));
    if (found == set_of(set).end()) return erased::absent;
    const auto at = find_container(found->second, middle16(key));
    if (at == found->second.end() || at->high != middle16(key)) return erased::absent;
    if (!remove_value(*at, low16(key))) return erased::absent;
    if (at->keys == 0) found->second.erase(at);
    if (found->second.empty()) set_of(set).erase(found);
    return erased::erased;
  });
}

bool contains(const void* set, std::uint64_t key) noexcept {
  const auto found = set_of(set).find(high32(key));
  if (found == set_of(set).end()) return false;
  const auto at = find_container(found->second, middle16(key));
  return at != found->second.end() && at->high == middle16(key) && has_value(*at, low16(key));
}

void clear(void* set) noexcept { set_of(set).clear(); }

// A container that takes the place of one, or is new in its part.
struct change {
  part* in;
  std::size_t at;  // in->size() or more: new
  container to;
};

// What a union changes in a part, which gets the space for it.
void plan_union(part& to, const part& other, std::vector<change>& changes) {
  std::size_t at = 0;
  std::size_t added = 0;
  for (const container& each : other) {
    while (at < to.size() && to[at].high < each.high) ++at;
    if (at < to.size() && to[at].high == each.high) {
      changes.push_back({&to, at, to[at]});
      unite_containers(changes.back().to, each);
    } else {
      changes.push_back({&to, to.size() + added++, each});
    }
  }
  to.reserve(to.size() + added);
}
// Nothing here requests memory.
void commit(std::vector<change>& changes) noexcept {
  for (std::size_t i = 0; i < changes.size(); ++i) {
    part& in = *changes[i].in;
    if (changes[i].at < in.size()) {
      in[changes[i].at] = std::move(changes[i].to);
    } else {
      in.push_back(std::move(changes[i].to));
    }
    if (i + 1 < changes.size() && changes[i + 1].in == &in) continue;
    std::sort(in.begin(), in.end(), [](const container& a, const container& b) { return a.high < b.high; });
  }
}

bool unite(void* set, const void* other) noexcept {
  return guarded(false, [&] {
    std::vector<change> changes;
    integer_set added;
    for (const auto& [key, theirs] : set_of(other)) {
      const auto mine = set_of(set).find(key);
      if (mine != set_of(set).end()) {
        plan_union(mine->second, theirs, changes);
      } else {
        added.emplace_hint(added.end(), key, theirs);
      }
    }
    commit(changes);
    set_of(set).merge(added);
    return true;
  });
}

void drop_empty(integer_set& set) noexcept {
  for (auto each = set.begin(); each != set.end();) {
    part& of = each->second;
    of.erase(std::remove_if(of.begin(), of.end(), [](const container& in) { return in.keys == 0; }), of.end());
    each = of.empty() ? set.erase(each) : std::next(each);
  }
}

// Arrays are cut where they are, when all other containers have been made.
bool intersect(void* set, const void* other) noexcept {
  return guarded(false, [&] {
    const auto for_each_pair = [&](auto&& f) {
      for (auto& [key, mine] : set_of(set)) {
        const auto theirs = set_of(other).find(key);
        for (std::size_t i = 0; i < mine.size(); ++i) {
          const container* match = nullptr;
          if (theirs != set_of(other).end()) {
            const auto found = find_container(theirs->second, mine[i].high);
            if (found != theirs->second.end() && found->high == mine[i].high) match = &*found;
          }
          f(mine, i, match);
        }
      }
    };
    std::vector<change> changes;
    for_each_pair([&](part& in, std::size_t i, const container* match) {
      if (match == nullptr || in[i].as == form::array) return;
      changes.push_back({&in, i, in[i]});
      intersect_containers(changes.back().to, *match);
    });
    for_each_pair([&](part& in, std::size_t i, const container* match) {
      if (match == nullptr) {
        in[i].keys = 0;
      } else if (in[i].as == form::array) {
        intersect_containers(in[i], *match);
      }
    });
    commit(changes);
    drop_empty(set_of(set));
    return true;
  });
}

bool equal(const void* a, const void* b) noexcept {
  return std::equal(
      set_of(a).begin(), set_of(a).end(), set_of(b).begin(), set_of(b).end(), [](const auto& one, const auto& other) {
        return one.first == other.first &&
               std::equal(one.second.begin(), one.second.end(), other.second.begin(), other.second.end(), same_keys);
      });
}

std::uint64_t cardinality(const void* set) noexcept {
  std::uint64_t count = 0;
  for (const auto& [key, of] : set_of(set)) {
    for (const container& each : of) count += each.keys;
  }
  return count;
}

std::uint64_t range(const void* set) noexcept {
  if (set_of(set).empty()) return 0;
  const auto join = [](std::uint32_t high, const container& in, std::uint16_t value) {
    return std::uint64_t{high} << 32U | std::uint64_t{in.high} << 16U | value;
  };
  const auto& [first_key, first] = *set_of(set).begin();
  const auto& [last_key, last] = *set_of(set).rbegin();
  return join(last_key, last.back(), largest_value(last.back())) -
         join(first_key, first.front(), smallest_value(first.front()));
}

// ---- the portable encoding ------------------------------------------------------------------------------------------

form smallest_form(const container& of) noexcept { return smallest_form(of.keys, count_runs(of)); }

// The encoding in which a container is written: its smallest one, or the one it has.
template <class Choose>
std::uint64_t part_bytes(const part& of, Choose&& choose) noexcept {
  std::uint64_t bytes = 0;
  bool with_runs = false;
  for (const container& each : of) {
    const form as = choose(each);
    with_runs |= as == form::runs;
    bytes += 4 + form_bytes(as, each.keys, as == form::runs ? count_runs(each) : 0);
  }
  bytes += with_runs ? 4 + (of.size() + 7) / 8 : 8;
  if (!with_runs || of.size() >= least_offsets) bytes += 4 * of.size();
  return bytes;
}

std::uint64_t memory_bytes(const void* set) noexcept {
  constexpr std::uint64_t node_bytes = 80;  // of the tree, with the part's own list
  std::uint64_t bytes = sizeof(integer_set);
  for (const auto& [key, of] : set_of(set)) {
    bytes += node_bytes + part_bytes(of, [](const container& each) { return each.as; });
  }
  return bytes;
}

// u64 number of parts, then each part: u32 high bits, the portable 32-bit encoding.
std::uint64_t serialized_bytes(const void* set) noexcept {
  std::uint64_t bytes = 8;
  for (const auto& [key, of] : set_of(set)) {
    bytes += 4 + part_bytes(of, [](const container& each) { return smallest_form(each); });
  }
  return bytes;
}

template <std::unsigned_integral T>
void put(piece_writer& out, T value) noexcept {
  store_le(out.take(sizeof value), value);
}

void put_container(piece_writer& out, const container& from, form as) noexcept {
  if (as == form::runs) put(out, static_cast<std::uint16_t>(count_runs(from)));
  if (as == from.as) {
    for (const std::uint16_t word : from.words) put(out, word);
    return;
  }
  bit_words words;
  expand(from, words);
  if (as == form::bits) {
    for (const std::uint16_t word : words) put(out, word);
  } else if (as == form::array) {
    each_bit(words, [&](std::uint32_t value) { put(out, static_cast<std::uint16_t>(value)); });
  } else {
    each_bit_run(words, [&](std::uint32_t first, std::uint32_t length) {
      put(out, static_cast<std::uint16_t>(first));
      put(out, static_cast<std::uint16_t>(length - 1));
    });
  }
}

void put_part(piece_writer& out, const part& from) noexcept {
  const bool with_runs =
      std::any_of(from.begin(), from.end(), [](const container& each) { return smallest_form(each) == form::runs; });
  const auto containers = static_cast<std::uint32_t>(from.size());
  std::size_t offset = 4 + 4 * from.size();  // of the next container in the part
  if (with_runs) {
    put(out, cookie_with_runs | (containers - 1) << 16U);
    for (std::size_t i = 0; i < from.size(); i += 8) {
      unsigned flags = 0;
      for (std::size_t j = i; j < from.size() && j < i + 8; ++j) {
        flags |= (smallest_form(from[j]) == form::runs ? 1U : 0U) << (j - i);
      }
      put(out, static_cast<std::uint8_t>(flags));
    }
    offset += (from.size() + 7) / 8;
  } else {
    put(out, cookie_without_runs);
    put(out, containers);
    offset += 4;
  }
  for (const container& each : from) {
    put(out, each.high);
    put(out, static_cast<std::uint16_t>(each.keys - 1));
  }
  if (!with_runs || from.size() >= least_offsets) {
    offset += 4 * from.size();
    for (const container& each : from) {
      put(out, static_cast<std::uint32_t>(offset));
      const std::uint32_t runs = count_runs(each);
      offset += form_bytes(smallest_form(each.keys, runs), each.keys, runs);
    }
  }
  for (const container& each : from) put_container(out, each, smallest_form(each));
}

result<void> serialize(const void* set, const byte_sink& sink) noexcept {
  piece_writer out(sink);
  put(out, std::uint64_t{set_of(set).size()});
  for (const auto& [key, from] : set_of(set)) {
    put(out, key);
    put_part(out, from);
  }
  return out.flush();
}

// What is read is checked before it is believed: numbers against the bytes that are left, and each container's values.
class set_reader {
 public:
  explicit set_reader(const byte_feed& from) noexcept : from_(from), size_(from.left_bytes()) {}

  // Reading is over when one of these fails: the source's error, or what is wrong with the bytes.
  [[nodiscard]] const result<void>& done() const noexcept { return done_; }
  [[nodiscard]] bool fill(std::span<std::byte> out) noexcept {
    if (out.size() > from_.left_bytes()) return damaged();
    if (done_) done_ = from_.read(out);
    return done_.has_value();
  }
  template <std::unsigned_integral T>
  T number() noexcept {
    std::array<std::byte, sizeof(T)> bytes{};
    return fill(bytes) ? load_le<T>(bytes.data()) : T{0};
  }
  // Nothing is requested that is not there.
  bool words(std::vector<std::uint16_t>& out, std::size_t count) {
    if (count > from_.left_bytes() / 2) return damaged();
    out.resize(count);
    if (!fill(std::as_writable_bytes(std::span(out)))) return false;
    for (std::uint16_t& word : out) word = little_endian(word);
    return true;
  }
  bool damaged(std::string_view why = "a part of the bitmap is damaged") noexcept {
    if (done_) done_ = fail(errc::codec_failed, why);
    return false;
  }
  [[nodiscard]] std::uint64_t left_bytes() const noexcept { return from_.left_bytes(); }
  [[nodiscard]] std::uint64_t position() const noexcept { return size_ - from_.left_bytes(); }

 private:
  const byte_feed& from_;
  std::uint64_t size_;
  result<void> done_{};
};

// Whether the values are in order and as many as stated, with a gap between runs.
bool is_sound(const container& of) noexcept {
  if (of.as == form::bits) return count_bits(of.words) == of.keys;
  std::uint32_t next = 0;
  if (of.as == form::array) {
    for (const std::uint32_t value : of.words) {
      if (value < next) return false;
      next = value + 1;
    }
    return true;
  }
  std::uint32_t counted = 0;
  for (std::size_t i = 0; i < of.words.size(); i += 2) {
    const std::uint32_t start = of.words[i];
    const std::uint32_t length = of.words[i + 1] + 1U;
    if (start < next || start + length > 65536) return false;
    next = start + length + 1;
    counted += length;
  }
  return !of.words.empty() && counted == of.keys;
}

// One 32-bit bitmap in the portable encoding. Beside its containers that takes up to 520 KiB, for its tables.
bool read_part(set_reader& from, part& to) {
  const std::uint64_t start = from.position();
  const auto cookie = from.number<std::uint32_t>();
  const bool with_runs = (cookie & 0xffffU) == cookie_with_runs;
  if (!with_runs && cookie != cookie_without_runs) return from.damaged();
  const std::uint32_t containers = with_runs ? (cookie >> 16U) + 1 : from.number<std::uint32_t>();
  if (containers == 0 || containers > 65536 || containers > from.left_bytes() / 4) return from.damaged();
  std::vector<std::byte> run_flags(with_runs ? (containers + 7) / 8 : 0);
  std::vector<std::uint16_t> heads;
  std::vector<std::uint16_t> offsets;
  const bool with_offsets = !with_runs || containers >= least_offsets;
  if (!from.fill(run_flags) || !from.words(heads, std::size_t{containers} * 2)) return false;
  if (with_offsets && !from.words(offsets, std::size_t{containers} * 2)) return false;
  std::uint32_t next_key = 0;
  for (std::uint32_t i = 0; i < containers; ++i) {
    container each{.high = heads[2 * std::size_t{i}], .keys = heads[2 * std::size_t{i} + 1] + 1U};
    if (each.high < next_key) return from.damaged();
    next_key = each.high + 1U;
    const std::uint64_t offset = from.position() - start;
    if (with_offsets &&
        (offsets[2 * std::size_t{i}] | std::uint32_t{offsets[2 * std::size_t{i} + 1]} << 16U) != offset) {
      return from.damaged();
    }
    const bool is_run = with_runs && (std::to_integer<unsigned>(run_flags[i / 8]) >> (i % 8) & 1U) != 0;
    each.as = is_run ? form::runs : form_without_runs(each.keys);
    const std::size_t words = each.as == form::runs    ? 2 * std::size_t{from.number<std::uint16_t>()}
                              : each.as == form::array ? each.keys
                                                       : bits_bytes / 2;
    if (!from.words(each.words, words)) return false;
    if (!is_sound(each)) return from.damaged();
    to.push_back(std::move(each));
  }
  return true;
}

result<void*> deserialize(const byte_feed& bytes) noexcept {
  const failure no_memory = fail(errc::out_of_memory, "the bitmap", {bytes.left_bytes()});
  return guarded<result<void*>>(no_memory, [&]() -> result<void*> {
    set_reader from(bytes);
    const auto parts = from.number<std::uint64_t>();
    if (!from.done() || parts > from.left_bytes() / 8 + 1) {
      from.damaged("the bitmap's number of parts does not fit its size");
      return fail(from.done().error());
    }
    auto set = std::make_unique<integer_set>();
    for (std::uint64_t i = 0; i < parts; ++i) {
      const auto key = from.number<std::uint32_t>();
      part next;
      if (!set->empty() && set->rbegin()->first >= key) from.damaged();
      if (!from.done() || !read_part(from, next)) return fail(from.done().error());
      set->emplace_hint(set->end(), key, std::move(next));
    }
    if (from.left_bytes() != 0) return fail(errc::codec_failed, "the bitmap is followed by other bytes");
    return set.release();
  });
}

constexpr bitmap_engine engine = {.create = create,
                                  .destroy = destroy,
                                  .clone = clone,
                                  .insert = insert,
                                  .erase = erase,
                                  .contains = contains,
                                  .clear = clear,
                                  .unite = unite,
                                  .intersect = intersect,
                                  .equal = equal,
                                  .cardinality = cardinality,
                                  .range = range,
                                  .memory_bytes = memory_bytes,
                                  .serialized_bytes = serialized_bytes,
                                  .serialize = serialize,
                                  .deserialize = deserialize};

}  // namespace

void enable_bitmap() noexcept { detail::bitmap_engine_slot().store(&engine, std::memory_order_release); }

}  // namespace bloomery::inline BLOOMERY_ABI

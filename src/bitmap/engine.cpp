// The table of functions by which kinds/bitmap.hpp reaches sets of integers (src/bitmap/containers.hpp).
#include <algorithm>
#include <bloomery/kinds/bitmap.hpp>
#include <iterator>
#include <new>
#include <utility>
#include <vector>

#include "src/bitmap/containers.hpp"
#include "src/bitmap/serialized.hpp"

namespace bloomery::inline BLOOMERY_ABI {
namespace {

using namespace bitmap_engine_parts;

integer_set& set_of(void* set) noexcept { return *static_cast<integer_set*>(set); }
const integer_set& set_of(const void* set) noexcept { return *static_cast<const integer_set*>(set); }
std::uint32_t high32(std::uint64_t key) noexcept { return static_cast<std::uint32_t>(key >> 32U); }
std::uint16_t middle16(std::uint64_t key) noexcept { return static_cast<std::uint16_t>(key >> 16U); }
std::uint16_t low16(std::uint64_t key) noexcept { return static_cast<std::uint16_t>(key); }

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
      if (match == nullptr || in[i].as == encoding::array) return;
      changes.push_back({&in, i, in[i]});
      intersect_containers(changes.back().to, *match);
    });
    for_each_pair([&](part& in, std::size_t i, const container* match) {
      if (match == nullptr) {
        in[i].keys = 0;
      } else if (in[i].as == encoding::array) {
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

std::uint64_t memory_bytes_of(const void* set) noexcept { return memory_bytes(set_of(set)); }
std::uint64_t serialized_bytes_of(const void* set) noexcept { return serialized_bytes(set_of(set)); }
result<void> write(const void* set, const byte_sink& sink) noexcept { return serialize(set_of(set), sink); }
result<void*> read(const byte_feed& bytes) noexcept {
  const auto set = deserialize(bytes);
  if (!set) return fail(set.error());
  return *set;
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
                                  .memory_bytes = memory_bytes_of,
                                  .serialized_bytes = serialized_bytes_of,
                                  .serialize = write,
                                  .deserialize = read};

}  // namespace

void enable_bitmap() noexcept { detail::bitmap_engine_slot().store(&engine, std::memory_order_release); }

}  // namespace bloomery::inline BLOOMERY_ABI

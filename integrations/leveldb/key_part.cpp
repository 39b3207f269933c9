#include <algorithm>
#include <bloomery/leveldb/key_part.hpp>

namespace bloomery::inline BLOOMERY_ABI::leveldb {

key_part key_part::prefix(std::uint32_t size_bytes) {
  key_part made;
  made.type_ = type::prefix;
  made.count_ = size_bytes;
  made.policy_name_ = "bloomery.leveldb.prefix." + std::to_string(size_bytes);
  return made;
}

key_part key_part::before(char delimiter, std::uint32_t count) {
  key_part made;
  made.type_ = type::before;
  made.delimiter_ = delimiter;
  made.count_ = std::max(count, 1U);
  made.policy_name_ = "bloomery.leveldb.before." + std::to_string(static_cast<unsigned char>(delimiter)) + "." +
                      std::to_string(made.count_);
  return made;
}

key_part key_part::custom(std::string_view name, function extract) {
  key_part made;
  made.type_ = type::custom;
  made.custom_ = extract;
  made.policy_name_ = "bloomery.leveldb.custom." + std::string(name);
  return made;
}

std::string_view key_part::extract(std::string_view key) const noexcept {
  switch (type_) {
    case type::whole:
      return key;
    case type::prefix:
      return key.substr(0, count_);
    case type::before: {
      std::size_t end = key.find(delimiter_);
      for (std::uint32_t i = 1; i < count_ && end != std::string_view::npos; ++i) end = key.find(delimiter_, end + 1);
      return key.substr(0, end);
    }
    case type::custom:
      return custom_(key);
  }
  return key;
}

}  // namespace bloomery::inline BLOOMERY_ABI::leveldb

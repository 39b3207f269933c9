#include <array>
#include <atomic>
#include <bloomery/native/codec.hpp>
#include <bloomery/native/rans.hpp>

namespace bloomery::inline BLOOMERY_ABI {

namespace detail {
inline constexpr codec own_codec{.id = codec_rans,
                                 .name = "rans",
                                 .max_expansion = rans::max_expansion,
                                 .bound = rans::bound,
                                 .compress = rans::compress,
                                 .decompress = rans::decompress,
                                 .unpack_first = rans::unpack_first};
inline constinit std::array<std::atomic<const codec*>, codec_names.size()> codec_table{nullptr, nullptr, nullptr,
                                                                                       &own_codec};

BLOOMERY_BODY std::atomic<const codec*>& codec_slot(std::uint32_t id) noexcept { return codec_table[id]; }

}  // namespace detail

BLOOMERY_BODY void register_codec(const codec& entry) noexcept {
  if (entry.id < detail::codec_table.size()) detail::codec_table[entry.id].store(&entry, std::memory_order_release);
}

BLOOMERY_BODY result<std::uint32_t> codec_id(std::string_view name) noexcept {
  for (std::uint32_t id = 0; id < detail::codec_names.size(); ++id) {
    if (detail::codec_names[id] == name) return id;
  }
  return fail(errc::unknown_codec, name);
}

BLOOMERY_BODY result<const codec*> find_codec(std::uint32_t id) noexcept {
  if (id == codec_none || id >= detail::codec_table.size()) {
    std::array<char, 16> text{};
    std::snprintf(text.data(), text.size(), "%u", static_cast<unsigned>(id));
    return fail(errc::unknown_codec, text.data());
  }
  const codec* found = detail::codec_table[id].load(std::memory_order_acquire);
  if (found == nullptr) return fail(errc::not_linked, codec_name(id));
  return found;
}

BLOOMERY_BODY result<const codec*> find_codec(std::string_view name) noexcept {
  const auto id = codec_id(name);
  if (!id) return fail(id.error());
  return find_codec(*id);
}

}  // namespace bloomery::inline BLOOMERY_ABI

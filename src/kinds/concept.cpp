#include <bloomery/kinds/concept.hpp>

namespace bloomery::inline BLOOMERY_ABI {

BLOOMERY_BODY result<void> check_hash_bits(const hash_info& hash, std::uint64_t keys, double fpr,
                                           unsigned digest_bits) noexcept {
  const unsigned needed = sizing::hash_bits_needed(keys, fpr);
  if (hash.bits >= digest_bits || hash.bits >= needed) return {};
  return fail(errc::not_enough_hash_bits, hash.name, {keys, needed, hash.bits});
}

}  // namespace bloomery::inline BLOOMERY_ABI

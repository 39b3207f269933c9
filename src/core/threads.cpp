#include <bloomery/core/threads.hpp>

namespace bloomery::inline BLOOMERY_ABI {

BLOOMERY_BODY unsigned machine_threads() noexcept {
#ifdef BLOOMERY_HAS_THREADS
  const long online = ::sysconf(_SC_NPROCESSORS_ONLN);
  if (online > 1) return online < long{most_threads} ? static_cast<unsigned>(online) : most_threads;
#endif
  return 1;
}

}  // namespace bloomery::inline BLOOMERY_ABI

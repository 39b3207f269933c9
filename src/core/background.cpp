#include <bloomery/core/background.hpp>

namespace bloomery::inline BLOOMERY_ABI {

BLOOMERY_BODY void background_thread::start(work call, void* context) noexcept {
  wait();
  call_ = call;
  context_ = context;
#ifdef BLOOMERY_HAS_THREADS
  running_ = ::pthread_create(&thread_, nullptr, run, this) == 0;
#endif
  if (!running_) call_(context_);
}

BLOOMERY_BODY void background_thread::wait() noexcept {
#ifdef BLOOMERY_HAS_THREADS
  if (running_) ::pthread_join(thread_, nullptr);
#endif
  running_ = false;
}

#ifdef BLOOMERY_HAS_THREADS
BLOOMERY_BODY void* background_thread::run(void* self) noexcept {
  const auto* mine = static_cast<background_thread*>(self);
  mine->call_(mine->context_);
  return nullptr;
}
#endif

}  // namespace bloomery::inline BLOOMERY_ABI

// core/function_ref.hpp: a callable of the caller, referred to and not kept: what a compiled body takes in place of a
// template parameter.
//
//     result<void> for_each_key(function_ref<void(std::string_view)> f);
//     for_each_key([&](std::string_view key) { ... });     // the lambda lives until the call returns
//
// Costs one indirect call. It must not outlive what it refers to, and that must not throw.
#pragma once

#include <bloomery/core/config.hpp>
#include <memory>
#include <type_traits>
#include <utility>

namespace bloomery::inline BLOOMERY_ABI {

template <class Signature>
class function_ref;

template <class R, class... Args>
class function_ref<R(Args...)> {
 public:
  // Refers to nothing, and must not be called.
  function_ref() noexcept = default;
  template <class F>
  requires(!std::is_same_v<std::remove_cvref_t<F>, function_ref> && std::is_invocable_r_v<R, F&, Args...>)
      function_ref(F&& function)
  noexcept
      : context_(const_cast<void*>(static_cast<const void*>(std::addressof(function)))),
        call_([](void* context, Args... args) noexcept -> R {
          return (*static_cast<std::remove_reference_t<F>*>(context))(std::forward<Args>(args)...);
        }) {}

  explicit operator bool() const noexcept { return call_ != nullptr; }
  R operator()(Args... args) const noexcept { return call_(context_, std::forward<Args>(args)...); }

 private:
  void* context_ = nullptr;
  R (*call_)(void*, Args...) noexcept = nullptr;
};

}  // namespace bloomery::inline BLOOMERY_ABI

// SPDX-License-Identifier: Apache-2.0
// Real: the next definition of a function of libc, behind this library: that of libc, or of another
// preloaded library.
#pragma once

#include <atomic>
#include <cerrno>
#include <type_traits>

#include <dlfcn.h>

#define FOREBAY_WRAPPER extern "C" [[gnu::visibility("default")]]

// Each name has its real function, resolved before main(). Later, dlsym() would wait for a thread
// in dlopen(), which may wait for this one; and it drops the error that dlerror() would return.
#define FOREBAY_REAL(type, name)                  \
  static constinit Real<type> real_##name(#name); \
  [[gnu::constructor]] static void resolve_##name() noexcept { real_##name.resolve(); }

namespace forebay::interpose {

/// Any thread. Constant-initialized, so it works before constructors run.
template <class Function>
class Real {
 public:
  constexpr explicit Real(const char* name) noexcept : name_(name) {}

  /// Calls dlsym() in the first call.
  Function resolve() noexcept {
    const Function found = function_.load(std::memory_order_relaxed);
    return found != nullptr ? found : find();
  }
  bool is_resolved() const noexcept { return function_.load(std::memory_order_relaxed) != nullptr; }
  template <class... Arguments>
  auto operator()(Arguments... arguments) noexcept(false) {
    const Function real = resolve();
    using Result = decltype(real(arguments...));
    if (real != nullptr) [[likely]]
      return real(arguments...);
    errno = ENOSYS;  // this libc lacks it, and the program has found it here
    if constexpr (std::is_pointer_v<Result>)
      return static_cast<Result>(nullptr);
    else
      return static_cast<Result>(-1);
  }

 private:
  [[gnu::noinline, gnu::cold]] Function find() noexcept {
    const auto found = reinterpret_cast<Function>(::dlsym(RTLD_NEXT, name_));
    if (found == nullptr) ::dlerror();  // this libc lacks it: no error of the program
    function_.store(found, std::memory_order_relaxed);
    return found;
  }

  const char* name_;
  std::atomic<Function> function_{nullptr};
};

}  // namespace forebay::interpose

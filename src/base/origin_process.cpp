// SPDX-License-Identifier: Apache-2.0
#include <forebay/origin_process.hpp>

#include <atomic>
#include <new>
#include <utility>

#include <pthread.h>

namespace forebay::detail {

std::atomic<std::uint32_t> process_generation{0};

namespace {

// Before main(), so that no fork() of the program is missed.
[[maybe_unused]] const int kForksAreCounted = ::pthread_atfork(
    nullptr, nullptr, [] { process_generation.fetch_add(1, std::memory_order_relaxed); });

}  // namespace

void keep_forever(void* object) noexcept {
  struct Kept {
    void* object;
    Kept* next;
  };
  static std::atomic<Kept*> first{nullptr};
  Kept* const kept = new (std::nothrow) Kept{object, first.load()};
  while (kept != nullptr && !first.compare_exchange_weak(kept->next, kept)) {
  }
}

Error made_before_fork(ErrorDetails about) {
  about.kind = ErrorClass::kClosed;
  about.cause =
      "fork() has made this process, and the agents run in its parent; make another Runtime here";
  return Error(std::move(about));
}

Status OriginProcess::check(const char* operation, const std::string& path) const {
  if (is_current()) return {};
  return failure(made_before_fork({.operation = operation, .path = path}));
}

}  // namespace forebay::detail

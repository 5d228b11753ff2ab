// SPDX-License-Identifier: Apache-2.0
// Counts fork() calls in the child, so that objects of the parent process are recognized there.
#include <forebay/detail/origin_process.hpp>

#include <atomic>
#include <new>
#include <utility>

#include <pthread.h>

namespace forebay::detail {

std::atomic<std::uint32_t> process_generation{0};

namespace {

// Registered before main(), so that no fork() of the program is missed.
[[maybe_unused]] const int kForkHandler = ::pthread_atfork(
    nullptr, nullptr, [] { process_generation.fetch_add(1, std::memory_order_relaxed); });

}  // namespace

void leak_object(void* object) noexcept {
  struct RetainedObject {
    void* object;
    RetainedObject* next;
  };
  static std::atomic<RetainedObject*> first{nullptr};
  RetainedObject* const retained = new (std::nothrow) RetainedObject{object, first.load()};
  while (retained != nullptr && !first.compare_exchange_weak(retained->next, retained)) {
  }
}

Error fork_error(ErrorDetails about) {
  about.kind = ErrorClass::kClosed;
  about.cause =
      "fork() created this process, and the agents run in its parent; create another Runtime here";
  return Error(std::move(about));
}

Status OriginProcess::check(const char* operation, const std::string& path) const {
  if (is_current()) return {};
  return failure(fork_error({.operation = operation, .path = path}));
}

}  // namespace forebay::detail

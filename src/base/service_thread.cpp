// SPDX-License-Identifier: Apache-2.0
#include "base/service_thread.hpp"

#include <csignal>
#include <string>
#include <system_error>
#include <utility>

#include <pthread.h>
#include <sched.h>

#include "base/processors.hpp"

namespace forebay {

namespace {

/// A new thread inherits what is blocked when it begins, so it never runs a handler, not even once.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t everything;
    ::sigfillset(&everything);
    ::pthread_sigmask(SIG_SETMASK, &everything, &before_);
  }
  ~SignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_{};
};

}  // namespace

Result<std::thread> start_service_thread(const char* name, std::function<void()> work) {
  const SignalsBlocked blocked;
  try {
    return std::thread([name, work = std::move(work)] {
      ::pthread_setname_np(::pthread_self(), name);
      run_this_thread_on(service_processors());
      work();
    });
  } catch (const std::system_error& error) {
    return failure({.kind = ErrorClass::kLimit,
                    .operation = std::string("start the thread ") + name,
                    .error_number = error.code().value(),
                    .cause = "raise the limit of processes or ask for fewer threads"});
  }
}

void interrupt_nobody() noexcept {
  // Who was given another policy by its user keeps it.
  if (::sched_getscheduler(0) != SCHED_OTHER) return;
  const sched_param no_priority{};
  static_cast<void>(::sched_setscheduler(0, SCHED_BATCH, &no_priority));
}

}  // namespace forebay

// SPDX-License-Identifier: Apache-2.0
#include "base/service_thread.hpp"

#include <cerrno>
#include <csignal>
#include <string>
#include <system_error>
#include <utility>

#include <pthread.h>
#include <sched.h>

#include "base/processors.hpp"

namespace forebay {

namespace {

/// Blocks all signals: a new thread inherits the mask, so it never runs a handler.
class SignalBlocker {
 public:
  SignalBlocker() {
    sigset_t everything;
    ::sigfillset(&everything);
    ::pthread_sigmask(SIG_SETMASK, &everything, &before_);
  }
  ~SignalBlocker() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalBlocker(const SignalBlocker&) = delete;
  SignalBlocker& operator=(const SignalBlocker&) = delete;

 private:
  sigset_t before_{};
};

}  // namespace

Result<std::thread> start_service_thread(const char* name, std::function<void()> work) {
  const SignalBlocker blocked;
  try {
    return std::thread([name, work = std::move(work)] {
      ::pthread_setname_np(::pthread_self(), name);
      set_thread_affinity(service_processors());
      work();
    });
  } catch (const std::system_error& error) {
    return failure({.kind = ErrorClass::kLimit,
                    .operation = std::string("start the thread ") + name,
                    .error_number = error.code().value(),
                    .cause = "raise the limit of processes (ulimit -u), or request fewer threads"});
  }
}

void use_batch_scheduling() noexcept {
  // A policy that the user has set stays.
  if (::sched_getscheduler(0) != SCHED_OTHER) return;
  const sched_param no_priority{};
  static_cast<void>(::sched_setscheduler(0, SCHED_BATCH, &no_priority));
}

int use_idle_scheduling() noexcept {
  const sched_param no_priority{};
  return ::sched_setscheduler(0, SCHED_IDLE, &no_priority) == 0 ? 0 : errno;
}

}  // namespace forebay

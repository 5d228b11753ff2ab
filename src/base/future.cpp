// SPDX-License-Identifier: Apache-2.0
// The parts of Future<T> that do not depend on T: blocking a thread, driving a request on an
// executor, and waking a foreign loop through a descriptor.
#include <forebay/future.hpp>

#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <mutex>

#include <sys/eventfd.h>
#include <unistd.h>

#include "base/descriptor.hpp"

namespace forebay::detail {

namespace {

/// Blocks the owner of a request until an agent signals it.
class ThreadWaiter final : public Waiter {
 public:
  void signal() noexcept override {
    const std::lock_guard lock(mutex_);
    signalled_ = true;
    changed_.notify_one();
  }

  /// True if signaled, false if the deadline passed first.
  bool sleep(const Deadline& deadline) {
    std::unique_lock lock(mutex_);
    const auto signalled = [this] { return signalled_; };
    if (deadline) return changed_.wait_until(lock, *deadline, signalled);
    changed_.wait(lock, signalled);
    return true;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool signalled_ = false;
};

}  // namespace

bool block_on(PendingOperation& pending, Deadline deadline) {
  while (!pending.advance()) {
    if (deadline && std::chrono::steady_clock::now() >= *deadline) return false;
    // With a deadline the owner only copies: a read of a device may take longer than any limit.
    if (pending.help(deadline ? Help::kCopy : Help::kAny)) continue;
    ThreadWaiter waiter;
    if (!pending.arm(waiter)) continue;
    const bool signalled = waiter.sleep(deadline);
    pending.disarm(waiter);
    if (!signalled) return pending.advance();
  }
  return true;
}

bool copy_inline(PendingOperation& pending, Executor& executor) {
  const Help how = executor.can_help_when_idle() ? Help::kCopy : Help::kOpportunisticCopy;
  do {
    if (!executor.try_acquire_inline_copy() || !pending.help(how)) return false;
  } while (!pending.advance());
  return true;
}

Executor& inline_executor() noexcept {
  struct Inline final : Executor {
    void post(Work& work) noexcept override { work.run(work); }
  };
  static Inline executor;
  return executor;
}

Deadline deadline_after(std::chrono::nanoseconds limit) {
  const auto now = std::chrono::steady_clock::now();
  if (limit > std::chrono::steady_clock::time_point::max() - now) return std::nullopt;
  return now + limit;
}

void Driver::start(std::unique_ptr<Driver> driver, Executor& executor) {
  driver->executor_ = &executor;
  executor.post(*driver.release());
}

bool Driver::suspend(std::unique_ptr<Driver> driver, Executor& executor) {
  driver->executor_ = &executor;
  PendingOperation& pending = driver->pending();
  Driver* const raw = driver.release();
  // Once armed, the driver may run and be deleted on another thread before arm() returns. It is not
  // accessed again.
  while (!pending.arm(*raw)) {
    if (pending.advance()) {
      delete raw;
      return false;
    }
  }
  return true;
}

void Driver::run_posted(Work& work) noexcept {
  auto& driver = static_cast<Driver&>(work);
  do {
    if (driver.step()) {
      delete &driver;
      return;
    }
  } while (!driver.pending().arm(driver));
}

struct EventDescriptor::Signal final : Waiter {
  explicit Signal(Descriptor event) : descriptor(std::move(event)) {}
  void signal() noexcept override {
    const std::uint64_t one = 1;
    // The counter cannot overflow and block: each arm() drains it, and the descriptor is
    // non-blocking.
    [[maybe_unused]] const auto written = ::write(descriptor.get(), &one, sizeof one);
  }
  Descriptor descriptor;
};

Result<std::unique_ptr<EventDescriptor>> EventDescriptor::create() {
  Descriptor descriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!descriptor) {
    return failure(system_error({.operation = "create an event descriptor"}, errno));
  }
  return std::unique_ptr<EventDescriptor>(
      new EventDescriptor(std::make_unique<Signal>(std::move(descriptor))));
}

EventDescriptor::EventDescriptor(std::unique_ptr<Signal> signal) : signal_(std::move(signal)) {}

EventDescriptor::~EventDescriptor() = default;

int EventDescriptor::descriptor() const noexcept { return signal_->descriptor.get(); }

void EventDescriptor::signal() noexcept { signal_->signal(); }

void EventDescriptor::arm(PendingOperation& pending) {
  std::uint64_t count = 0;
  [[maybe_unused]] const auto drained = ::read(signal_->descriptor.get(), &count, sizeof count);
  is_armed_ = pending.arm(*signal_);
  if (!is_armed_) signal();
}

void EventDescriptor::disarm(PendingOperation& pending) noexcept {
  if (is_armed_) pending.disarm(*signal_);
  is_armed_ = false;
}

Error cancelled_error(const PendingOperation& pending) {
  ErrorDetails details = pending.describe();
  details.kind = ErrorClass::kCancelled;
  details.cause = "the caller cancelled the request";
  return Error(std::move(details));
}

Error moved_from_error() {
  return Error({.kind = ErrorClass::kInvalidArgument,
                .operation = "wait",
                .cause = "this Future was moved from; use the Future that holds the request now"});
}

Error exception_error(ErrorDetails where, std::exception_ptr exception) {
  where.kind = ErrorClass::kException;
  where.operation = "continue after " + where.operation;
  try {
    std::rethrow_exception(std::move(exception));
  } catch (const std::exception& caught) {
    where.cause = caught.what();
  } catch (...) {
    where.cause = "an exception that is not a std::exception";
  }
  return Error(std::move(where));
}

}  // namespace forebay::detail

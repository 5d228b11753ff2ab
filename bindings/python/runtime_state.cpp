// SPDX-License-Identifier: Apache-2.0
#include "bindings/python/runtime_state.hpp"

#include <algorithm>
#include <condition_variable>
#include <csignal>
#include <mutex>
#include <thread>

#include <unistd.h>

#include "bindings/python/memory.hpp"
#include "bindings/python/request.hpp"

namespace forebay::python {

struct BlockingCaller::Shared {
  std::mutex mutex;
  std::condition_variable changed;
  std::function<void()> work;
  bool is_abandoned = false;

  void serve() {
    std::unique_lock lock(mutex);
    while (true) {
      changed.wait(lock, [this] { return work || is_abandoned; });
      if (!work) return;
      lock.unlock();
      work();
      lock.lock();
      work = nullptr;
      changed.notify_all();
    }
  }

  void begin(std::function<void()> next) {
    const std::lock_guard lock(mutex);
    work = std::move(next);
    changed.notify_all();
  }

  /// True at the end of the work; false when it is time to look for signals.
  bool wait_slice() {
    const GilRelease released;  // the GIL is never requested under the lock
    std::unique_lock lock(mutex);
    return changed.wait_for(lock, kSignalCheckInterval, [this] { return !work; });
  }
};

std::shared_ptr<BlockingCaller::Shared> BlockingCaller::start_thread() {
  auto made = std::make_shared<Shared>();
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);  // signals are for threads of the program
  std::thread([made] { made->serve(); }).detach();
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return made;
}

void BlockingCaller::run(std::function<void()> work) {
  // A signal handler that calls run() meanwhile gets another thread.
  std::shared_ptr<Shared> mine = std::exchange(shared_, nullptr);
  if (!mine) mine = start_thread();
  mine->begin(std::move(work));
  while (!mine->wait_slice()) {
    if (PyErr_CheckSignals() == 0) continue;
    abandon(std::move(mine));
    throw nb::python_error();
  }
  abandon(std::exchange(shared_, std::move(mine)));
}

void BlockingCaller::abandon(std::shared_ptr<Shared> shared) noexcept {
  if (!shared || !origin_.is_current()) return;
  const std::lock_guard lock(shared->mutex);
  shared->is_abandoned = true;
  shared->changed.notify_all();
}

RuntimeState::RuntimeState(RuntimePointer runtime)
    : runtime_(std::move(runtime)), context_(std::make_shared<RuntimeContext>()) {
  context_->is_alone = runtime_->rank_count() == 1 && runtime_->role() == Role::kCompute;
}

RuntimePointer RuntimeState::runtime(const char* operation) const {
  check(origin_.check(operation));
  if (!runtime_)
    throw Failure(Error({.kind = ErrorClass::kClosed,
                         .operation = operation,
                         .cause = "the Runtime is closed; create another one"}));
  return runtime_;
}

void RuntimeContext::add(const std::shared_ptr<Closable>& child) {
  std::erase_if(children, [](const auto& kept) { return kept.expired(); });
  children.push_back(child);
}

void RuntimeState::close() {
  RuntimePointer ending = std::exchange(runtime_, nullptr);  // refuses further children
  if (!ending || !origin_.is_current()) return;
  std::optional<Error> first;
  while (!context_->children.empty()) {  // the newest first: steps before datasets
    const auto open = context_->children.back().lock();
    try {
      if (open) open->close();
    } catch (const Failure& failure) {
      if (!first && failure.error.kind() != ErrorClass::kCancelled) first = failure.error;
    } catch (...) {
      runtime_ = std::move(ending);
      throw;
    }
    std::erase_if(context_->children, [&](const auto& kept) { return kept.lock() == open; });
  }
  advance_all_loops();
  if (first) throw Failure(*first);
}

void RuntimeState::drop() noexcept {
  const RuntimePointer ending = std::exchange(runtime_, nullptr);
  if (!ending || !origin_.is_current()) return;
  const auto children = std::exchange(context_->children, {});
  for (auto child = children.rbegin(); child != children.rend(); ++child)
    if (const auto open = child->lock()) open->drop();
  advance_all_loops();
}

bool is_main_thread() noexcept { return ::gettid() == ::getpid(); }

}  // namespace forebay::python

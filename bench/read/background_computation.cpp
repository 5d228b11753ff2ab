// SPDX-License-Identifier: Apache-2.0
#include "bench/read/background_computation.hpp"

#include <atomic>

namespace forebay::bench::read {

namespace {

/// A chain of dependent multiplications: some ten microseconds.
constexpr int kSliceSteps = 8192;

std::uint64_t compute_slice(std::uint64_t state) {
  for (int i = 0; i < kSliceSteps; ++i)
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
  return state;
}

/// Awaiting it moves the coroutine to the end of the loop's queue.
class YieldAwaiter : private forebay::Work {
 public:
  explicit YieldAwaiter(EventLoop& loop)
      : forebay::Work{&YieldAwaiter::resume, nullptr}, loop_(loop) {}
  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> suspended) noexcept {
    suspended_ = suspended;
    loop_.post(*this);
  }
  void await_resume() const noexcept {}

 private:
  static void resume(forebay::Work& work) noexcept {
    static_cast<YieldAwaiter&>(work).suspended_.resume();
  }
  EventLoop& loop_;
  std::coroutine_handle<> suspended_;
};

}  // namespace

void compute_for(std::chrono::milliseconds time) {
  const double seconds = std::chrono::duration<double>(time).count();
  const Stopwatch watch;
  // Keeps the compiler from removing the unused result.
  static std::atomic<std::uint64_t> state{1};
  while (watch.seconds() < seconds)
    state.store(compute_slice(state.load(std::memory_order_relaxed)), std::memory_order_relaxed);
}

runner::Task BackgroundComputation::task() {
  const Stopwatch watch;
  while (should_continue(watch)) {
    state_ = compute_slice(state_);
    ++slices_;
    co_await YieldAwaiter(loop_);
  }
  seconds_ = watch.seconds();
  // Keeps the compiler from removing the unused result.
  if (state_ == 0) co_return failure({.kind = ErrorClass::kDamage, .operation = "compute"});
  co_return Status();
}

}  // namespace forebay::bench::read

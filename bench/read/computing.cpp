// SPDX-License-Identifier: Apache-2.0
#include "bench/read/computing.hpp"

#include <atomic>

namespace forebay::bench::read {

namespace {

/// A chain of multiplications, each of which waits for the one before: some ten microseconds.
constexpr int kSliceSteps = 8192;

std::uint64_t compute_slice(std::uint64_t state) {
  for (int i = 0; i < kSliceSteps; ++i)
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
  return state;
}

/// Gives others their turn: awaited, it goes to the end of the loop's queue.
class Turn : private forebay::Work {
 public:
  explicit Turn(EventLoop& loop) : forebay::Work{&Turn::resume, nullptr}, loop_(loop) {}
  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> suspended) noexcept {
    suspended_ = suspended;
    loop_.post(*this);
  }
  void await_resume() const noexcept {}

 private:
  static void resume(forebay::Work& work) noexcept { static_cast<Turn&>(work).suspended_.resume(); }
  EventLoop& loop_;
  std::coroutine_handle<> suspended_;
};

}  // namespace

void compute_for(std::chrono::milliseconds time) {
  const double seconds = std::chrono::duration<double>(time).count();
  const Stopwatch watch;
  // So that the compiler cannot leave out what nobody looks at.
  static std::atomic<std::uint64_t> state{1};
  while (watch.seconds() < seconds)
    state.store(compute_slice(state.load(std::memory_order_relaxed)), std::memory_order_relaxed);
}

runner::Task Computing::task() {
  const Stopwatch watch;
  while (goes_on(watch)) {
    state_ = compute_slice(state_);
    ++slices_;
    co_await Turn(loop_);
  }
  seconds_ = watch.seconds();
  // So that the compiler cannot leave out what nobody looks at.
  if (state_ == 0) co_return failure({.kind = ErrorClass::kDamage, .operation = "compute"});
  co_return Status();
}

}  // namespace forebay::bench::read

// SPDX-License-Identifier: Apache-2.0
// A custom scheduler: Forebay runs no code of the program on its own threads. It posts each
// continuation to an Executor, here a queue that the application runs.
#include <forebay/forebay.hpp>

#include <condition_variable>
#include <cstdint>
#include <iostream>
#include <mutex>
#include <utility>

#include "input_file.hpp"

namespace {

using namespace forebay::literals;

class Scheduler final : public forebay::Executor {
 public:
  /// May be called by an agent: queues the work, wakes a thread, returns. Work is linked in place.
  void post(forebay::Work& work) noexcept override {
    const std::lock_guard lock(mutex_);
    work.next = nullptr;
    (first_ == nullptr ? first_ : last_->next) = &work;
    last_ = &work;
    posted_.notify_one();
  }

  void run_one() {
    std::unique_lock lock(mutex_);
    posted_.wait(lock, [this] { return first_ != nullptr; });
    forebay::Work& work = *std::exchange(first_, first_->next);
    lock.unlock();
    work.run(work);  // may post again, and may be deleted when run() returns
  }

 private:
  std::mutex mutex_;
  std::condition_variable posted_;
  forebay::Work* first_ = nullptr;
  forebay::Work* last_ = nullptr;
};

}  // namespace

int main() {
  constexpr std::uint64_t kCount = 1U << 19U;
  const examples::InputFile input(examples::numbers(kCount));
  Scheduler scheduler;                                 // outlives the Runtime and all posted work
  forebay::Runtime runtime({.executor = &scheduler});  // coroutines resume there by default
  const auto file = runtime.open_file(input.path());
  const auto session = file ? file->read_session() : tl::unexpected(file.error());
  if (!session) return 1;

  std::uint64_t sum = 0;
  std::uint64_t left = 0;
  for (std::uint64_t offset = 0; offset < file->size(); offset += 64_KiB, ++left) {
    session->view({offset, 64_KiB}).then(scheduler, [&](forebay::Result<forebay::View> view) {
      if (view) sum += examples::sum_of(view->bytes());
      --left;
    });
  }
  const std::uint64_t posted = left;
  while (left > 0)
    scheduler.run_one();

  std::cout << posted << " continuations on the program's own scheduler, sum " << sum << '\n';
  return sum == kCount * (kCount - 1) / 2 ? 0 : 1;
}

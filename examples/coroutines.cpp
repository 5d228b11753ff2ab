// SPDX-License-Identifier: Apache-2.0
// Many more tasks than threads: each task awaits its own part of the file, and the thread runs
// other tasks meanwhile. The program defines the coroutine type; Forebay works with any.
#include <forebay/forebay.hpp>

#include <coroutine>
#include <cstdint>
#include <exception>
#include <iostream>
#include <optional>

#include "input_file.hpp"

namespace {

constexpr std::uint64_t kTasks = 1000;
constexpr std::uint64_t kNumbersPerTask = 2000;

/// A coroutine that starts at once and destroys its frame at the end.
struct Task {
  struct promise_type {
    Task get_return_object() noexcept { return {}; }
    std::suspend_never initial_suspend() const noexcept { return {}; }
    std::suspend_never final_suspend() const noexcept { return {}; }
    void return_void() const noexcept {}
    void unhandled_exception() const noexcept { std::terminate(); }
  };
};

struct Outcome {
  std::uint64_t sum = 0;
  std::uint64_t tasks_left = kTasks;
  std::optional<forebay::Error> error;
};

/// Adds up one part of the file. A Session is a small handle: each task has its own copy.
Task add_up(forebay::Session session, forebay::ByteRange range, Outcome& outcome) {
  forebay::ViewSequence views = session.views(range);
  while (!views.is_done()) {
    const forebay::Result<forebay::View> view = co_await views.next();
    if (view) outcome.sum += examples::sum_of(view->bytes());
    if (!view) outcome.error = view.error();
  }
  --outcome.tasks_left;
}

}  // namespace

int main() {
  const examples::InputFile input(examples::numbers(kTasks * kNumbersPerTask));
  forebay::Runtime runtime;
  const auto file = runtime.open_file(input.path());
  if (!file) return 1;
  const auto session = file->read_session();
  if (!session) return 1;

  Outcome outcome;
  const std::uint64_t task_bytes = kNumbersPerTask * sizeof(std::uint64_t);
  for (std::uint64_t i = 0; i < kTasks; ++i)
    add_up(*session, {.offset = i * task_bytes, .size = task_bytes}, outcome);

  // Tasks resume inside wait() and poll() of this loop, on this thread, so they need no locks.
  while (outcome.tasks_left > 0)
    runtime.event_loop().wait();

  if (outcome.error) std::cerr << outcome.error->message() << '\n';
  std::cout << kTasks << " tasks on one thread, sum " << outcome.sum << '\n';
  const std::uint64_t count = kTasks * kNumbersPerTask;
  return !outcome.error && outcome.sum == count * (count - 1) / 2 ? 0 : 1;
}

// SPDX-License-Identifier: Apache-2.0
// System calls that start to fail while a backend is in use, as under a filter that is installed
// late or without memory: each error number for each call of a backend. Operations end with their
// result or the error, after a bounded number of calls, and nothing aborts.
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/testing.hpp"
#include "storage/aio_backend.hpp"
#include "storage/engine.hpp"
#include "storage/ring_backend.hpp"
#include "storage/threads_backend.hpp"

namespace forebay::storage {
namespace {

/// A backend that spins makes this number of calls in a second or two.
constexpr std::uint64_t kCallsMax = 20'000;
constexpr unsigned kChildSeconds = 60;

class NullLog final : public LogSink {
 public:
  void write(LogLevel /*level*/, std::string_view /*line*/) noexcept override {}
};

enum ExitCode : int {
  kPassed = 0,
  kSkipped = 77,
  kNoFilter = 10,
  kNoFile,
  kWrongError,
  kNotWoken,
  kTooManyCalls,
  kUnrefused,
};

/// Refuses one system call of this process from start_refusing() on, and counts its calls. Threads
/// that started before are affected too.
class SeccompRefusal {
 public:
  SeccompRefusal(int call, int error_number) : error_number_(error_number) {
    const scmp_filter_ctx filter = ::seccomp_init(SCMP_ACT_ALLOW);
    if (filter == nullptr || ::seccomp_rule_add(filter, SCMP_ACT_NOTIFY, call, 0) != 0) return;
    // The notification thread must not make calls of which it would have to serve the
    // notifications.
    std::atomic<int> listener{-1};
    notify_thread_ = std::thread([this, &listener] {
      while (listener.load() < 0)
        std::this_thread::yield();
      serve_notifications(listener.load());
    });
    if (::seccomp_load(filter) != 0) ::_exit(kNoFilter);
    listener.store(::seccomp_notify_fd(filter));
    is_active_ = listener.load() >= 0;
    while (is_active_ && !is_serving_.load())
      std::this_thread::yield();
  }
  SeccompRefusal(const SeccompRefusal&) = delete;
  SeccompRefusal& operator=(const SeccompRefusal&) = delete;
  /// Exists until the process ends: the filter cannot be removed.
  ~SeccompRefusal() = delete;

  bool is_active() const { return is_active_; }
  void start_refusing() { is_refusing_.store(true); }
  std::uint64_t refused() const { return refused_.load(); }

 private:
  void serve_notifications(int listener) {
    seccomp_notif* request = nullptr;
    seccomp_notif_resp* response = nullptr;
    if (::seccomp_notify_alloc(&request, &response) != 0) ::_exit(kNoFilter);
    is_serving_.store(true);
    for (;;) {
      *request = {};  // the kernel requires zeros
      if (::seccomp_notify_receive(listener, request) != 0) continue;
      response->id = request->id;
      response->val = 0;
      response->error = 0;
      response->flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
      if (is_refusing_.load()) {
        response->error = -error_number_;
        response->flags = 0;
        if (refused_.fetch_add(1) > kCallsMax) ::_exit(kTooManyCalls);
      }
      static_cast<void>(::seccomp_notify_respond(listener, response));
    }
  }

  const int error_number_;
  bool is_active_ = false;
  std::atomic<bool> is_serving_{false};
  std::atomic<bool> is_refusing_{false};
  std::atomic<std::uint64_t> refused_{0};
  std::thread notify_thread_;
};

struct Call {
  std::string backend;
  std::string name;
};

Result<std::unique_ptr<Backend>> make_backend(const std::string& name, LogSink& log) {
  if (name == "io_uring") return make_ring_backend(4, log);
  if (name == "aio") return make_aio_backend(4);
  return make_threads_backend({.queue_depth = 4, .worker_count = 2});
}

/// Whether each wait() returns after a wake() by another thread, also without a deadline.
bool is_woken(Engine& engine, std::span<Completion> completions) {
  std::thread waker([&engine] { engine.wake(); });
  const std::size_t count = engine.wait(completions, std::nullopt);
  waker.join();
  return count == 0;
}

/// Whether an eventfd that cannot be read ends no later sleep at once: pauses bound the number of
/// calls.
bool sleeps_with_full_eventfd(Engine& engine,
                              std::span<Completion> completions,
                              const SeccompRefusal& refused) {
  constexpr std::chrono::milliseconds kWaitTime{100};
  const std::uint64_t before = refused.refused();
  if (engine.wait(completions, SteadyClock::shared().now() + kWaitTime) != 0) return false;
  return refused.refused() - before <= static_cast<std::uint64_t>(kWaitTime.count());
}

/// Returns an exit code. Ends without one only by a signal or by its alarm.
int run_refused_backend(const Call& tried, const std::string& path, int error_number) {
  ::alarm(kChildSeconds);
  NullLog log;
  // On the heap, and never deleted: the process ends by _exit().
  auto& refused =
      *new SeccompRefusal(::seccomp_syscall_resolve_name(tried.name.c_str()), error_number);
  if (!refused.is_active()) return kNoFilter;
  auto backend = make_backend(tried.backend, log);
  if (!backend) return kSkipped;
  const auto file = open_file(path, {.intent = Intent::kCreate});
  if (!file) return kNoFile;
  std::array<std::byte, 100> memory{};
  std::array<std::byte, 100> into{};
  const std::array operations{write_operation(**file, 0, memory, 1), sync_operation(**file, 2),
                              allocate_operation(**file, {0, 8192}, 3),
                              read_operation(**file, 0, into, 4)};
  if (tried.name == "io_uring_register") static_cast<void>((*backend)->register_buffers(memory));
  refused.start_refusing();
  if (tried.name == "io_uring_register") {
    (*backend)->unregister_buffers(memory);
    if ((*backend)->register_buffers(memory)) return kWrongError;
  }
  {
    Engine engine(std::move(*backend),
                  {.queue_depth = 4, .retry_total_us_max = std::chrono::milliseconds(10)});
    std::vector<Completion> completions(operations.size());
    // Sleeps at least once. A busy machine may pass a deadline before the call.
    do {
      const TimePoint soon = SteadyClock::shared().now() + std::chrono::milliseconds(2);
      if (engine.wait(completions, soon) != 0) return kWrongError;
    } while (tried.name == "ppoll" && refused.refused() == 0);
    // The call is made only if the issuer sleeps by then.
    do {
      if (!is_woken(engine, completions)) return kNotWoken;
    } while ((tried.name == "write" || tried.name == "read") && refused.refused() == 0);
    if (tried.name == "read" && !sleeps_with_full_eventfd(engine, completions, refused))
      return kTooManyCalls;
    if (engine.submit(operations) != operations.size()) return kWrongError;
    for (std::size_t ended = 0; ended < operations.size();) {
      const std::size_t count = engine.wait(completions, std::nullopt);
      for (std::size_t i = 0; i < count; ++i) {
        const auto& bytes = completions[i].bytes;
        if (!bytes && bytes.error().error_number() != error_number) return kWrongError;
      }
      ended += count;
    }
  }
  return refused.refused() > 0 ? kPassed : kUnrefused;
}

std::vector<int> error_numbers() {
  // Error numbers of storage calls, and those that a loop could treat as transient.
  if (std::getenv("FOREBAY_TEST_ALL") == nullptr)
    return {EPERM, EINTR, EIO, EAGAIN, ENOMEM, EBUSY, EEXIST, EINVAL, ENOSPC, ENOSYS, ETIME};
  constexpr int kErrorNumberMax = 133;
  std::vector<int> numbers;
  for (int number = 1; number <= kErrorNumberMax; ++number)
    if (::strerrorname_np(number) != nullptr) numbers.push_back(number);
  return numbers;
}

/// False if the number of calls is unbounded: glibc repeats a call of its AIO while it is
/// interrupted, and returns EINPROGRESS for an operation that has not ended.
bool is_bounded(const Call& call, int error_number) {
  if (call.backend != "aio" || call.name == "ppoll") return true;
  return error_number != EINTR && error_number != EINPROGRESS;
}

std::vector<std::tuple<Call, int>> cases_of(const std::vector<Call>& calls) {
  std::vector<std::tuple<Call, int>> cases;
  for (const Call& call : calls)
    for (const int error_number : error_numbers())
      if (is_bounded(call, error_number)) cases.emplace_back(call, error_number);
  return cases;
}

class RefusedCalls : public ::testing::TestWithParam<std::tuple<Call, int>> {};

TEST_P(RefusedCalls, end_operations_after_a_bounded_number) {
  const auto& [call, error_number] = GetParam();
  const TemporaryDirectory directory;
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) ::_exit(run_refused_backend(call, directory / "file", error_number));
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  if (WEXITSTATUS(status) == kSkipped) GTEST_SKIP() << "the backend cannot be used here";
  EXPECT_EQ(WEXITSTATUS(status), kPassed);
}

const std::vector<Call> kCalls{{"io_uring", "io_uring_enter"},
                               {"io_uring", "io_uring_register"},
                               {"io_uring", "write"},
                               {"threads", "pread64"},
                               {"threads", "pwrite64"},
                               {"threads", "fdatasync"},
                               {"threads", "fallocate"},
                               {"threads", "ppoll"},
                               {"threads", "write"},
                               {"threads", "read"},
                               {"aio", "pread64"},
                               {"aio", "pwrite64"},
                               {"aio", "fdatasync"},
                               {"aio", "fallocate"},
                               {"aio", "ppoll"},
                               {"aio", "write"},
                               {"aio", "read"}};

std::string name_of(const ::testing::TestParamInfo<std::tuple<Call, int>>& tested) {
  const auto& [call, error_number] = tested.param;
  return call.backend + "_" + call.name + "_" + ::strerrorname_np(error_number);
}

constexpr std::size_t kPageBytes = 4096;

/// Maps other memory at the address of a buffer that the kernel refused to unregister.
int reuse_address_of_buffer(const std::string& path) {
  ::alarm(kChildSeconds);
  NullLog log;
  auto& refused = *new SeccompRefusal(::seccomp_syscall_resolve_name("io_uring_register"), ENOMEM);
  if (!refused.is_active()) return kNoFilter;
  auto backend = make_ring_backend(4, log);
  if (!backend) return kSkipped;
  const auto file = open_file(path, {.intent = Intent::kCreate});
  if (!file) return kNoFile;
  const auto map = [](void* place, int flags) {
    return ::mmap(place, kPageBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags,
                  -1, 0);
  };
  void* const place = map(nullptr, 0);
  const std::span buffer(static_cast<std::byte*>(place), kPageBytes);
  if (!(*backend)->register_buffers(buffer)) return kSkipped;
  refused.start_refusing();
  (*backend)->unregister_buffers(buffer);
  if (map(place, MAP_FIXED) != place) return kNoFile;
  buffer[0] = std::byte{7};
  const std::array write{write_operation(**file, 0, buffer, 1)};
  std::array<RawCompletion, 1> completion;
  if ((*backend)->submit(write) != 1) return kWrongError;
  while ((*backend)->wait(completion, std::nullopt) == 0) {
  }
  std::array<std::byte, 1> written{};
  if (!(*file)->read_at(written, 0)) return kNoFile;
  return written[0] == std::byte{7} ? kPassed : kWrongError;
}

TEST(RefusedUnregistration, does_not_affect_later_memory_at_the_address) {
  const TemporaryDirectory directory;
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) ::_exit(reuse_address_of_buffer(directory / "file"));
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  if (WEXITSTATUS(status) == kSkipped) GTEST_SKIP() << "the ring registers no buffers here";
  EXPECT_EQ(WEXITSTATUS(status), kPassed);
}

INSTANTIATE_TEST_SUITE_P(Calls, RefusedCalls, ::testing::ValuesIn(cases_of(kCalls)), name_of);

}  // namespace
}  // namespace forebay::storage

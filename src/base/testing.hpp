// SPDX-License-Identifier: Apache-2.0
// Test helpers for this module and those above: error class of a result, comparison of bytes, a
// request that the test finishes, a coroutine type, a temporary directory, waits on descriptors
// with a limit, and a count of open descriptors. For tests only.
#pragma once

#include <forebay/error.hpp>
#include <forebay/executor.hpp>
#include <forebay/future.hpp>

#include <atomic>
#include <coroutine>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <functional>
#include <iterator>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include <gtest/gtest.h>
#include <poll.h>

namespace forebay {

/// The class of the error in `result`; no value for success.
template <class T>
std::optional<ErrorClass> error_class(const Result<T>& result) {
  if (result) return std::nullopt;
  return result.error().kind();
}

inline bool message_contains(const Error& error, const std::string& text) {
  return error.message().find(text) != std::string::npos;
}

/// As std::ranges::equal(), which takes seconds for megabytes in unoptimized tests.
inline bool equal_bytes(std::span<const std::byte> a, std::span<const std::byte> b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size()) == 0);
}

/// A directory for one test, removed at the end.
class TemporaryDirectory {
 public:
  explicit TemporaryDirectory(const std::string& parent = ::testing::TempDir()) {
    std::string pattern = parent + "/forebay-test-XXXXXX";
    if (::mkdtemp(pattern.data()) != nullptr) path_ = pattern;
  }
  ~TemporaryDirectory() {
    if (!path_.empty()) std::filesystem::remove_all(path_);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

/// The agent's side of a request: finishes it, from any thread, and counts the requests that exist.
template <class T>
class TestPromise {
 public:
  explicit TestPromise(Executor& executor) : executor_(executor) {}

  void finish(Result<T> value) {
    const std::lock_guard lock(mutex_);
    value_.emplace(std::move(value));
    if (waiter_ != nullptr) std::exchange(waiter_, nullptr)->signal();
  }
  /// Signals without a result: the owner finds nothing.
  void signal_spuriously() {
    const std::lock_guard lock(mutex_);
    if (waiter_ != nullptr) std::exchange(waiter_, nullptr)->signal();
  }
  Future<T> future();

  /// Called when the owner of a request helps; the result is that of help().
  std::function<bool(detail::Help)> on_help;

  bool is_armed() {
    const std::lock_guard lock(mutex_);
    return waiter_ != nullptr;
  }
  int live_requests() const { return live_requests_.load(); }

 private:
  class Request;
  Executor& executor_;
  std::mutex mutex_;
  std::optional<Result<T>> value_;
  detail::Waiter* waiter_ = nullptr;
  std::atomic<int> live_requests_{0};
};

template <class T>
class TestPromise<T>::Request final : public detail::PendingResult<T> {
 public:
  explicit Request(TestPromise& source) : promise_(source) { ++promise_.live_requests_; }
  ~Request() override { --promise_.live_requests_; }
  bool advance() override {
    const std::lock_guard lock(promise_.mutex_);
    EXPECT_EQ(promise_.waiter_, nullptr) << "it advances with a waiter armed";
    return promise_.value_.has_value();
  }
  bool arm(detail::Waiter& waiter) override {
    const std::lock_guard lock(promise_.mutex_);
    if (promise_.value_) return false;
    EXPECT_EQ(promise_.waiter_, nullptr) << "two waiters at a time";
    promise_.waiter_ = &waiter;
    return true;
  }
  void disarm(detail::Waiter& waiter) noexcept override {
    const std::lock_guard lock(promise_.mutex_);
    if (promise_.waiter_ == &waiter) promise_.waiter_ = nullptr;
  }
  bool help(detail::Help how) override { return promise_.on_help && promise_.on_help(how); }
  Executor& executor() const override { return promise_.executor_; }
  ErrorDetails describe() const override {
    return {.operation = "read", .path = "data", .offset_bytes = 7};
  }
  Result<T> take() override { return std::move(*promise_.value_); }

 private:
  TestPromise& promise_;
};

template <class T>
Future<T> TestPromise<T>::future() {
  return Future<T>(std::make_unique<Request>(*this));
}

/// A coroutine that starts at once and destroys its frame at the end.
struct Detached {
  struct promise_type {
    Detached get_return_object() noexcept { return {}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() noexcept {}
    void unhandled_exception() noexcept { std::terminate(); }
  };
};

inline bool is_readable(int descriptor) {
  pollfd entry{descriptor, POLLIN, 0};
  return ::poll(&entry, 1, 0) == 1;
}

/// Blocks until the descriptor is readable. False after a minute.
inline bool wait_until_readable(int descriptor) {
  pollfd entry{descriptor, POLLIN, 0};
  return ::poll(&entry, 1, 60'000) == 1;
}

/// Number of open descriptors of this process.
inline std::size_t open_descriptor_count() {
  const std::filesystem::directory_iterator entries("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(entries), end(entries)));
}

class FutureTest : public ::testing::Test {
 protected:
  EventLoop loop_;
  TestPromise<int> promise_{loop_};
};

}  // namespace forebay

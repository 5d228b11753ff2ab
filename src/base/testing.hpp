// SPDX-License-Identifier: Apache-2.0
// What tests share, here and in the modules above: how a call failed, whether bytes are the same, a
// request whose end the test decides, a coroutine of no library, a folder for one test, descriptors
// that are waited for with an end, and a count of them to find lost ones. For tests only.
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

/// The class of the error that `result` has, or no value.
template <class T>
std::optional<ErrorClass> error_class(const Result<T>& result) {
  if (result) return std::nullopt;
  return result.error().kind();
}

inline bool mentions(const Error& error, const std::string& text) {
  return error.message().find(text) != std::string::npos;
}

/// As std::ranges::equal(), which takes seconds for megabytes where tests are not optimised.
inline bool same_bytes(std::span<const std::byte> a, std::span<const std::byte> b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size()) == 0);
}

/// A folder of its own for one test.
class TemporaryFolder {
 public:
  explicit TemporaryFolder(const std::string& parent = ::testing::TempDir()) {
    std::string pattern = parent + "/forebay-test-XXXXXX";
    if (::mkdtemp(pattern.data()) != nullptr) path_ = pattern;
  }
  ~TemporaryFolder() {
    if (!path_.empty()) std::filesystem::remove_all(path_);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

/// The agent's side of a request: finishes it, from any thread, and counts what the owner does.
template <class T>
class Source {
 public:
  explicit Source(Executor& executor) : executor_(executor) {}

  void finish(Result<T> value) {
    const std::lock_guard lock(mutex_);
    value_.emplace(std::move(value));
    if (waiter_ != nullptr) std::exchange(waiter_, nullptr)->signal();
  }
  /// A signal without a result: the owner looks and finds nothing.
  void signal_for_nothing() {
    const std::lock_guard lock(mutex_);
    if (waiter_ != nullptr) std::exchange(waiter_, nullptr)->signal();
  }
  Future<T> future();

  /// What a request does when its owner may help.
  std::function<bool(detail::Help)> on_help;

  bool is_armed() {
    const std::lock_guard lock(mutex_);
    return waiter_ != nullptr;
  }
  int alive() const { return alive_.load(); }

 private:
  class Request;
  Executor& executor_;
  std::mutex mutex_;
  std::optional<Result<T>> value_;
  detail::Waiter* waiter_ = nullptr;
  std::atomic<int> alive_{0};
};

template <class T>
class Source<T>::Request final : public detail::PendingResult<T> {
 public:
  explicit Request(Source& source) : source_(source) { ++source_.alive_; }
  ~Request() override { --source_.alive_; }
  bool advance() override {
    const std::lock_guard lock(source_.mutex_);
    EXPECT_EQ(source_.waiter_, nullptr) << "it goes on, and leaves a waiter behind";
    return source_.value_.has_value();
  }
  bool arm(detail::Waiter& waiter) override {
    const std::lock_guard lock(source_.mutex_);
    if (source_.value_) return false;
    EXPECT_EQ(source_.waiter_, nullptr) << "two waiters at a time";
    source_.waiter_ = &waiter;
    return true;
  }
  void disarm(detail::Waiter& waiter) noexcept override {
    const std::lock_guard lock(source_.mutex_);
    if (source_.waiter_ == &waiter) source_.waiter_ = nullptr;
  }
  bool help(detail::Help how) override { return source_.on_help && source_.on_help(how); }
  Executor& executor() const override { return source_.executor_; }
  ErrorDetails describe() const override {
    return {.operation = "read", .path = "data", .offset_bytes = 7};
  }
  Result<T> take() override { return std::move(*source_.value_); }

 private:
  Source& source_;
};

template <class T>
Future<T> Source<T>::future() {
  return Future<T>(std::make_unique<Request>(*this));
}

/// A coroutine that starts at once and cleans up after itself.
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

/// Blocks until the descriptor is readable; false after a minute.
inline bool becomes_readable(int descriptor) {
  pollfd entry{descriptor, POLLIN, 0};
  return ::poll(&entry, 1, 60'000) == 1;
}

/// How many descriptors this process has.
inline std::size_t open_descriptors() {
  const std::filesystem::directory_iterator entries("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(entries), end(entries)));
}

class FutureTest : public ::testing::Test {
 protected:
  EventLoop loop_;
  Source<int> source_{loop_};
};

}  // namespace forebay

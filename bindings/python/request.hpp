// SPDX-License-Identifier: Apache-2.0
// Request: the object of the Python class Future, and LoopExecutor, by which an asyncio event loop
// awaits any number of them through one descriptor.
#pragma once

#include <forebay/executor.hpp>
#include <forebay/future.hpp>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "bindings/python/memory.hpp"
#include "bindings/python/runtime_state.hpp"

namespace forebay::python {

class Request;

/// Completes Requests on the thread of an asyncio event loop.
class LoopExecutor : public std::enable_shared_from_this<LoopExecutor> {
 public:
  static std::shared_ptr<LoopExecutor> create();
  ~LoopExecutor();
  LoopExecutor(const LoopExecutor&) = delete;
  LoopExecutor& operator=(const LoopExecutor&) = delete;

  /// Readable when poll() may complete Requests.
  int descriptor() { return loop_.event_fd(); }
  /// Sets the asyncio futures of completed Requests. With the GIL, on the thread of the loop.
  void poll();
  /// The same without Python: sets them in the next poll(). Any thread.
  void advance();
  EventLoop& loop() noexcept { return loop_; }
  void add_completed(std::shared_ptr<Request> request);

 private:
  struct Nudge final : Work {
    Nudge() : Work{[](Work& work) noexcept { static_cast<Nudge&>(work).is_posted = false; }} {}
    std::atomic<bool> is_posted = false;
  };
  LoopExecutor() = default;
  EventLoop loop_;
  Nudge nudge_;  // makes the descriptor readable again
  std::mutex mutex_;
  std::vector<std::shared_ptr<Request>> completed_;
};

/// Advances the Requests of all event loops, so that those of a closed session end.
void advance_all_loops() noexcept;

/// A request in progress or finished, without its type. Calls with the GIL, from any thread.
class Request : public std::enable_shared_from_this<Request> {
 public:
  virtual ~Request() = default;

  bool is_done();
  /// Blocks without the GIL until the request is finished (true) or the limit has passed (false).
  bool wait(std::optional<double> limit_s);
  /// Returns the value, or raises the Error.
  nb::object result(std::optional<double> limit_s);
  /// The exception object; None after success.
  nb::object exception(std::optional<double> limit_s);
  /// False if the request is finished.
  bool cancel();
  bool is_cancelled() const noexcept { return is_cancelled_; }
  /// Completes `waiting`, an asyncio future, from executor.poll(). Returns true, without using it,
  /// if the request is finished already.
  bool watch(const std::shared_ptr<LoopExecutor>& executor, nb::object waiting);

 protected:
  // Under mutex_, without the GIL.
  virtual bool poll() = 0;
  virtual void cancel_future() = 0;
  virtual detail::PendingOperation* pending() = 0;
  /// With the GIL, once poll() is true. Call once.
  virtual nb::object take() = 0;

 private:
  friend class LoopExecutor;
  /// Wakes the event loop and the threads that wait for the request.
  struct AllWaiters final : detail::Waiter, Work {
    AllWaiters() : Work{&Request::run_posted, nullptr} {}
    void signal() noexcept override;
    bool has_helpers() const noexcept override {
      return executor && executor->loop().can_help_when_idle();
    }
    std::uint64_t signal_count();
    /// Blocks until another signal than the first `count` has come.
    void sleep(std::uint64_t count, std::chrono::steady_clock::time_point end);

    std::shared_ptr<Request> request;  // while an event loop waits
    std::shared_ptr<LoopExecutor> executor;
    std::atomic<bool> is_posted = false;

   private:
    std::mutex mutex_;
    std::condition_variable signaled_;
    std::uint64_t signals_ = 0;
  };
  static void run_posted(Work& work) noexcept;
  template <class F>
  bool use_future(F use);
  bool wait_until(std::chrono::steady_clock::time_point end);
  bool begin_watch(const std::shared_ptr<LoopExecutor>& executor);
  void disarm();
  bool arm();
  void rearm();
  void settle();

  std::mutex mutex_;  // never held by a thread that sleeps
  detail::OriginProcess origin_;
  AllWaiters waiter_;
  int waiting_threads_ = 0;
  bool is_cancelled_ = false;
  bool is_settled_ = false;
  nb::object value_ = nb::none();
  nb::object exception_ = nb::none();
  std::vector<nb::object> waiting_;  // asyncio futures
};

template <class T>
class TypedRequest final : public Request {
 public:
  using Convert = std::function<nb::object(T)>;
  TypedRequest(RuntimePointer runtime, MemoryPointer memory, Future<T> future, Convert convert)
      : runtime_(std::move(runtime)),
        memory_(std::move(memory)),
        future_(std::move(future)),
        convert_(std::move(convert)) {}

 private:
  bool poll() override { return future_.poll(); }
  void cancel_future() override { future_.cancel(); }
  detail::PendingOperation* pending() override { return detail::FutureAccess::pending(future_); }
  nb::object take() override {
    Result<T> taken = future_.wait();
    memory_.reset();
    return convert_(value_of(std::move(taken)));
  }

  RuntimePointer runtime_;
  MemoryPointer memory_;  // that the request fills
  Future<T> future_;
  Convert convert_;
};

template <class T, class Convert>
std::shared_ptr<Request> make_request(RuntimePointer runtime,
                                      MemoryPointer memory,
                                      Future<T> future,
                                      Convert convert) {
  return std::make_shared<TypedRequest<T>>(std::move(runtime), std::move(memory), std::move(future),
                                           std::move(convert));
}

void bind_requests(nb::module_& module);

}  // namespace forebay::python

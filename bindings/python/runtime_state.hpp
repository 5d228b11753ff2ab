// SPDX-License-Identifier: Apache-2.0
// RuntimeState: a Runtime as Python uses it. Views, futures and steps keep the Runtime alive, so
// close() never invalidates memory that arrays use. Threads of Forebay never take the GIL.
#pragma once

#include <forebay/runtime.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "bindings/python/failure.hpp"
#include "bindings/python/gil_release.hpp"

namespace forebay::python {

/// A wait wakes up this often to let Python handle signals, such as Ctrl-C.
inline constexpr std::chrono::milliseconds kSignalCheckInterval{50};

/// Deletes an object that may block, without the GIL, and only in the process that created it.
struct BlockingDeleter {
  detail::OriginProcess origin = {};

  template <class T>
  void operator()(T* object) const {
    if (!origin.is_current()) return detail::leak_object(object);
    if (!has_gil()) {
      delete object;
      return;
    }
    const GilRelease released;
    delete object;
  }
};

using RuntimePointer = std::shared_ptr<Runtime>;

/// A thread that makes blocking calls for the main thread, which meanwhile handles signals.
class BlockingCaller {
 public:
  BlockingCaller() = default;
  ~BlockingCaller() { abandon(std::move(shared_)); }
  BlockingCaller(const BlockingCaller&) = delete;
  BlockingCaller& operator=(const BlockingCaller&) = delete;

  /// Runs `work` to its end. If a signal handler of Python raises meanwhile, throws that exception
  /// and leaves `work` to its thread. A handler may call run(). `work` must not use Python.
  void run(std::function<void()> work);

 private:
  struct Shared;
  static std::shared_ptr<Shared> start_thread();
  void abandon(std::shared_ptr<Shared> shared) noexcept;
  std::shared_ptr<Shared> shared_;  // the idle thread; null during its work
  detail::OriginProcess origin_;
};

/// An object that Runtime.close() also closes. All calls with the GIL.
class Closable {
 public:
  virtual ~Closable() = default;
  /// Waits for what is in progress, and raises its Error. After an interrupt, the object is open.
  virtual void close() = 0;
  /// The same without an Error or an interrupt.
  virtual void drop() noexcept = 0;
};

/// State that the objects of a Runtime share. All calls with the GIL.
struct RuntimeContext {
  BlockingCaller caller;
  bool is_alone = true;  ///< with ranks, MPI may permit calls to one thread alone
  std::vector<std::weak_ptr<Closable>> children = {};

  void add(const std::shared_ptr<Closable>& child);
  /// Makes a blocking call without the GIL, interrupted by signals on the main thread. `work` owns
  /// what it uses.
  template <class F>
  std::invoke_result_t<F> call(F work);
};
using ContextPointer = std::shared_ptr<RuntimeContext>;

/// The object of the Python class Runtime. All calls with the GIL.
class RuntimeState {
 public:
  explicit RuntimeState(RuntimePointer runtime);
  ~RuntimeState() { drop(); }
  RuntimeState(const RuntimeState&) = delete;
  RuntimeState& operator=(const RuntimeState&) = delete;

  /// Throws kClosed after close() and in a child of fork().
  RuntimePointer runtime(const char* operation) const;
  const ContextPointer& context() const noexcept { return context_; }
  /// Closes all sessions, streams and datasets, and raises the first Error that is not the
  /// cancellation of a stream. The Runtime ends with the last view and future. After an interrupt,
  /// the Runtime and what is not closed yet are open.
  void close();
  /// The same without an Error or an interrupt.
  void drop() noexcept;

 private:
  RuntimePointer runtime_;
  ContextPointer context_;
  detail::OriginProcess origin_;
};

/// True on the thread on which Python handles signals.
bool is_main_thread() noexcept;

template <class F>
std::invoke_result_t<F> RuntimeContext::call(F work) {
  if (!is_alone || !is_main_thread()) {
    const GilRelease released;
    return work();
  }
  using Value = std::invoke_result_t<F>;
  struct Call {
    F work;
    std::optional<Value> value = std::nullopt;
  };
  auto made = std::make_shared<Call>(Call{std::move(work)});
  caller.run([made] { made->value.emplace(made->work()); });
  return std::move(*made->value);
}

/// An object of the C++ interface with the Runtime that it needs.
template <class T>
struct Live {
  RuntimePointer runtime;
  T value;
};
template <class T>
using LivePointer = std::shared_ptr<Live<T>>;

template <class T>
LivePointer<T> make_live(RuntimePointer runtime, T value) {
  return LivePointer<T>(new Live<T>{std::move(runtime), std::move(value)}, BlockingDeleter());
}

/// The object of a Python class: a handle that close() empties.
template <class T>
class Handle : public Closable {
 public:
  Handle(LivePointer<T> live, ContextPointer context)
      : live_(std::move(live)), context_(std::move(context)) {}

  void close() override {
    if (!live_) return;
    const Status ended = finish();
    drop();
    check(ended);
  }
  void drop() noexcept override { live_.reset(); }
  bool is_open() const noexcept { return live_ != nullptr; }
  /// Throws kClosed after close() and in a child of fork().
  LivePointer<T> live(const char* operation) const {
    check(origin_.check(operation));
    if (!live_)
      throw Failure(Error({.kind = ErrorClass::kClosed,
                           .operation = operation,
                           .cause = "the object is closed, or its Runtime is; open it again"}));
    return live_;
  }
  T& value(const char* operation) const { return live(operation)->value; }
  template <class F>
  std::invoke_result_t<F> call(F work) const {
    return context_->call(std::move(work));
  }
  const ContextPointer& context() const noexcept { return context_; }

 private:
  Status finish() const {
    if constexpr (std::is_same_v<T, DatasetWriter>)
      return call([held = live("close")] { return held->value.close(); });
    else if constexpr (std::is_same_v<T, OutputStream>)
      return call([held = live("close")] { return held->value.drain(); });
    else
      return {};
  }

  LivePointer<T> live_;
  ContextPointer context_;
  detail::OriginProcess origin_;
};

/// Makes the object of a Python class, which Runtime.close() also closes.
template <class Object, class T>
std::shared_ptr<Object> make_handle(const ContextPointer& context,
                                    RuntimePointer runtime,
                                    T value) {
  auto made = std::make_shared<Object>(make_live(std::move(runtime), std::move(value)), context);
  context->add(made);
  return made;
}

void bind_runtime(nb::module_& module);

}  // namespace forebay::python

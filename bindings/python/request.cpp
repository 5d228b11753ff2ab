// SPDX-License-Identifier: Apache-2.0
#include "bindings/python/request.hpp"

#include <algorithm>
#include <cmath>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/typing.h>

namespace forebay::python {

namespace {

std::mutex executors_mutex;
std::vector<std::weak_ptr<LoopExecutor>> executors;

/// Permits a task to copy all of its bytes from the page cache: that takes less time than to
/// suspend and resume it. Never used to post.
struct InlineCopies final : Executor {
  void post(Work& /*work*/) noexcept override {}
  bool try_acquire_inline_copy() noexcept override { return true; }
};

std::chrono::nanoseconds nanoseconds_of(double seconds) {
  if (std::isnan(seconds)) refuse("wait", "the timeout is not a number");
  constexpr double kYear = 3.2e7;
  const double limited = std::clamp(seconds, 0.0, kYear);
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
      std::chrono::duration<double>(limited));
}

}  // namespace

std::shared_ptr<LoopExecutor> LoopExecutor::create() {
  std::shared_ptr<LoopExecutor> made(new LoopExecutor);
  const std::lock_guard lock(executors_mutex);
  std::erase_if(executors, [](const auto& kept) { return kept.expired(); });
  executors.push_back(made);
  return made;
}

LoopExecutor::~LoopExecutor() {
  for (auto& request : completed_)
    drop_with_gil(std::move(request));
}

void LoopExecutor::add_completed(std::shared_ptr<Request> request) {
  const std::lock_guard lock(mutex_);
  completed_.push_back(std::move(request));
}

void LoopExecutor::advance() {
  loop_.poll();
  const std::lock_guard lock(mutex_);
  if (!completed_.empty() && !nudge_.is_posted.exchange(true)) loop_.post(nudge_);
}

void LoopExecutor::poll() {
  std::vector<std::shared_ptr<Request>> completed;
  {
    const GilRelease released;
    loop_.poll();
    const std::lock_guard lock(mutex_);
    completed.swap(completed_);
  }
  for (const auto& request : completed)
    for (const nb::object& waiting : std::exchange(request->waiting_, {}))
      if (!nb::cast<bool>(waiting.attr("done")())) waiting.attr("set_result")(nb::none());
}

void advance_all_loops() noexcept {
  std::vector<std::weak_ptr<LoopExecutor>> all;
  {
    const std::lock_guard lock(executors_mutex);
    all = executors;
  }
  const GilRelease released;
  for (const auto& one : all)
    if (const auto executor = one.lock()) executor->advance();
}

void Request::AllWaiters::signal() noexcept {
  {
    const std::lock_guard lock(mutex_);
    ++signals_;
    signaled_.notify_all();
  }
  if (executor && !is_posted.exchange(true)) executor->loop().post(*this);
}

std::uint64_t Request::AllWaiters::signal_count() {
  const std::lock_guard lock(mutex_);
  return signals_;
}

void Request::AllWaiters::sleep(std::uint64_t count, std::chrono::steady_clock::time_point end) {
  std::unique_lock lock(mutex_);
  signaled_.wait_until(lock, end, [&] { return signals_ != count; });
}

void Request::run_posted(Work& work) noexcept {
  auto& waiter = static_cast<AllWaiters&>(work);
  std::shared_ptr<Request> request = waiter.request;
  std::shared_ptr<LoopExecutor> executor;  // null while a signal will come
  {
    const std::lock_guard lock(request->mutex_);
    request->disarm();
    waiter.is_posted.store(false);  // no signal posts the work meanwhile
    if (!request->arm()) {
      executor = std::move(waiter.executor);
      waiter.request.reset();
      waiter.signal();  // threads wait for the result, too
    }
  }
  // Without the GIL, this must not be the last reference.
  if (executor)
    executor->add_completed(std::move(request));
  else
    drop_with_gil(std::move(request));
}

/// The request is not signaled afterwards. Precedes each use of the future.
void Request::disarm() {
  if (pending() != nullptr) pending()->disarm(waiter_);
}

/// True if a signal will come; false if the request is finished.
bool Request::arm() {
  while (!poll())
    if (pending()->arm(waiter_)) return true;
  return false;
}

/// Arms the waiter again, for the event loop and the threads that wait.
void Request::rearm() {
  if ((waiter_.executor || waiting_threads_ > 0) && !arm()) waiter_.signal();
}

/// Calls `use` without the GIL while no waiter is armed.
template <class F>
bool Request::use_future(F use) {
  check(origin_.check("use a future"));
  const GilRelease released;
  const std::lock_guard lock(mutex_);
  disarm();
  const bool result = use();
  rearm();
  return result;
}

/// True if the request is finished; false at `end`.
bool Request::wait_until(std::chrono::steady_clock::time_point end) {
  check(origin_.check("use a future"));
  const GilRelease released;
  std::unique_lock lock(mutex_);
  bool is_finished = false;
  while (true) {
    disarm();
    is_finished = poll();
    if (is_finished || std::chrono::steady_clock::now() >= end) break;
    if (pending()->help(detail::Help::kCopy)) continue;
    const std::uint64_t count = waiter_.signal_count();
    is_finished = !arm();
    if (is_finished) break;
    ++waiting_threads_;
    lock.unlock();
    waiter_.sleep(count, end);
    lock.lock();
    --waiting_threads_;
  }
  rearm();
  return is_finished;
}

bool Request::watch(const std::shared_ptr<LoopExecutor>& executor, nb::object waiting) {
  drop_deferred();
  check(origin_.check("await"));
  if (begin_watch(executor)) return true;
  waiting_.push_back(std::move(waiting));
  return false;
}

bool Request::begin_watch(const std::shared_ptr<LoopExecutor>& executor) {
  const GilRelease released;
  const std::lock_guard lock(mutex_);
  if (waiter_.executor) {
    if (waiter_.executor != executor) refuse("await", "another event loop awaits this future");
    return false;
  }
  InlineCopies copies;
  disarm();
  if (poll() || (detail::copy_inline(*pending(), copies) && poll())) {
    rearm();
    return true;
  }
  waiter_.executor = executor;
  waiter_.request = shared_from_this();
  if (arm()) return false;
  waiter_.executor.reset();
  waiter_.request.reset();
  rearm();
  return true;
}

bool Request::is_done() {
  return is_settled_ || use_future([this] { return poll(); });
}

bool Request::wait(std::optional<double> limit_s) {
  using Clock = std::chrono::steady_clock;
  if (is_done()) return true;
  const auto limit = limit_s ? nanoseconds_of(*limit_s) : std::chrono::nanoseconds(INT64_MAX / 4);
  const Clock::time_point end = Clock::now() + limit;
  while (Clock::now() < end) {
    const auto slice = std::min<std::chrono::nanoseconds>(kSignalCheckInterval, end - Clock::now());
    if (wait_until(Clock::now() + slice)) return true;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
  }
  return false;
}

void Request::settle() {
  if (is_settled_) return;
  is_settled_ = true;
  try {
    value_ = take();
  } catch (const Failure& failure) {
    exception_ = to_python(failure.error);
  } catch (nb::python_error& raised) {
    exception_ = nb::borrow(raised.value());
  }
}

nb::object Request::exception(std::optional<double> limit_s) {
  if (!wait(limit_s)) {
    PyErr_SetString(PyExc_TimeoutError, "the request is still in progress");
    throw nb::python_error();
  }
  settle();
  return exception_;
}

nb::object Request::result(std::optional<double> limit_s) {
  const nb::object raised = exception(limit_s);
  if (raised.is_none()) return value_;
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(raised.ptr())), raised.ptr());
  throw nb::python_error();
}

bool Request::cancel() {
  if (is_settled_) return false;
  const bool was_done = use_future([this] {
    if (poll()) return true;
    cancel_future();
    return false;
  });
  is_cancelled_ = is_cancelled_ || !was_done;
  return !was_done;
}

void bind_requests(nb::module_& module) {
  hold_during_fork<executors_mutex>();
  nb::class_<LoopExecutor>(module, "LoopExecutor",
                           "Completes futures on the thread of an event loop, through one "
                           "descriptor. For forebay.event_loops.")
      .def(nb::new_(&LoopExecutor::create))
      .def("fileno", &LoopExecutor::descriptor, "Readable when poll() may complete futures.")
      .def("poll", &LoopExecutor::poll, "Completes futures. Never blocks.")
      .def(
          "watch",
          [](const std::shared_ptr<LoopExecutor>& executor, Request& request, nb::object waiting) {
            return request.watch(executor, std::move(waiting));
          },
          nb::arg("future"), nb::arg("waiting"),
          nb::sig("def watch(self, future: Future[typing.Any], waiting: typing.Any) -> bool"),
          "Completes `waiting` from poll(). True if `future` is finished already.");
  module.attr("T") = nb::type_var("T");
  nb::class_<Request>(
      module, "Future", nb::is_generic(), nb::sig("class Future(typing.Generic[T])"),
      "The result of a request: `await future`, or `future.result()`. Used from any "
      "thread. A dropped future ends its request to read; a commit continues.")
      .def("done", &Request::is_done, "True if the result is available. Never blocks.")
      .def("result", &Request::result, nb::arg("timeout") = nb::none(),
           nb::sig("def result(self, timeout: float | None = None) -> T"),
           "Blocks, without the GIL, until the request is finished. Returns its value or raises "
           "its Error. Raises TimeoutError after `timeout` seconds.")
      .def("exception", &Request::exception, nb::arg("timeout") = nb::none(),
           nb::sig("def exception(self, timeout: float | None = None) -> Exception | None"),
           "The Error of the request; None after success. Blocks as result().")
      .def("cancel", &Request::cancel,
           "Ends an unfinished request: its result is a CancelledError, and its memory is not "
           "filled afterwards. False if it is finished.")
      .def("cancelled", &Request::is_cancelled, "True after a cancel() that returned True.")
      .def(
          "__await__",
          [](nb::handle self) {
            static const auto* const wait =
                new nb::object(nb::module_::import_("forebay.event_loops").attr("wait"));
            return (*wait)(self);
          },
          nb::sig("def __await__(self) -> typing.Generator[typing.Any, None, T]"));
}

}  // namespace forebay::python

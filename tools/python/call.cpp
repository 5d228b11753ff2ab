// SPDX-License-Identifier: Apache-2.0
#include "tools/python/call.hpp"

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

#include <nanobind/stl/string.h>

#include "base/service_thread.hpp"
#include "command/command_result.hpp"

namespace forebay::tools {

namespace {

using probe::ProgressStep;

constexpr std::chrono::milliseconds kPollInterval{50};

void set_native_error(const Error& error, const char* tool) noexcept {
  try {
    const nb::object type = nb::module_::import_("forebay.errors").attr("NativeError");
    const nb::object made = type(to_python(command::to_json(error)), nb::arg("program") = tool);
    PyErr_SetObject(type.ptr(), made.ptr());
  } catch (nb::python_error& raised) {
    raised.restore();
  }
}

/// Work on another thread, as its caller sees it.
class RunningWork {
 public:
  using Work = std::function<void(const probe::ProgressSink&)>;
  explicit RunningWork(Work work) : work_(std::move(work)) {}

  /// On the thread of the work.
  void run() noexcept {
    std::optional<Error> failed;
    try {
      work_([this](const ProgressStep& step) { return report(step); });
    } catch (const std::exception& caught) {
      failed.emplace(ErrorDetails{.kind = ErrorClass::kException, .cause = caught.what()});
    }
    const std::lock_guard lock(mutex_);
    failed_ = std::move(failed);
    is_done_ = true;
    ended_.notify_one();
  }

  /// Waits for the end, at most for the interval. Without the GIL.
  bool wait() {
    std::unique_lock lock(mutex_);
    return ended_.wait_for(lock, kPollInterval, [this] { return is_done_; });
  }
  /// The latest step of each piece of work that was not taken.
  std::vector<ProgressStep> take_steps() {
    const std::lock_guard lock(mutex_);
    return std::exchange(steps_, {});
  }
  void cancel() {
    const std::lock_guard lock(mutex_);
    is_cancelled_ = true;
  }
  /// After the end.
  const std::optional<Error>& failed() const { return failed_; }

 private:
  bool report(const ProgressStep& step) {
    const std::lock_guard lock(mutex_);
    if (!steps_.empty() && steps_.back().what == step.what) steps_.pop_back();
    steps_.push_back(step);
    return !is_cancelled_;
  }

  const Work work_;
  std::mutex mutex_;  // guards the members below
  std::condition_variable ended_;
  std::vector<ProgressStep> steps_;
  std::optional<Error> failed_;
  bool is_done_ = false;
  bool is_cancelled_ = false;
};

void pass_progress(RunningWork& running, const nb::object& on_progress) {
  if (on_progress.is_none()) return;
  for (const ProgressStep& step : running.take_steps())
    on_progress(nb::module_::import_("forebay.native")
                    .attr("Progress")(step.done, step.total, step.unit, to_text(step.what)));
}

bool wait_without_gil(RunningWork& running) {
  const nb::gil_scoped_release released;
  return running.wait();
}

void attend(RunningWork& running, const nb::object& on_progress) {
  bool is_done = false;
  while (!is_done) {
    is_done = wait_without_gil(running);
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
    pass_progress(running, on_progress);
  }
}

}  // namespace

void raise_error(const Error& error, const char* tool) {
  set_native_error(error, tool);
  throw nb::python_error();
}

void register_failures() {
  nb::register_exception_translator([](const std::exception_ptr& thrown, void* /*payload*/) {
    try {
      std::rethrow_exception(thrown);
    } catch (const python::Failure& failure) {
      set_native_error(failure.error, "");
    }
  });
}

void run(const nb::object& on_progress,
         std::function<void(const probe::ProgressSink& progress)> work) {
  const auto running = std::make_shared<RunningWork>(std::move(work));
  auto thread = start_service_thread("forebay-tool", [running] { running->run(); });
  if (!thread) raise_error(thread.error());
  thread->detach();  // it has ended when RunningWork has, except for its exit
  try {
    attend(*running, on_progress);
  } catch (...) {
    running->cancel();
    while (!wait_without_gil(*running))
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
    throw;
  }
  if (running->failed()) raise_error(*running->failed());
}

std::string path_of(const nb::object& path) {
  PyObject* bytes = nullptr;
  if (PyUnicode_FSConverter(path.ptr(), &bytes) == 0) throw nb::python_error();
  const auto owner = nb::steal<nb::bytes>(bytes);
  return {owner.c_str(), owner.size()};
}

std::vector<std::string> names_of(const nb::object& names) {
  std::vector<std::string> made;
  if (names.is_none()) return made;
  for (const nb::handle name : names)
    made.push_back(path_of(nb::borrow(name)));
  return made;
}

}  // namespace forebay::tools

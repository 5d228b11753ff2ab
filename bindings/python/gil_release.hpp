// SPDX-License-Identifier: Apache-2.0
// GilRelease: a scope without the GIL that is safe at the exit of Python. From then on, Python ends
// a thread that requests the GIL by an exit through all its C++ frames, which would abort. Here
// such threads, which are daemon threads, sleep until the process has ended.
#pragma once

#include <mutex>

#include <nanobind/nanobind.h>
#include <pthread.h>

namespace forebay::python {

/// True if this thread has the GIL. Also at the exit of Python, where PyGILState_Check() alone is
/// true for all threads.
inline bool has_gil() noexcept {
  return PyGILState_GetThisThreadState() != nullptr && PyGILState_Check() != 0;
}

/// Holds `kMutex`, under which no thread requests the GIL, during each fork(), so that it is free
/// in the child. Call once.
template <std::mutex& kMutex>
void hold_during_fork() {
  ::pthread_atfork([] { kMutex.lock(); }, [] { kMutex.unlock(); }, [] { kMutex.unlock(); });
}

/// Releases the GIL, which this thread has. No Python in its scope.
class GilRelease {
 public:
  GilRelease() noexcept : state_(PyEval_SaveThread()) {}
  ~GilRelease();
  GilRelease(const GilRelease&) = delete;
  GilRelease& operator=(const GilRelease&) = delete;

  /// Call once, before the first object.
  static void initialize();
  /// No thread but this one gets the GIL back after this. Call at the exit of Python, with the GIL.
  static void stop_other_threads();

 private:
  PyThreadState* state_;
};

}  // namespace forebay::python

// SPDX-License-Identifier: Apache-2.0
// How MPI is called: by a thread that may, and with the outcome as a Status. All calls of MPI that
// have an effect go through here.
#pragma once

#include <forebay/error.hpp>

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include <mpi.h>

#include "comm/communicator.hpp"

namespace forebay::comm {

/// An Error with the class that matches the MPI error `code`, and MPI's text.
Error mpi_error(ErrorDetails details, int code);

/// The same for an error class of MPI and its text. If the class is a general one, as ROMIO's is, a
/// full disk or quota is recognized by the text; the errno is set then, too.
Error mpi_error_of_class(ErrorDetails details, int error_class, const std::string& text);

/// The level that MPI was initialized with. Any thread; MPI must be initialized.
ThreadSupport mpi_thread_support();

/// The right of this thread to call MPI, held for the lifetime of the object.
class MpiCallGuard {
 public:
  /// Fails with kUnsupported if this thread may not call MPI at all, with kClosed if MPI is
  /// finalized. With kSerialized it waits for other threads of ours.
  static Result<MpiCallGuard> acquire(ThreadSupport support, const ErrorDetails& what);

 private:
  std::unique_lock<std::mutex> lock_;  // held during each of our calls if they must not overlap
};

/// Calls `call()`, which returns an MPI code, if this thread may.
template <class Call>
Status mpi_call(ThreadSupport support, const ErrorDetails& what, Call call) {
  const Result<MpiCallGuard> guard = MpiCallGuard::acquire(support, what);
  if (!guard) return failure(guard.error());
  const int code = call();
  if (code == MPI_SUCCESS) return {};
  return failure(mpi_error(what, code));
}

/// An error handler of MPI that is ours to free.
struct MpiErrorHandler {
  MpiErrorHandler(MPI_Errhandler owned, ThreadSupport threads) noexcept
      : handle(owned), support(threads) {}
  MpiErrorHandler(const MpiErrorHandler&) = delete;
  MpiErrorHandler& operator=(const MpiErrorHandler&) = delete;
  /// As ~MpiCommHandle().
  ~MpiErrorHandler();

  const MPI_Errhandler handle;
  const ThreadSupport support;
};

/// How communicators of one origin are used.
struct MpiCommSettings {
  ThreadSupport support = ThreadSupport::kSingle;
  std::uint64_t piece_bytes = 0;
  std::shared_ptr<const MpiErrorHandler> application_error_handler = nullptr;
};

/// A communicator of MPI that is ours to free, and how it may be used.
struct MpiCommHandle : MpiCommSettings {
  MpiCommHandle(MPI_Comm owned, MpiCommSettings how) noexcept
      : MpiCommSettings(std::move(how)), handle(owned) {}
  MpiCommHandle(const MpiCommHandle&) = delete;
  MpiCommHandle& operator=(const MpiCommHandle&) = delete;
  /// Frees it, unless MPI is finalized already or this thread may not call MPI.
  ~MpiCommHandle();

  template <class Call>
  Status call(const ErrorDetails& what, Call call) const {
    return mpi_call(support, what, call);
  }

  const MPI_Comm handle;
};

}  // namespace forebay::comm

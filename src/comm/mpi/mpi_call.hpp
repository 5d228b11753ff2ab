// SPDX-License-Identifier: Apache-2.0
// mpi_call(): checks that the calling thread may call MPI, and returns the outcome as a Status. All
// MPI calls with an effect are made through it or under an MpiCallGuard.
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

/// The same for an error class of MPI and its text. For a full disk or quota the Error also has
/// ENOSPC or EDQUOT. ROMIO reports both with a general class; MPI's text then names the cause.
Error mpi_error_of_class(ErrorDetails details, int error_class, const std::string& text);

/// The level that MPI was initialized with. Any thread; MPI must be initialized.
ThreadSupport mpi_thread_support();

/// The right of this thread to call MPI, held for the lifetime of the object.
class MpiCallGuard {
 public:
  /// Fails with kUnsupported if this thread may not call MPI at all, with kClosed if MPI is
  /// finalized. With kSerialized, blocks while another thread holds a guard.
  static Result<MpiCallGuard> acquire(ThreadSupport support, const ErrorDetails& what);

 private:
  std::unique_lock<std::mutex> lock_;  // kSerialized: of a mutex of the process
};

/// Runs `call()`, which returns an MPI error code, under an MpiCallGuard.
template <class Call>
Status mpi_call(ThreadSupport support, const ErrorDetails& what, Call call) {
  const Result<MpiCallGuard> guard = MpiCallGuard::acquire(support, what);
  if (!guard) return failure(guard.error());
  const int code = call();
  if (code == MPI_SUCCESS) return {};
  return failure(mpi_error(what, code));
}

/// Owns an error handler of MPI.
struct MpiErrorHandler {
  MpiErrorHandler(MPI_Errhandler owned, ThreadSupport threads) noexcept
      : handle(owned), support(threads) {}
  MpiErrorHandler(const MpiErrorHandler&) = delete;
  MpiErrorHandler& operator=(const MpiErrorHandler&) = delete;
  /// Frees it, under the conditions of ~MpiCommHandle().
  ~MpiErrorHandler();

  const MPI_Errhandler handle;
  const ThreadSupport support;
};

/// Settings of a from_mpi() call, shared by all communicators derived from its result.
struct MpiCommSettings {
  ThreadSupport support = ThreadSupport::kSingle;
  std::uint64_t part_bytes = 0;
  std::shared_ptr<const MpiErrorHandler> application_error_handler = nullptr;
};

/// Owns a communicator of MPI, and holds its settings.
struct MpiCommHandle : MpiCommSettings {
  MpiCommHandle(MPI_Comm owned, MpiCommSettings settings) noexcept
      : MpiCommSettings(std::move(settings)), handle(owned) {}
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

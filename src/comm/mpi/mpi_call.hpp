// SPDX-License-Identifier: Apache-2.0
// How MPI is called: by a thread that may, and with the outcome as a Status. Nothing calls MPI for
// its effect except through here.
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

/// What MPI says of a failure: the class of Error that fits, and its words.
Error mpi_error(ErrorDetails details, int code);

/// The same for an error class of MPI and its text. A full disk or quota is told apart by the text
/// where the class is a general one, as that of ROMIO is; the errno is set then, too.
Error mpi_error_of_class(ErrorDetails details, int error_class, const std::string& text);

/// The level that MPI was initialised with. Any thread; MPI must be initialised.
ThreadSupport mpi_thread_support();

/// The right of this thread to call MPI, held for as long as the object lives.
class MpiTurn {
 public:
  /// Fails with kUnsupported if this is a thread that may not call MPI at all, with kClosed if MPI
  /// is finalized. With kSerialized it waits for other threads of ours.
  static Result<MpiTurn> take(ThreadSupport support, const ErrorDetails& what);

 private:
  std::unique_lock<std::mutex> lock_;  // of all calls of ours, where they must not overlap
};

/// Calls `call()`, which returns a code of MPI, if this thread may.
template <class Call>
Status mpi_call(ThreadSupport support, const ErrorDetails& what, Call call) {
  const Result<MpiTurn> turn = MpiTurn::take(support, what);
  if (!turn) return failure(turn.error());
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
  /// As ~MpiGroup().
  ~MpiErrorHandler();

  const MPI_Errhandler handle;
  const ThreadSupport support;
};

/// How communicators of one origin are used.
struct MpiHabits {
  ThreadSupport support = ThreadSupport::kSingle;
  std::uint64_t piece_bytes = 0;
  std::shared_ptr<const MpiErrorHandler> application_errors = nullptr;  ///< the application's own
};

/// A communicator of MPI that is ours to free, and how it may be used.
struct MpiGroup : MpiHabits {
  MpiGroup(MPI_Comm owned, MpiHabits how) noexcept : MpiHabits(std::move(how)), handle(owned) {}
  MpiGroup(const MpiGroup&) = delete;
  MpiGroup& operator=(const MpiGroup&) = delete;
  /// Frees it, unless MPI is finalized already or this thread may not.
  ~MpiGroup();

  template <class Call>
  Status call(const ErrorDetails& what, Call call) const {
    return mpi_call(support, what, call);
  }

  const MPI_Comm handle;
};

}  // namespace forebay::comm

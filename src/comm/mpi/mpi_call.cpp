// SPDX-License-Identifier: Apache-2.0
// Classes and texts of MPI's errors, and rules of its thread levels.
#include "comm/mpi/mpi_call.hpp"

#include <algorithm>
#include <cerrno>
#include <string>
#include <string_view>

namespace forebay::comm {

namespace {

ErrorClass kind_of(int error_class) noexcept {
  switch (error_class) {
    case MPI_ERR_NO_SUCH_FILE:
      return ErrorClass::kNotFound;
    case MPI_ERR_ACCESS:
    case MPI_ERR_READ_ONLY:
      return ErrorClass::kPermission;
    case MPI_ERR_NO_MEM:
      return ErrorClass::kLimit;
    case MPI_ERR_UNSUPPORTED_OPERATION:
    case MPI_ERR_UNSUPPORTED_DATAREP:
      return ErrorClass::kUnsupported;
    case MPI_ERR_TRUNCATE:
    case MPI_ERR_COUNT:
    case MPI_ERR_COMM:
    case MPI_ERR_RANK:
    case MPI_ERR_ROOT:
    case MPI_ERR_TAG:
    case MPI_ERR_ARG:
    case MPI_ERR_AMODE:
    case MPI_ERR_BAD_FILE:
      return ErrorClass::kInvalidArgument;
    default:
      return ErrorClass::kIo;
  }
}

/// ENOSPC, EDQUOT, or 0 for any other error. ROMIO returns MPI_ERR_IO for both, with the text of
/// strerror().
int no_space_errno(int error_class, std::string_view text) noexcept {
  const auto contains = [text](std::string_view words) { return text.find(words) != text.npos; };
  if (error_class == MPI_ERR_QUOTA) return EDQUOT;
  if (error_class == MPI_ERR_NO_SPACE) return ENOSPC;
  if (error_class != MPI_ERR_IO && error_class != MPI_ERR_OTHER) return 0;
  if (contains("Disk quota")) return EDQUOT;
  return contains("No space left") ? ENOSPC : 0;
}

/// Replaces newlines by spaces, and drops trailing ones.
std::string single_line(std::string text) {
  while (!text.empty() && text.back() == '\n')
    text.pop_back();
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

std::string text_of(int code) {
  char text[MPI_MAX_ERROR_STRING + 1] = {};
  int length = 0;
  if (MPI_Error_string(code, text, &length) != MPI_SUCCESS) return "an unknown error";
  return single_line(std::string(text, static_cast<std::size_t>(length)));
}

/// One for the process: MPI_THREAD_SERIALIZED forbids overlapping calls on any communicators.
std::mutex& serial_mutex() {
  static std::mutex mutex;
  return mutex;
}

bool is_finalized() {
  int flag = 0;
  MPI_Finalized(&flag);
  return flag != 0;
}

bool is_main_thread() {
  int flag = 0;
  MPI_Is_thread_main(&flag);
  return flag != 0;
}

}  // namespace

Error mpi_error(ErrorDetails details, int code) {
  int error_class = MPI_ERR_OTHER;
  MPI_Error_class(code, &error_class);
  return mpi_error_of_class(std::move(details), error_class, text_of(code));
}

Error mpi_error_of_class(ErrorDetails details, int error_class, const std::string& text) {
  details.cause = "MPI error class " + std::to_string(error_class) + ": " + text;
  if (const int error_number = no_space_errno(error_class, text))
    return system_error(details, error_number);
  details.kind = kind_of(error_class);
  return Error(std::move(details));
}

ThreadSupport mpi_thread_support() {
  int level = MPI_THREAD_SINGLE;
  MPI_Query_thread(&level);
  if (level >= MPI_THREAD_MULTIPLE) return ThreadSupport::kMultiple;
  if (level >= MPI_THREAD_SERIALIZED) return ThreadSupport::kSerialized;
  if (level >= MPI_THREAD_FUNNELED) return ThreadSupport::kFunneled;
  return ThreadSupport::kSingle;
}

Result<MpiCallGuard> MpiCallGuard::acquire(ThreadSupport support, const ErrorDetails& what) {
  MpiCallGuard guard;
  if (support == ThreadSupport::kSerialized) guard.lock_ = std::unique_lock(serial_mutex());
  if (is_finalized()) {
    ErrorDetails details = what;
    details.kind = ErrorClass::kClosed;
    details.cause = "MPI has been finalized";
    return failure(std::move(details));
  }
  const bool is_any_thread_allowed = support >= ThreadSupport::kSerialized;
  if (is_any_thread_allowed || is_main_thread()) return guard;
  ErrorDetails details = what;
  details.kind = ErrorClass::kUnsupported;
  details.cause = "MPI was initialized with thread level " + std::string(name_of(support)) +
                  ", and this is not the thread that did so; request MPI_THREAD_MULTIPLE";
  return failure(std::move(details));
}

MpiErrorHandler::~MpiErrorHandler() {
  MPI_Errhandler to_free = handle;
  static_cast<void>(mpi_call(support, {.operation = "free an error handler"},
                             [&to_free] { return MPI_Errhandler_free(&to_free); }));
}

MpiCommHandle::~MpiCommHandle() {
  MPI_Comm to_free = handle;
  // A destructor cannot return the outcome.
  static_cast<void>(
      call({.operation = "free a communicator"}, [&to_free] { return MPI_Comm_free(&to_free); }));
}

}  // namespace forebay::comm

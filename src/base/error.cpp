// SPDX-License-Identifier: Apache-2.0
// Texts of failures: names of classes, the line for people, and the class of a failed system call.
#include <forebay/error.hpp>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/printable.hpp"

namespace forebay {

namespace {

ErrorClass class_of(int error_number) noexcept {
  switch (error_number) {
    case ENOENT:
    case ENOTDIR:
    case ENXIO:
      return ErrorClass::kNotFound;
    case EACCES:
    case EPERM:
    case EROFS:
      return ErrorClass::kPermission;
    case ENOSPC:
    case EDQUOT:
      return ErrorClass::kNoSpace;
    case EINVAL:
    case EISDIR:
    case ELOOP:
    case ENAMETOOLONG:
    case EBADF:
    case ESPIPE:
      return ErrorClass::kInvalidArgument;
    case EMFILE:
    case ENFILE:
    case ENOMEM:
    case EFBIG:
      return ErrorClass::kLimit;
    case EOPNOTSUPP:
    case ENOSYS:
      return ErrorClass::kUnsupported;
    case ECANCELED:
      return ErrorClass::kCancelled;
    default:
      return ErrorClass::kIo;
  }
}

/// "Input/output error (EIO)".
std::string describe(int error_number) {
  const char* const text = ::strerrordesc_np(error_number);
  const char* const name = ::strerrorname_np(error_number);
  if (text == nullptr || name == nullptr) return "error " + std::to_string(error_number);
  return std::string(text) + " (" + name + ")";
}

}  // namespace

std::string_view name_of(ErrorClass kind) noexcept {
  switch (kind) {
    case ErrorClass::kInvalidArgument:
      return "invalid-argument";
    case ErrorClass::kNotFound:
      return "not-found";
    case ErrorClass::kExists:
      return "exists";
    case ErrorClass::kPermission:
      return "permission";
    case ErrorClass::kIo:
      return "io";
    case ErrorClass::kNoSpace:
      return "no-space";
    case ErrorClass::kShortFile:
      return "short-file";
    case ErrorClass::kOutOfRange:
      return "out-of-range";
    case ErrorClass::kDamage:
      return "damage";
    case ErrorClass::kCancelled:
      return "cancelled";
    case ErrorClass::kClosed:
      return "closed";
    case ErrorClass::kLimit:
      return "limit";
    case ErrorClass::kUnsupported:
      return "unsupported";
    case ErrorClass::kException:
      return "exception";
  }
  return "unknown";
}

Error::Error(ErrorDetails details)
    : details_(std::make_shared<const ErrorDetails>(std::move(details))) {}

std::string Error::message() const {
  std::string text = operation();
  const auto append = [&text](std::string_view separator, std::string_view part) {
    if (part.empty()) return;
    if (!text.empty()) text += separator;
    text += part;
  };
  append(" ", path());
  if (offset_bytes()) append(" ", "at offset " + std::to_string(*offset_bytes()));
  if (error_number() != 0) append(": ", describe(error_number()));
  append(": ", cause());
  if (error_number() == 0 && cause().empty()) append(": ", name_of(kind()));
  return to_printable(rank() ? "rank " + std::to_string(*rank()) + ": " + text : text);
}

Error system_error(ErrorDetails details, int error_number) {
  details.kind = class_of(error_number);
  details.error_number = error_number;
  if (error_number == EMFILE && details.cause.empty())
    details.cause = "raise the limit of open files (ulimit -n)";
  return Error(std::move(details));
}

Error with_location(const Error& error,
                    const std::string& path,
                    std::optional<std::uint64_t> offset_bytes) {
  ErrorDetails details = *error.details_;
  if (details.path.empty()) details.path = path;
  if (!details.offset_bytes) details.offset_bytes = offset_bytes;
  return Error(std::move(details));
}

Error with_note(const Error& error, const std::string& note) {
  ErrorDetails details = *error.details_;
  details.cause += (details.cause.empty() ? "" : "; ") + note;
  return Error(std::move(details));
}

Error with_rank(const Error& error, std::uint32_t rank) {
  if (error.rank()) return error;
  ErrorDetails details = *error.details_;
  details.rank = rank;
  return Error(std::move(details));
}

}  // namespace forebay

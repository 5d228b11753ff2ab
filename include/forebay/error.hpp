// SPDX-License-Identifier: Apache-2.0
// What went wrong outside of us, as a value. Every failure of the world (a missing file, a full
// disk, a damaged record) travels as an Error that names operation, path, offset and cause, so that
// a user can act on its text alone.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <tl/expected.hpp>

namespace forebay {

/// What kind of failure it is: what a program branches on. The text is for people.
enum class ErrorClass : std::uint8_t {
  kInvalidArgument,  ///< the call cannot mean anything (a budget below one splinter, an unknown
                     ///< option)
  kNotFound,         ///< no such file; nothing was created
  kPermission,       ///< refused by the operating system
  kIo,               ///< the device or file system failed (EIO and its like)
  kNoSpace,          ///< ENOSPC, EDQUOT
  kShortFile,        ///< the file ended before the bytes that were promised when it was opened
  kOutOfRange,       ///< an offset outside the session, the file or the array
  kDamage,           ///< the bytes are there and do not mean what the format says
  kCancelled,        ///< the caller took the request back
  kClosed,           ///< the session or stream was closed under the request
  kLimit,            ///< a named limit (memory budget, pins, descriptors) is used up
  kUnsupported,      ///< not possible on this file, kernel or build
  kException,        ///< a continuation of the caller threw; the cause holds its text
};

/// The stable lower-case name of a class, as printed and as written to JSON ("not-found",
/// "short-file", ...).
std::string_view name_of(ErrorClass kind) noexcept;

/// The parts of an Error. Fill what is known; leave the rest.
struct ErrorDetails {
  ErrorClass kind = ErrorClass::kIo;
  std::string operation = {};  ///< a verb: "open", "read", "parse header"
  std::string path = {};       ///< as the user named it; empty if no file is involved
  std::optional<std::uint64_t> offset_bytes = {};  ///< from the start of the file
  int error_number = 0;                            ///< errno of the system call, 0 if none failed
  std::string cause = {};  ///< what was found, and what to do next where that is known
  std::optional<std::uint32_t> rank = {};  ///< where it happened, if several ranks were asked
};

/// An immutable failure. Copies share one description, so handing it to a thousand waiters is
/// cheap. May be used from any thread.
class [[nodiscard]] Error {
 public:
  explicit Error(ErrorDetails details);

  ErrorClass kind() const noexcept { return details_->kind; }
  int error_number() const noexcept { return details_->error_number; }
  const std::string& operation() const noexcept { return details_->operation; }
  const std::string& path() const noexcept { return details_->path; }
  std::optional<std::uint64_t> offset_bytes() const noexcept { return details_->offset_bytes; }
  const std::string& cause() const noexcept { return details_->cause; }
  std::optional<std::uint32_t> rank() const noexcept { return details_->rank; }

  /// One line of valid UTF-8 for a person, with other bytes as `\n` and `\xff`: "read
  /// snapshot.tipsy at offset 4096: Input/output error (EIO): <cause>"; with "rank 3: " before it
  /// where a rank is known.
  std::string message() const;

 private:
  friend Error located(const Error& error,
                       const std::string& path,
                       std::optional<std::uint64_t> offset_bytes);
  friend Error on_rank(const Error& error, std::uint32_t rank);
  friend Error with_note(const Error& error, const std::string& note);
  std::shared_ptr<const ErrorDetails> details_;
};

/// A value or the reason why there is none.
template <class T>
using Result = tl::expected<T, Error>;

/// Success or the reason why not.
using Status = Result<void>;

/// `return failure({.kind = ..., ...});` in a function that returns a Result.
inline tl::unexpected<Error> failure(ErrorDetails details) {
  return tl::unexpected<Error>(Error(std::move(details)));
}

/// `return failure(opened.error());` hands on what failed below, in a function that returns another
/// Result.
inline tl::unexpected<Error> failure(Error error) {
  return tl::unexpected<Error>(std::move(error));
}

/// A system call failed: the class is derived from `error_number` (ENOENT is kNotFound, ENOSPC is
/// kNoSpace, ...).
Error system_error(ErrorDetails details, int error_number);

/// The same failure, told by somebody who knows the file: path and offset are filled in where
/// `error` has none.
Error located(const Error& error,
              const std::string& path,
              std::optional<std::uint64_t> offset_bytes = std::nullopt);

/// The same failure with the rank that met it; one that names a rank already is returned as it is.
Error on_rank(const Error& error, std::uint32_t rank);

/// The same failure with `note` at the end of its cause, after a semicolon.
Error with_note(const Error& error, const std::string& note);

}  // namespace forebay

// SPDX-License-Identifier: Apache-2.0
// Error and Result<T>: failures of the environment as values. Each failure (a missing file, a full
// disk, a damaged record) is an Error. It names operation, path, offset and cause, so its text
// alone is enough to act on.
#pragma once

#include <forebay/detail/export.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <tl/expected.hpp>

namespace forebay {

/// Class of a failure, for a program to branch on. Error::message() is for people.
enum class ErrorClass : std::uint8_t {
  kInvalidArgument,  ///< the arguments are invalid (an unknown option, a budget below one splinter)
  kNotFound,         ///< the file, dataset, step, field, part or session does not exist
  kExists,           ///< the dataset has steps, which are unchanged
  kPermission,       ///< refused by the operating system, or the dataset is open for writing
  kIo,               ///< the device or file system failed (EIO and similar)
  kNoSpace,          ///< ENOSPC, EDQUOT
  kShortFile,        ///< the file ended before bytes that it had when it was opened
  kOutOfRange,       ///< an offset outside the session, the file or the array
  kDamage,           ///< the bytes exist and violate the format
  kCancelled,        ///< the caller cancelled the request
  kClosed,           ///< what serves the request has ended, or its step was dropped
  kLimit,            ///< memory, descriptors or a timeout is exhausted
  kUnsupported,      ///< not possible on this file, kernel or build
  kException,        ///< a continuation of the caller threw; the cause holds the exception's text
};

/// The stable lower-case name of a class, as printed and as written to JSON: "not-found",
/// "short-file", ...
FOREBAY_EXPORT std::string_view name_of(ErrorClass kind) noexcept;

/// The members of an Error. Set those that are known.
struct ErrorDetails {
  ErrorClass kind = ErrorClass::kIo;
  std::string operation = {};  ///< a verb: "open", "read", "parse header"
  std::string path = {};       ///< as the caller named it; empty if no file is involved
  std::optional<std::uint64_t> offset_bytes = {};  ///< from the start of the file
  int error_number = 0;                            ///< errno of the failed system call; 0 if none
                                                   ///< failed
  std::string cause = {};                  ///< the finding, and what to do next if that is known
  std::optional<std::uint32_t> rank = {};  ///< the rank that failed, for an operation of several
                                           ///< ranks
};

/// An immutable failure. Copies share one description, so a copy for each of a thousand waiters is
/// cheap. May be used from any thread.
class FOREBAY_EXPORT [[nodiscard]] Error {
 public:
  explicit Error(ErrorDetails details);

  ErrorClass kind() const noexcept { return details_->kind; }
  int error_number() const noexcept { return details_->error_number; }
  const std::string& operation() const noexcept { return details_->operation; }
  const std::string& path() const noexcept { return details_->path; }
  std::optional<std::uint64_t> offset_bytes() const noexcept { return details_->offset_bytes; }
  const std::string& cause() const noexcept { return details_->cause; }
  std::optional<std::uint32_t> rank() const noexcept { return details_->rank; }

  /// One line of valid UTF-8 for people: "read snapshot.tipsy at offset 4096: Input/output error
  /// (EIO): <cause>". A known rank comes first: "rank 3: read ...". Control characters and invalid
  /// bytes are escaped as `\n` and `\xff`.
  std::string message() const;

 private:
  friend Error with_location(const Error& error,
                             const std::string& path,
                             std::optional<std::uint64_t> offset_bytes);
  friend Error with_rank(const Error& error, std::uint32_t rank);
  friend Error with_note(const Error& error, const std::string& note);
  std::shared_ptr<const ErrorDetails> details_;
};

/// A value or an Error: tl::expected, which a caller must not ignore. map() and and_then() return a
/// Result; map_error() and or_else() return a tl::expected, which converts.
template <class T>
class [[nodiscard]] Result : public tl::expected<T, Error> {
  using Base = tl::expected<T, Error>;

 public:
  using Base::Base;
  Result() = default;
  Result(const Result&) = default;
  Result(Result&&) = default;
  // Without these two, `Result<bool>` would take another Result for a value.
  Result(Result& other)
    requires std::is_copy_constructible_v<Base>
      : Result(std::as_const(other)) {}
  // A const rvalue is copied.
  // NOLINTBEGIN(performance-noexcept-move-constructor, performance-move-constructor-init)
  Result(const Result&& other)
    requires std::is_copy_constructible_v<Base>
      : Result(static_cast<const Result&>(other)) {}
  // NOLINTEND(performance-noexcept-move-constructor, performance-move-constructor-init)
  Result(const Base& other) : Base(other) {}
  Result(Base&& other) : Base(std::move(other)) {}
  Result& operator=(const Result&) = default;
  Result& operator=(Result&&) = default;
  /// Assigns a value or a failure().
  template <class U>
    requires(std::is_assignable_v<Base&, U> && !std::is_base_of_v<Base, std::remove_cvref_t<U>>)
  Result& operator=(U&& value) {
    Base::operator=(std::forward<U>(value));
    return *this;
  }
  ~Result() = default;

  /// The result of `function`, which takes the value and returns a Result; or this Error.
  template <class F>
  auto and_then(F&& function) & {
    return chain(*this, std::forward<F>(function));
  }
  template <class F>
  auto and_then(F&& function) const& {
    return chain(*this, std::forward<F>(function));
  }
  template <class F>
  auto and_then(F&& function) && {
    return chain(std::move(*this), std::forward<F>(function));
  }
  /// What `function` returns for the value; or this Error.
  template <class F>
  auto map(F&& function) & {
    return wrap(Base::map(std::forward<F>(function)));
  }
  template <class F>
  auto map(F&& function) const& {
    return wrap(Base::map(std::forward<F>(function)));
  }
  template <class F>
  auto map(F&& function) && {
    return wrap(static_cast<Base&&>(*this).map(std::forward<F>(function)));
  }

 private:
  template <class U>
  static Result<U> wrap(tl::expected<U, Error>&& other) {
    return Result<U>(std::move(other));
  }
  template <class Self, class F>
  static auto chain(Self&& self, F&& function) {
    if constexpr (std::is_void_v<T>) {
      using Next = std::invoke_result_t<F>;
      return self ? std::invoke(std::forward<F>(function)) : Next(tl::unexpect, self.error());
    } else {
      using Next = std::invoke_result_t<F, decltype(*std::forward<Self>(self))>;
      return self ? std::invoke(std::forward<F>(function), *std::forward<Self>(self))
                  : Next(tl::unexpect, self.error());
    }
  }
};

/// Success or an Error.
using Status = Result<void>;

/// Usage: `return failure({.kind = ..., ...});` in a function that returns a Result.
inline tl::unexpected<Error> failure(ErrorDetails details) {
  return tl::unexpected<Error>(Error(std::move(details)));
}

/// Usage: `return failure(opened.error());`. Passes the error of a callee on in a function that
/// returns another Result.
inline tl::unexpected<Error> failure(Error error) {
  return tl::unexpected<Error>(std::move(error));
}

/// The Error of a failed system call. Its class is derived from `error_number`: ENOENT is
/// kNotFound, ENOSPC is kNoSpace, ...
FOREBAY_EXPORT Error system_error(ErrorDetails details, int error_number);

/// A copy of `error` in which a missing path and a missing offset are filled in.
FOREBAY_EXPORT Error with_location(const Error& error,
                                   const std::string& path,
                                   std::optional<std::uint64_t> offset_bytes = std::nullopt);

/// A copy of `error` with the rank that failed. An Error that has a rank already is returned
/// unchanged.
FOREBAY_EXPORT Error with_rank(const Error& error, std::uint32_t rank);

/// A copy of `error` whose cause ends with a semicolon and `note`.
FOREBAY_EXPORT Error with_note(const Error& error, const std::string& note);

}  // namespace forebay

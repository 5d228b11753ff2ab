// SPDX-License-Identifier: Apache-2.0
// The frame of every function of the C interface: required pointers are checked, no exception
// leaves, and failures become a status and a forebay_error. Bodies use Result::value() and check(),
// which throw an Error up to this frame. Exported functions are for libforebay_mpi.
#pragma once

#include <forebay/detail/export.hpp>
#include <forebay/error.hpp>

#include <algorithm>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <string>
#include <utility>

#include <forebay.h>

namespace forebay::bindings {

/// A function of the C interface that is in progress.
struct Call {
  const char* operation;  ///< a verb for the Error of a bad argument
  forebay_error* error;   ///< may be null
};

/// A pointer that must not be null, and the name of its argument.
struct Required {
  const char* name;
  const void* pointer;
};

/// Fills `into`, which may be null, and returns the status.
FOREBAY_EXPORT int fail(forebay_error* into, const Error& error) noexcept;
FOREBAY_EXPORT int fail_for_null(const Call& call, const char* name) noexcept;
/// Must be called inside a catch block.
FOREBAY_EXPORT int fail_for_exception(const Call& call) noexcept;

/// Throws the Error to the frame of the call.
[[noreturn]] FOREBAY_EXPORT void refuse(ErrorDetails details);
/// The same for an invalid argument.
[[noreturn]] FOREBAY_EXPORT void refuse_argument(const char* operation, std::string cause);

inline void check(const Status& status) {
  if (!status) [[unlikely]]
    throw tl::bad_expected_access<Error>(status.error());
}

/// Runs the body of a call. Returns its status.
template <class Body>
int run(const Call& call, std::initializer_list<Required> required, Body&& body) noexcept {
  for (const Required& one : required) {
    if (one.pointer == nullptr) [[unlikely]]
      return fail_for_null(call, one.name);
  }
  try {
    body();
    return FOREBAY_OK;
  } catch (...) {
    return fail_for_exception(call);
  }
}

/// The value of `body`, or the Error that it throws: for ranks that agree on it before one fails.
template <class Body>
auto result_of(Body&& body) -> Result<decltype(body())> {
  try {
    return body();
  } catch (const tl::bad_expected_access<Error>& failed) {
    return tl::unexpected(failed.error());
  }
}

/// The same as run() for a body that returns the new handle. On failure, null is stored.
template <class Handle, class Body>
int make(const Call& call,
         std::initializer_list<Required> required,
         Handle** made,
         Body&& body) noexcept {
  if (made == nullptr) return fail_for_null(call, "the pointer to the new handle");
  *made = nullptr;
  return run(call, required, [&] { *made = std::unique_ptr<Handle>(body()).release(); });
}

/// Refuses a size that no version of a struct has.
FOREBAY_EXPORT void check_struct_size(const char* operation, std::size_t size);

/// The struct of a program that may be compiled for an older or a newer version. Members that it
/// does not have are zero. Null: all of them are.
template <class Struct>
Struct read_struct(const char* operation, const Struct* given) {
  Struct read{};
  if (given != nullptr) {
    check_struct_size(operation, given->size);
    std::memcpy(&read, given, std::min(given->size, sizeof(Struct)));
    const auto* const bytes = reinterpret_cast<const unsigned char*>(given);
    if (given->size > sizeof(Struct) &&
        std::any_of(bytes + sizeof(Struct), bytes + given->size, [](auto byte) { return byte; }))
      refuse({.kind = ErrorClass::kUnsupported,
              .operation = operation,
              .cause = "a struct has members of a newer version of forebay.h; link that version"});
  }
  return read;
}

/// Stores the members that the struct of the program has.
template <class Struct>
void write_struct(const char* operation, Struct* into, Struct value) {
  check_struct_size(operation, into->size);
  value.size = into->size;
  std::memcpy(into, &value, std::min(into->size, sizeof(Struct)));
}

/// A number of a C enumeration, counted from 0 as `values` are listed.
struct Enumerator {
  const char* operation;
  const char* member;
  int number;
};
template <class T, std::size_t N>
T choose(const Enumerator& given, const T (&values)[N]) {
  if (given.number >= 0 && static_cast<std::size_t>(given.number) < N) return values[given.number];
  refuse_argument(given.operation, std::string(given.member) + " is " +
                                       std::to_string(given.number) + ", it must be from 0 to " +
                                       std::to_string(N - 1));
}

/// An empty string for null.
inline std::string text_of(const char* text) { return text == nullptr ? "" : text; }

}  // namespace forebay::bindings

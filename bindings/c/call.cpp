// SPDX-License-Identifier: Apache-2.0
#include "bindings/c/call.hpp"

#include <exception>
#include <new>
#include <string_view>

#include "base/utf8.hpp"

namespace forebay::bindings {

namespace {

constexpr std::size_t kStructBytesMin = sizeof(std::size_t);
constexpr std::size_t kStructBytesMax = 4096;

int status_of(ErrorClass kind) noexcept { return static_cast<int>(kind) + 1; }

std::int64_t number_or_none(std::optional<std::uint64_t> number) noexcept {
  return number && *number <= INT64_MAX ? static_cast<std::int64_t>(*number) : -1;
}

/// Copies as many whole characters as fit.
void store_message(char (&into)[FOREBAY_MESSAGE_BYTES], std::string_view text) noexcept {
  std::size_t end = std::min(text.size(), sizeof into - 1);
  while (end < text.size() && end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U)
    --end;
  std::memcpy(into, text.data(), end);
  into[end] = '\0';
}

void fill_for_memory(forebay_error* into) noexcept {
  if (into == nullptr) return;
  into->status = FOREBAY_LIMIT;
  into->error_number = 0;
  into->rank = -1;
  into->offset = -1;
  store_message(into->message, "allocate memory: the memory of the process is exhausted");
}

}  // namespace

int fail(forebay_error* into, const Error& error) noexcept {
  const int status = status_of(error.kind());
  if (into == nullptr) return status;
  try {
    store_message(into->message, error.message());
    into->status = status;
    into->error_number = error.error_number();
    into->rank = number_or_none(error.rank());
    into->offset = number_or_none(error.offset_bytes());
  } catch (...) {
    fill_for_memory(into);
  }
  return status;
}

int fail_for_null(const Call& call, const char* name) noexcept {
  try {
    return fail(call.error, Error({.kind = ErrorClass::kInvalidArgument,
                                   .operation = call.operation,
                                   .cause = std::string(name) + " is NULL"}));
  } catch (...) {
    fill_for_memory(call.error);
    return FOREBAY_INVALID_ARGUMENT;
  }
}

int fail_for_exception(const Call& call) noexcept {
  try {
    throw;
  } catch (const tl::bad_expected_access<Error>& failed) {
    return fail(call.error, failed.error());
  } catch (const std::bad_alloc&) {
    fill_for_memory(call.error);
    return FOREBAY_LIMIT;
  } catch (const std::exception& failed) {
    try {
      return fail(call.error, Error({.kind = ErrorClass::kException,
                                     .operation = call.operation,
                                     .cause = failed.what()}));
    } catch (...) {
      fill_for_memory(call.error);
    }
  } catch (...) {
    if (call.error != nullptr) fill_for_memory(call.error);
  }
  return FOREBAY_EXCEPTION;
}

void refuse(ErrorDetails details) {
  throw tl::bad_expected_access<Error>(Error(std::move(details)));
}

void refuse_argument(const char* operation, std::string cause) {
  refuse({.kind = ErrorClass::kInvalidArgument, .operation = operation, .cause = std::move(cause)});
}

void check_struct_size(const char* operation, std::size_t size) {
  if (size >= kStructBytesMin && size <= kStructBytesMax) return;
  refuse_argument(operation, "the member size of a struct is " + std::to_string(size) +
                                 "; initialize the struct by FOREBAY_INIT(type)");
}

}  // namespace forebay::bindings

const char* forebay_version(void) { return FOREBAY_C_VERSION; }

const char* forebay_status_name(int status) {
  if (status == FOREBAY_OK) return "ok";
  if (status < FOREBAY_OK || status > FOREBAY_EXCEPTION) return "unknown";
  return forebay::name_of(static_cast<forebay::ErrorClass>(status - 1)).data();
}

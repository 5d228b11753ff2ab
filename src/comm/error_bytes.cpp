// SPDX-License-Identifier: Apache-2.0
// Numbers as they lie in memory, texts with their length before them.
#include "comm/error_bytes.hpp"

#include <cstring>
#include <string>
#include <type_traits>

#include "base/assert.hpp"

namespace forebay::comm {

namespace {

struct FixedPart {
  std::uint64_t offset_bytes;
  std::uint32_t rank;
  int error_number;
  ErrorClass kind;
  bool has_offset;
  bool has_rank;
};
static_assert(std::is_trivially_copyable_v<FixedPart>);

void append(std::vector<std::byte>& bytes, std::span<const std::byte> more) {
  bytes.insert(bytes.end(), more.begin(), more.end());
}

void append(std::vector<std::byte>& bytes, const std::string& text) {
  const std::uint64_t length = text.size();
  append(bytes, std::as_bytes(std::span(&length, 1)));
  append(bytes, std::as_bytes(std::span(text)));
}

/// Takes `into.size()` bytes from the front of `bytes`.
void take(std::span<const std::byte>& bytes, std::span<std::byte> into) {
  FOREBAY_ASSERT(bytes.size() >= into.size());
  if (!into.empty()) std::memcpy(into.data(), bytes.data(), into.size());
  bytes = bytes.subspan(into.size());
}

std::string take_text(std::span<const std::byte>& bytes) {
  std::uint64_t length = 0;
  take(bytes, std::as_writable_bytes(std::span(&length, 1)));
  FOREBAY_ASSERT(length <= bytes.size());
  std::string text(length, '\0');
  take(bytes, std::as_writable_bytes(std::span(text)));
  return text;
}

}  // namespace

std::vector<std::byte> to_bytes(const Error& error) {
  FixedPart fixed;
  std::memset(&fixed, 0, sizeof fixed);  // padding travels, too
  fixed.offset_bytes = error.offset_bytes().value_or(0);
  fixed.rank = error.rank().value_or(0);
  fixed.error_number = error.error_number();
  fixed.kind = error.kind();
  fixed.has_offset = error.offset_bytes().has_value();
  fixed.has_rank = error.rank().has_value();

  std::vector<std::byte> bytes;
  append(bytes, std::as_bytes(std::span(&fixed, 1)));
  append(bytes, error.operation());
  append(bytes, error.path());
  append(bytes, error.cause());
  return bytes;
}

Error error_from(std::span<const std::byte> bytes) {
  FixedPart fixed;
  take(bytes, std::as_writable_bytes(std::span(&fixed, 1)));
  ErrorDetails details{.kind = fixed.kind, .error_number = fixed.error_number};
  if (fixed.has_offset) details.offset_bytes = fixed.offset_bytes;
  if (fixed.has_rank) details.rank = fixed.rank;
  details.operation = take_text(bytes);
  details.path = take_text(bytes);
  details.cause = take_text(bytes);
  FOREBAY_ASSERT(bytes.empty());
  return Error(std::move(details));
}

}  // namespace forebay::comm

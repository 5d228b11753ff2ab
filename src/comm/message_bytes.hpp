// SPDX-License-Identifier: Apache-2.0
// Encodes and decodes messages between processes. MessageReader checks every length and value
// before use. Whatever bytes another process sends, the result is a value or an Error that names
// message kind, field and value.
#pragma once

#include <forebay/error.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "comm/communicator.hpp"
#include "comm/link.hpp"

namespace forebay::comm {

/// Types for which all bit patterns are valid.
template <class T>
concept WireInteger = std::integral<T> && !std::same_as<T, bool>;

/// Encodes numbers in native byte order. Lists, texts and bytes follow their count (64 bits).
class MessageWriter {
 public:
  template <WireInteger T>
  void number(T value) {
    append(&value, sizeof value);
  }
  template <class E>
    requires std::is_enum_v<E>
  void enumerator(E value) {
    number(static_cast<std::underlying_type_t<E>>(value));
  }
  void flag(bool value) { number(static_cast<std::uint8_t>(value)); }
  /// If T is a struct, all bit patterns must be valid values of it.
  template <class T>
    requires std::is_trivially_copyable_v<T>
  void list(std::span<const T> values) {
    number(std::uint64_t{values.size()});
    append(values.data(), values.size_bytes());
  }
  void bytes(std::span<const std::byte> values) { list(values); }
  void text(std::string_view value) { list(std::span(value)); }

  Bytes take() && { return std::move(bytes_); }

 private:
  void append(const void* from, std::size_t size) {
    const std::size_t at = bytes_.size();
    bytes_.resize(at + size);
    if (size > 0) std::memcpy(bytes_.data() + at, from, size);
  }

  Bytes bytes_;
};

/// An Error of class kDamage: `read message 'offer': field 'region' is 9: must be below 4`. A Link
/// adds the rank of its peer.
Error malformed_message(std::string_view kind,
                        std::string_view field,
                        std::uint64_t value,
                        std::string_view must_be);

/// The inverse of MessageWriter. After the first field that is missing or wrong, all fields read as
/// zero or empty, and finish() returns its Error. Allocates no more than the message has bytes.
class MessageReader {
 public:
  /// `kind` and names of fields are string literals.
  MessageReader(std::string_view kind, std::span<const std::byte> bytes)
      : kind_(kind), bytes_(bytes) {}

  template <WireInteger T>
  T number(const char* field) {
    T value{};
    const auto raw = take(field, sizeof value);
    if (!raw.empty()) std::memcpy(&value, raw.data(), sizeof value);
    return value;
  }
  /// A value of at most `last`.
  template <class E>
    requires std::is_enum_v<E>
  E enumerator(const char* field, E last) {
    const auto value = number<std::underlying_type_t<E>>(field);
    const auto limit = static_cast<std::underlying_type_t<E>>(last);
    if (value > limit) reject(field, value, "must be a defined value");
    return is_valid() ? static_cast<E>(value) : E{};
  }
  bool flag(const char* field) {
    const auto value = number<std::uint8_t>(field);
    if (value > 1) reject(field, value, "must be 0 or 1");
    return is_valid() && value == 1;
  }
  std::span<const std::byte> bytes(const char* field) { return take_list(field, 1); }
  std::string text(const char* field) {
    const auto raw = bytes(field);
    return {reinterpret_cast<const char*>(raw.data()), raw.size()};
  }
  template <class T>
    requires std::is_trivially_copyable_v<T>
  std::vector<T> list(const char* field) {
    const auto raw = take_list(field, sizeof(T));
    std::vector<T> values(raw.size() / sizeof(T));
    if (!raw.empty()) std::memcpy(values.data(), raw.data(), raw.size());
    return values;
  }
  /// The number of items that follow, each of at least `item_bytes_min` bytes. Rejects a number for
  /// which the message is too short.
  std::uint64_t count(const char* field, std::size_t item_bytes_min);

  /// Records that `field` is wrong. Keeps the Error of an earlier field.
  void reject(const char* field, std::uint64_t value, std::string_view must_be) {
    if (is_valid()) error_ = malformed_message(kind_, field, value, must_be);
  }
  bool is_valid() const noexcept { return !error_; }
  bool is_empty() const noexcept { return bytes_.empty(); }

  /// Success if all fields were present and valid, and no bytes are left.
  Status finish();

 private:
  std::span<const std::byte> take(const char* field, std::size_t size);
  std::span<const std::byte> take_list(const char* field, std::size_t item_bytes);

  std::string_view kind_;
  std::span<const std::byte> bytes_;
  std::optional<Error> error_;
};

/// Encodes a payload that is one list, in native byte order, without a count.
template <class T>
  requires std::is_trivially_copyable_v<T>
Bytes list_to_bytes(std::span<const T> list) {
  const auto bytes = std::as_bytes(list);
  return {bytes.begin(), bytes.end()};
}

template <class T>
  requires std::is_trivially_copyable_v<T>
Result<std::vector<T>> list_from_bytes(std::string_view kind, std::span<const std::byte> bytes) {
  if (bytes.size() % sizeof(T) != 0)
    return failure(malformed_message(kind, "payload bytes", bytes.size(),
                                     "must be a multiple of " + std::to_string(sizeof(T))));
  std::vector<T> list(bytes.size() / sizeof(T));
  if (!bytes.empty()) std::memcpy(list.data(), bytes.data(), bytes.size());
  return list;
}

/// Valid contents of the header of one message kind.
struct MessageRule {
  const char* name;
  std::size_t words = 0;  ///< number of words in use; the others must be zero
  std::uint32_t payload_bytes_min = 0;
  std::uint32_t payload_bytes_max = 0;
};

/// Checks `header` by the rule of its kind; `rules` is indexed by kind. Fails with kDamage.
Status check_header(const LinkHeader& header, std::span<const MessageRule> rules);

}  // namespace forebay::comm

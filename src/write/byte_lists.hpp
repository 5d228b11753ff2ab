// SPDX-License-Identifier: Apache-2.0
// Numbers, texts and lists one after the other, as the payload of a letter.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/assert.hpp"
#include "comm/communicator.hpp"

namespace forebay::write {

class ByteWriter {
 public:
  template <class T>
  void number(T value) {
    static_assert(std::is_trivially_copyable_v<T>);
    add(&value, sizeof value);
  }
  template <class T>
  void list(const std::vector<T>& values) {
    static_assert(std::is_trivially_copyable_v<T>);
    number(static_cast<std::uint64_t>(values.size()));
    add(values.data(), values.size() * sizeof(T));
  }
  void text(const std::string& value) {
    number(static_cast<std::uint64_t>(value.size()));
    add(value.data(), value.size());
  }
  comm::Bytes take() { return std::move(bytes_); }

 private:
  void add(const void* data, std::size_t size) {
    if (size == 0) return;
    const std::size_t at = bytes_.size();
    bytes_.resize(at + size);
    std::memcpy(bytes_.data() + at, data, size);
  }
  comm::Bytes bytes_;
};

/// Reads what a ByteWriter has written, in the same order.
class ByteReader {
 public:
  explicit ByteReader(std::span<const std::byte> bytes) : bytes_(bytes) {}
  template <class T>
  T number() {
    T value;
    take(&value, sizeof value);
    return value;
  }
  template <class T>
  std::vector<T> list() {
    std::vector<T> values(number<std::uint64_t>());
    take(values.data(), values.size() * sizeof(T));
    return values;
  }
  std::string text() {
    std::string value(number<std::uint64_t>(), '\0');
    take(value.data(), value.size());
    return value;
  }
  bool is_at_end() const { return bytes_.empty(); }

 private:
  void take(void* into, std::size_t size) {
    FOREBAY_ASSERT(size <= bytes_.size());
    if (size > 0) std::memcpy(into, bytes_.data(), size);
    bytes_ = bytes_.subspan(size);
  }
  std::span<const std::byte> bytes_;
};

}  // namespace forebay::write

// SPDX-License-Identifier: Apache-2.0
// Test data whose bytes identify their offset, created and compared by the megabyte: compiled with
// optimization, unlike tests. For tests only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace forebay {

/// The byte at this offset of a test file. Adjacent blocks differ.
constexpr std::byte pattern_at(std::uint64_t offset) {
  return static_cast<std::byte>((offset * 0x9E3779B97F4A7C15U) >> 56U);
}

/// Fills `bytes` with the pattern from `offset` on.
void fill_pattern(std::span<std::byte> bytes, std::uint64_t offset);

/// Number of leading bytes that match the pattern from `offset` on.
std::size_t matching_pattern(std::span<const std::byte> bytes, std::uint64_t offset);

/// The first `size_bytes` bytes of the pattern.
std::vector<std::byte> pattern(std::uint64_t size_bytes);

/// The content of a file. Empty if it cannot be read.
std::vector<std::byte> content_of(const std::string& path);

}  // namespace forebay

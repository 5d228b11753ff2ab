// SPDX-License-Identifier: Apache-2.0
// Bytes that tell where they belong, made and looked at by the megabyte: compiled for speed where
// tests are not. For tests only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace forebay {

/// The byte that belongs at this offset of a test file: neighbouring blocks differ.
constexpr std::byte pattern_at(std::uint64_t offset) {
  return static_cast<std::byte>((offset * 0x9E3779B97F4A7C15U) >> 56U);
}

/// Fills `bytes` with what belongs at `offset` and behind it.
void fill_pattern(std::span<std::byte> bytes, std::uint64_t offset);

/// How many bytes of `bytes` are as they should be, from the front.
std::size_t matching_pattern(std::span<const std::byte> bytes, std::uint64_t offset);

/// The pattern from its beginning.
std::vector<std::byte> pattern(std::uint64_t size_bytes);

/// All of a file; nothing where it cannot be read.
std::vector<std::byte> content_of(const std::string& path);

}  // namespace forebay

// SPDX-License-Identifier: Apache-2.0
#include "bench/checkpoint/content.hpp"

#include <cstring>

namespace forebay::bench::checkpoint {

namespace {

constexpr std::uint64_t kContentWordBytes = 8;
constexpr std::uint64_t kPageBytes = 4096;
constexpr std::uint64_t kSeed = 0x666f726562617921;

/// Spreads a number over all bits (the finalizer of SplitMix64).
constexpr std::uint64_t mix_bits(std::uint64_t value) {
  value = (value ^ (value >> 30U)) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 27U)) * 0x94d049bb133111eb;
  return value ^ (value >> 31U);
}

/// Only the first word of a page depends on the step.
constexpr std::uint64_t word_at(std::uint64_t offset_bytes, std::uint32_t step) {
  const std::uint64_t salt = offset_bytes % kPageBytes == 0 ? std::uint64_t{step} + 1 : 0;
  return mix_bits(kSeed + offset_bytes) ^ mix_bits(salt);
}

void put(std::span<std::byte> bytes, std::uint64_t at, std::uint64_t word) {
  std::memcpy(bytes.data() + at, &word, kContentWordBytes);
}

}  // namespace

void fill_content(std::span<std::byte> bytes, const ContentPosition& position) {
  for (std::uint64_t at = 0; at + kContentWordBytes <= bytes.size(); at += kContentWordBytes)
    put(bytes, at, word_at(position.offset_bytes + at, position.step));
}

void restamp(std::span<std::byte> bytes, const ContentPosition& position) {
  const std::uint64_t into_page = position.offset_bytes % kPageBytes;
  const std::uint64_t first = into_page == 0 ? 0 : kPageBytes - into_page;
  for (std::uint64_t at = first; at + kContentWordBytes <= bytes.size(); at += kPageBytes)
    put(bytes, at, word_at(position.offset_bytes + at, position.step));
}

std::optional<std::uint64_t> first_mismatch(std::span<const std::byte> bytes,
                                            const ContentPosition& position) {
  for (std::uint64_t at = 0; at + kContentWordBytes <= bytes.size(); at += kContentWordBytes) {
    std::uint64_t found = 0;
    std::memcpy(&found, bytes.data() + at, kContentWordBytes);
    if (found != word_at(position.offset_bytes + at, position.step)) return at;
  }
  return std::nullopt;
}

}  // namespace forebay::bench::checkpoint

// SPDX-License-Identifier: Apache-2.0
// The bytes that kernels write: words of 8 bytes that depend on their place. Only the first word of
// each 4096 bytes depends on the step, so a program can make the content of a step quickly.
#include <string.h>

#include "kernel.h"

enum { kWordBytes = 8, kPageBytes = 4096 };

/// Spreads a number over all bits: the finalizer of SplitMix64 (Steele et al., OOPSLA'14).
static uint64_t mixed(uint64_t value) {
  value = (value ^ (value >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  value = (value ^ (value >> 27)) * UINT64_C(0x94d049bb133111eb);
  return value ^ (value >> 31);
}

static uint64_t word_at(uint64_t salt, int64_t step, uint64_t offset) {
  const uint64_t word = mixed(salt + offset);
  return offset % kPageBytes == 0 ? word ^ mixed((uint64_t)(step + 2)) : word;
}

static uint64_t salt_of(uint32_t operation) {
  return UINT64_C(0x666f72656261794b) ^ (uint64_t)operation << 56;
}

static uint64_t smaller(uint64_t a, uint64_t b) { return a < b ? a : b; }

/// Bytes of the word that contains `offset`, from there on; at most `bytes`.
static uint64_t part_of_word(
    unsigned char* into, uint64_t bytes, uint64_t salt, int64_t step, uint64_t offset) {
  const uint64_t inside = offset % kWordBytes;
  const uint64_t size = smaller(kWordBytes - inside, bytes);
  const uint64_t word = word_at(salt, step, offset - inside);
  memcpy(into, (const unsigned char*)&word + inside, size);
  return size;
}

void fk_fill(void* memory, uint64_t bytes, uint32_t operation, int64_t step, uint64_t offset) {
  const uint64_t salt = salt_of(operation);
  unsigned char* const into = memory;
  uint64_t at = 0;
  if (offset % kWordBytes != 0 && bytes > 0) at = part_of_word(into, bytes, salt, step, offset);
  for (; at + kWordBytes <= bytes; at += kWordBytes) {
    const uint64_t word = word_at(salt, step, offset + at);
    memcpy(into + at, &word, kWordBytes);
  }
  if (at < bytes) part_of_word(into + at, bytes - at, salt, step, offset + at);
}

void fk_restamp(void* memory, uint64_t bytes, uint32_t operation, int64_t step, uint64_t offset) {
  const uint64_t salt = salt_of(operation);
  unsigned char* const into = memory;
  const uint64_t inside = offset % kPageBytes;
  if (inside > 0 && inside < kWordBytes && bytes > 0) part_of_word(into, bytes, salt, step, offset);
  for (uint64_t at = inside == 0 ? 0 : kPageBytes - inside; at < bytes; at += kPageBytes)
    part_of_word(into + at, bytes - at, salt, step, offset + at);
}

uint64_t fk_first_mismatch(
    const void* memory, uint64_t bytes, uint32_t operation, int64_t step, uint64_t offset) {
  const uint64_t salt = salt_of(operation);
  const unsigned char* const from = memory;
  for (uint64_t at = 0; at < bytes;) {
    unsigned char expected[kWordBytes];
    const uint64_t size = part_of_word(expected, bytes - at, salt, step, offset + at);
    if (memcmp(from + at, expected, size) != 0) {
      for (uint64_t i = 0; i < size; ++i)
        if (from[at + i] != expected[i]) return at + i;
    }
    at += size;
  }
  return bytes;
}

// SPDX-License-Identifier: Apache-2.0
// What storage tests share: a folder that is gone afterwards, bytes that tell where they belong,
// and memory that suits direct access. For tests only.
#pragma once

#include <forebay/range.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/testing.hpp"
#include "storage/file.hpp"

namespace forebay::storage {

using forebay::TemporaryFolder;

/// The byte that belongs at this offset of a test file: neighbouring blocks differ.
inline std::byte pattern_at(std::uint64_t offset) {
  return static_cast<std::byte>((offset * 0x9E3779B97F4A7C15U) >> 56U);
}

inline void fill_pattern(std::span<std::byte> bytes, std::uint64_t offset) {
  for (std::size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = pattern_at(offset + i);
}

/// How many bytes of `bytes` are as they should be, from the front.
inline std::size_t matching_pattern(std::span<const std::byte> bytes, std::uint64_t offset) {
  std::size_t i = 0;
  while (i < bytes.size() && bytes[i] == pattern_at(offset + i))
    ++i;
  return i;
}

inline std::vector<std::byte> pattern(std::uint64_t size_bytes) {
  std::vector<std::byte> bytes(size_bytes);
  fill_pattern(bytes, 0);
  return bytes;
}

/// Memory whose address suits direct access to any disk.
class AlignedMemory {
 public:
  explicit AlignedMemory(std::size_t size_bytes)
      : data_(static_cast<std::byte*>(
                  ::operator new[](size_bytes, std::align_val_t{kAlignmentBytes})),
              Free{}),
        size_bytes_(size_bytes) {
    std::fill_n(data_.get(), size_bytes, std::byte{0});
  }
  std::span<std::byte> bytes() const { return {data_.get(), size_bytes_}; }

 private:
  static constexpr std::size_t kAlignmentBytes = 4096;
  struct Free {
    void operator()(std::byte* data) const {
      ::operator delete[](data, std::align_val_t{kAlignmentBytes});
    }
  };
  std::unique_ptr<std::byte[], Free> data_;
  std::size_t size_bytes_;
};

/// Writes a file of this size in the pattern.
inline void write_pattern_file(const std::string& path, std::uint64_t size_bytes) {
  auto file = open_file(path, {.intent = Intent::kCreate});
  ASSERT_TRUE(file) << file.error().message();
  const auto written = (*file)->write_at(pattern(size_bytes), 0);
  ASSERT_TRUE(written) << written.error().message();
}

/// Opens or fails the test.
inline std::unique_ptr<File> must_open(const std::string& path, OpenOptions options = {}) {
  auto file = open_file(path, options);
  EXPECT_TRUE(file) << file.error().message();
  return file ? std::move(*file) : nullptr;
}

}  // namespace forebay::storage

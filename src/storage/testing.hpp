// SPDX-License-Identifier: Apache-2.0
// Shared code of storage tests: files of bytes that encode their offset, and memory aligned for
// direct access. For tests only.
#pragma once

#include <forebay/range.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <string>

#include <gtest/gtest.h>

#include "base/testing.hpp"
#include "base/testing_bytes.hpp"
#include "storage/file.hpp"

namespace forebay::storage {

using forebay::fill_pattern;
using forebay::matching_pattern;
using forebay::pattern;
using forebay::TemporaryDirectory;

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

/// Opens a file or fails the test.
inline std::unique_ptr<File> must_open(const std::string& path, OpenOptions options = {}) {
  auto file = open_file(path, options);
  EXPECT_TRUE(file) << file.error().message();
  return file ? std::move(*file) : nullptr;
}

}  // namespace forebay::storage

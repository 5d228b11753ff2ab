// SPDX-License-Identifier: Apache-2.0
// AlignedBytes: memory aligned to 4 KiB for direct writes; for small buffers that are used once.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <span>

#include "format/records.hpp"

namespace forebay::write {

class AlignedBytes {
 public:
  AlignedBytes() = default;
  /// Whole pages of undefined content.
  explicit AlignedBytes(std::size_t size_bytes)
      : size_bytes_(format::round_up(size_bytes, format::kPageBytes)),
        bytes_(static_cast<std::byte*>(std::aligned_alloc(format::kPageBytes, size_bytes_))) {
    if (bytes_ == nullptr) throw std::bad_alloc();
  }
  /// A copy, padded with zeros to whole pages.
  explicit AlignedBytes(std::span<const std::byte> bytes) : AlignedBytes(bytes.size()) {
    std::memcpy(bytes_.get(), bytes.data(), bytes.size());
    std::memset(bytes_.get() + bytes.size(), 0, size_bytes_ - bytes.size());
  }

  std::span<const std::byte> bytes() const noexcept { return {bytes_.get(), size_bytes_}; }
  std::span<std::byte> mutable_bytes() noexcept { return {bytes_.get(), size_bytes_}; }

 private:
  struct Free {
    void operator()(std::byte* bytes) const noexcept { std::free(bytes); }
  };
  std::size_t size_bytes_ = 0;
  std::unique_ptr<std::byte, Free> bytes_;
};

}  // namespace forebay::write

// SPDX-License-Identifier: Apache-2.0
// Where the bytes of a profile come from: one small interface, so that parsers are tested without
// files, and a pass over all rows can have them read ahead.
#pragma once

#include <forebay/error.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace forebay::cube {

/// A file of known size. Reading is thread-safe.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  virtual const std::string& path() const noexcept = 0;
  virtual std::uint64_t size_bytes() const noexcept = 0;
  /// Fills all of `into` from `offset`; blocks. Fails with kShortFile, kIo, ... and names the path.
  virtual Status read(std::uint64_t offset, std::span<std::byte> into) const = 0;
};

/// A failure inside a member, told by its place in the file: `base` is where the member begins.
Error inside(const Error& error, const std::string& path, std::uint64_t base);

}  // namespace forebay::cube

// SPDX-License-Identifier: Apache-2.0
// Headers of tar members: docs/formats/cubex.md, "Container". Only the part of tar that profiles
// use: regular files of any size, with short names.
#pragma once

#include <forebay/error.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace forebay::cube {

inline constexpr std::uint64_t kTarBlockBytes = 512;
inline constexpr std::size_t kTarNameBytesMax = 100;
using TarBlock = std::array<std::byte, kTarBlockBytes>;

/// `size_bytes`, rounded up to whole blocks.
constexpr std::uint64_t round_up_to_block(std::uint64_t size_bytes) {
  return (size_bytes + kTarBlockBytes - 1) / kTarBlockBytes * kTarBlockBytes;
}

struct TarHeader {
  std::string name;
  std::uint64_t size_bytes = 0;
  char typeflag = '0';  ///< as in the header; NUL is read as '0'
  bool is_checksum_valid = true;

  bool is_file() const noexcept { return typeflag == '0'; }
};

/// Encodes the header of a regular file. `name` has 1 to kTarNameBytesMax bytes; at most 155 bytes
/// and a '/' may precede these.
TarBlock encode_tar_header(std::string_view name, std::uint64_t size_bytes);

/// Decodes a block that is not all zeros. Fails with kDamage if it is not a header: neither its
/// checksum nor its magic is right, or its size is not a number.
Result<TarHeader> decode_tar_header(std::span<const std::byte, kTarBlockBytes> block);

bool is_zero(std::span<const std::byte> bytes);

}  // namespace forebay::cube

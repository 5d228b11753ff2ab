// SPDX-License-Identifier: Apache-2.0
// Headers of tar members, as docs/formats/cubex.md says under "Container". Only what a profile
// needs of tar: ordinary files with short names, of any size.
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

/// `size_bytes` and what fills it up to whole blocks.
constexpr std::uint64_t in_blocks(std::uint64_t size_bytes) {
  return (size_bytes + kTarBlockBytes - 1) / kTarBlockBytes * kTarBlockBytes;
}

struct TarHeader {
  std::string name;
  std::uint64_t size_bytes = 0;
  char kind = '0';  ///< as in the header; NUL has become '0'
  bool checksum_is_right = true;

  bool is_file() const noexcept { return kind == '0'; }
};

/// The header of an ordinary file. `name` has 1 to kTarNameBytesMax bytes, or these behind a '/'
/// and at most 155 bytes before it.
TarBlock encode_tar_header(std::string_view name, std::uint64_t size_bytes);

/// Reads a block that is not all zeros. Fails with kDamage where it is no header: neither its
/// checksum nor its mark is right, or its size is no number.
Result<TarHeader> decode_tar_header(std::span<const std::byte, kTarBlockBytes> block);

bool is_zero(std::span<const std::byte> bytes);

}  // namespace forebay::cube

// SPDX-License-Identifier: Apache-2.0
// Encodes an Error as bytes, for messages between ranks. Both ends are the same program: the layout
// is internal and may change.
#pragma once

#include <forebay/error.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace forebay::comm {

/// Encodes all members of `error`.
std::vector<std::byte> to_bytes(const Error& error);

/// The inverse of to_bytes(); kDamage for any other bytes.
Result<Error> error_from_bytes(std::span<const std::byte> bytes);

/// Limit of an encoded Error, in bytes, in messages between agents.
inline constexpr std::uint32_t kErrorBytesMax = std::uint32_t{1} << 20U;

}  // namespace forebay::comm

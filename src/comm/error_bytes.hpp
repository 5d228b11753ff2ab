// SPDX-License-Identifier: Apache-2.0
// An Error as bytes, so that one rank can tell it to the others. Both ends are the same program:
// the layout is nobody else's business and may change.
#pragma once

#include <forebay/error.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace forebay::comm {

/// Everything that `error` holds.
std::vector<std::byte> to_bytes(const Error& error);

/// The inverse; kDamage if another process sent anything else.
Result<Error> error_from(std::span<const std::byte> bytes);

/// The longest Error that agents send each other.
inline constexpr std::uint32_t kErrorBytesMax = std::uint32_t{1} << 20U;

}  // namespace forebay::comm

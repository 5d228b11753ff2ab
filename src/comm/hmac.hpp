// SPDX-License-Identifier: Apache-2.0
// HMAC-SHA-256 (RFC 2104). With it, ranks of one job prove to each other that they hold its key.
// Only hmac.cpp uses the crypto library.
#pragma once

#include <forebay/error.hpp>

#include <array>
#include <cstddef>
#include <span>

namespace forebay::comm {

using Mac = std::array<std::byte, 32>;

/// Fails with kUnsupported if the crypto library refuses the algorithm.
Result<Mac> hmac_sha256(std::span<const std::byte> key, std::span<const std::byte> message);

/// Takes the same time regardless of the position of the first difference.
bool constant_time_equal(const Mac& a, const Mac& b) noexcept;

}  // namespace forebay::comm

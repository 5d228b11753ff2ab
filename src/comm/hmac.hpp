// SPDX-License-Identifier: Apache-2.0
// HMAC-SHA-256 (RFC 2104), by which ranks of one job prove to each other that they hold its key.
// The library that computes it is known to hmac.cpp alone.
#pragma once

#include <forebay/error.hpp>

#include <array>
#include <cstddef>
#include <span>

namespace forebay::comm {

using Mac = std::array<std::byte, 32>;

/// Fails with kUnsupported where the crypto library refuses the algorithm.
Result<Mac> hmac_sha256(std::span<const std::byte> key, std::span<const std::byte> message);

/// Takes the same time wherever the first difference is.
bool equal_in_constant_time(const Mac& a, const Mac& b) noexcept;

}  // namespace forebay::comm

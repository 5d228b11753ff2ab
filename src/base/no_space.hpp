// SPDX-License-Identifier: Apache-2.0
// What an Error of full storage adds to the system's text: the bytes that are wanted, the bytes
// that are free, and what to do.
#pragma once

#include <forebay/error.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace forebay {

/// Bytes that this user may still write to the file system of an open file, or of a file that
/// exists. No value if the system reports none.
std::optional<std::uint64_t> free_bytes_of(int descriptor) noexcept;
std::optional<std::uint64_t> free_bytes_of(const std::string& path) noexcept;

/// For the cause of an Error if `error_number` is ENOSPC or EDQUOT; empty elsewhere. Free bytes are
/// left out where they are not known, and for a quota.
std::string cause_of_no_space(std::optional<std::uint64_t> free_bytes,
                              std::uint64_t wanted_bytes,
                              int error_number);

/// `error`, with that as a note, of an operation that was to write `wanted_bytes` to the file at
/// its path.
Error with_space(const Error& error, std::uint64_t wanted_bytes);

}  // namespace forebay

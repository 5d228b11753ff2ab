// SPDX-License-Identifier: Apache-2.0
// Text that Errors of full storage add to that of the system: needed bytes, free bytes, and what to
// do.
#pragma once

#include <forebay/detail/export.hpp>
#include <forebay/error.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace forebay {

/// Bytes that this user may still write to the file system of an open file, or of an existing file.
/// No value if the system reports none.
std::optional<std::uint64_t> free_bytes_of(int descriptor) noexcept;
std::optional<std::uint64_t> free_bytes_of(const std::string& path) noexcept;

/// The cause for `error_number` ENOSPC or EDQUOT; empty for others. Free bytes are left out if
/// unknown, and for a quota.
std::string no_space_cause(std::optional<std::uint64_t> free_bytes,
                           std::uint64_t requested_bytes,
                           int error_number);

/// `error` with that cause as a note, for an operation that was to write `requested_bytes` to the
/// file at its path.
FOREBAY_EXPORT Error with_free_space(const Error& error, std::uint64_t requested_bytes);

}  // namespace forebay

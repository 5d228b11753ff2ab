// SPDX-License-Identifier: Apache-2.0
// Files whose every 64-bit word is its own offset: fast to make, never compressible to a hole, and
// any byte read from a wrong place is seen at once.
#pragma once

#include <forebay/error.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>

namespace forebay::bench {

using ByteProgress = std::function<void(std::uint64_t done_bytes, std::uint64_t total_bytes)>;

/// Makes `path` with `size_bytes` (a multiple of 8) and brings it to storage. Fails with kNoSpace
/// before the first byte where it would not fit; a file cut short by any failure is removed.
Status write_word_file(const std::filesystem::path& path,
                       std::uint64_t size_bytes,
                       const ByteProgress& on_progress = {});

/// The offset in the file of the first word that is not its own offset, if any. `bytes` begin at
/// `offset_bytes`; both are multiples of 8.
std::optional<std::uint64_t> first_wrong_word(std::span<const std::byte> bytes,
                                              std::uint64_t offset_bytes);

/// Fails with kNoSpace if less than `size_bytes` are free in `folder`; the text says how much is.
Status require_space(const std::filesystem::path& folder, std::uint64_t size_bytes);

}  // namespace forebay::bench

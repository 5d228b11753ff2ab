// SPDX-License-Identifier: Apache-2.0
// Files of 64-bit words that equal their offsets: fast to write, not compressible to a hole, and
// any byte from a wrong offset is detected.
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

/// Creates `path` with `size_bytes` (a multiple of 8) and syncs it. Fails with kNoSpace before the
/// first byte if it would not fit. After any failure the partial file is removed.
Status write_word_file(const std::filesystem::path& path,
                       std::uint64_t size_bytes,
                       const ByteProgress& on_progress = {});

/// The offset in the file of the first word that does not equal its offset, if any. `bytes` begin
/// at `offset_bytes`; both are multiples of 8.
std::optional<std::uint64_t> first_mismatched_word(std::span<const std::byte> bytes,
                                                   std::uint64_t offset_bytes);

/// Fails with kNoSpace if less than `size_bytes` are free in `directory`; the text has both
/// numbers.
Status require_space(const std::filesystem::path& directory, std::uint64_t size_bytes);

}  // namespace forebay::bench

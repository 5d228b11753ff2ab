// SPDX-License-Identifier: Apache-2.0
// Files that are surely cold or surely warm. A measurement of storage is worthless while nobody has
// checked whether the bytes came from storage or from the page cache, so every function here looks
// at what it achieved.
#pragma once

#include <forebay/error.hpp>

#include <filesystem>

namespace forebay::probe {

/// The share of a file that lies in the page cache, 0 ... 1; 0 for an empty file.
Result<double> cached_fraction(const std::filesystem::path& path);

/// Writes a file's changed pages to storage and takes all its pages out of the page cache. Fails
/// with kUnsupported if pages stay: the file system lives in memory, or somebody else maps the
/// file.
Status drop_cached(const std::filesystem::path& path);

/// Reads a file once from begin to end, until all of it lies in the page cache. Fails with kLimit
/// if memory is too small for it.
Status warm(const std::filesystem::path& path);

}  // namespace forebay::probe

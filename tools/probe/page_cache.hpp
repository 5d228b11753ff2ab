// SPDX-License-Identifier: Apache-2.0
// Ensures that files are cold or warm. A measurement of storage is meaningless if it is unknown
// whether bytes were read from storage or from the page cache. So every function here verifies its
// result.
#pragma once

#include <forebay/error.hpp>

#include <filesystem>

namespace forebay::probe {

/// The fraction of a file that is in the page cache, 0 ... 1; 0 for an empty file.
Result<double> cached_fraction(const std::filesystem::path& path);

/// Writes a file's dirty pages to storage and drops all its pages from the page cache. Fails with
/// kUnsupported if pages stay: the file system is in memory, or another process maps the file.
Status drop_cached(const std::filesystem::path& path);

/// Reads a file until all of it is in the page cache. Fails with kLimit if memory is too small for
/// it.
Status warm(const std::filesystem::path& path);

}  // namespace forebay::probe

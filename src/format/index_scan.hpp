// SPDX-License-Identifier: Apache-2.0
// Finds indexes in a data file of which nobody knows where they are.
#pragma once

#include <functional>

#include "format/index.hpp"
#include "storage/file.hpp"

namespace forebay::format {

/// All indexes at multiples of kPageBytes whose checksum, file and place fit, in the order of
/// their offsets. Of those of one step, which may be there twice after a step was tried again, all.
/// Pages that look like an index and are none are passed over; a whole one of a newer major version
/// is kUnsupported. Called with the bytes that were looked at, `has_read` says whether to go on; if
/// not, it fails with kCancelled. Blocks.
Result<std::vector<Index>> scan_indexes(storage::File& file,
                                        const DataFileName& name,
                                        const std::function<bool(std::uint64_t bytes)>& has_read);

}  // namespace forebay::format

// SPDX-License-Identifier: Apache-2.0
// Finds indexes in a data file of which nobody knows where they are.
#pragma once

#include "format/index.hpp"
#include "storage/file.hpp"

namespace forebay::format {

/// All indexes at multiples of kPageBytes whose checksum, file and place fit, in the order of
/// their offsets. Of those of one step, which may be there twice after a step was tried again, all.
/// Pages that look like an index and are none are passed over; a whole one of a newer major version
/// is kUnsupported. Blocks.
Result<std::vector<Index>> scan_indexes(storage::File& file, const DataFileName& name);

}  // namespace forebay::format

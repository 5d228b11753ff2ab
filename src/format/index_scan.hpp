// SPDX-License-Identifier: Apache-2.0
// Finds indexes in data files of which nobody knows where they are.
#pragma once

#include <functional>

#include "format/index.hpp"
#include "storage/file.hpp"

namespace forebay::format {

/// Who looks for indexes, and for which.
struct IndexSeeker {
  /// Told the bytes that were looked at; says whether to go on.
  std::function<bool(std::uint64_t bytes)> has_read;
  /// Of the head, whose checksum was not looked at yet: whether the rest is worth reading.
  std::function<bool(const IndexHead& head)> is_wanted;
  std::function<void(const Index& index)> found;
  /// Told of bytes that cannot be read; what is before and behind them is looked at.
  std::function<void(const Error& error)> failed;
};

/// All indexes at multiples of kPageBytes whose checksum, file and place fit, in the order of
/// their offsets. Of those of one step, which may be there twice after a step was tried again, all.
/// Pages that look like an index and are none are passed over; a whole one of a newer major version
/// is kUnsupported. kCancelled if has_read says so. Blocks.
Status scan_indexes(storage::File& file, const DataFileName& name, const IndexSeeker& seeker);

/// Those of a folder, by rising names.
Result<std::vector<DataFileName>> list_data_files(const std::string& folder);

/// Path of a data file of the folder that holds an index of this dataset; no value if none that can
/// be read does. Reads no further than to the first one. Blocks.
std::optional<std::string> find_file_with_index(const std::string& folder,
                                                const DatasetId& dataset);

}  // namespace forebay::format

// SPDX-License-Identifier: Apache-2.0
// scan_indexes(): finds indexes in data files whose places are unknown.
#pragma once

#include <functional>

#include "format/index.hpp"
#include "storage/file.hpp"

namespace forebay::format {

/// Callbacks of a scan, and the choice of indexes to decode.
struct IndexVisitor {
  /// Receives the number of bytes that were scanned; false cancels the scan.
  std::function<bool(std::uint64_t bytes)> on_bytes_read;
  /// Called for a header whose checksum is not checked yet: whether to read and decode the index.
  std::function<bool(const IndexHeader& head)> should_decode;
  std::function<void(const Index& index)> on_index;
  /// Receives Errors of unreadable bytes; bytes before and behind them are scanned.
  std::function<void(const Error& error)> on_error;
};

/// Passes on all indexes at multiples of kPageBytes whose checksum, file and place are right, in
/// the order of offsets. If a step was retried, it may have two indexes in a file; both are passed
/// on. Pages that only look like an index are skipped; a valid index of a newer major version is
/// kUnsupported. kCancelled if on_bytes_read returns false. Blocks.
Status scan_indexes(storage::File& file, const DataFileName& name, const IndexVisitor& visitor);

/// Data files of a directory, by ascending names.
Result<std::vector<DataFileName>> list_data_files(const std::string& directory);

/// Path of a data file of the directory that has an index of this dataset; no value if no readable
/// file has one. Stops reading at the first one. Blocks.
std::optional<std::string> find_file_with_index(const std::string& directory,
                                                const DatasetId& dataset);

}  // namespace forebay::format

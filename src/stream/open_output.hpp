// SPDX-License-Identifier: Apache-2.0
// open_output(): opens or creates a file of a stream, truncated or kept, direct or through the page
// cache. All streams write a file with one access method. Of a direct file, only parts of blocks go
// through the page cache.
#pragma once

#include <forebay/error.hpp>
#include <forebay/output_stream.hpp>
#include <forebay/stream_plan.hpp>

#include <memory>
#include <string>

#include "stream/device_queues.hpp"
#include "stream/output_file_state.hpp"

namespace forebay::stream {

struct OpenedOutput {
  std::shared_ptr<OutputFileState> file_state;
  OutputPlan plan;
  /// Space that is reserved so far, beyond the end of a file that other processes write too.
  std::uint64_t reserved_bytes = 0;
};

/// `path` is the file to write; the library chooses values that `plan` leaves open.
Result<OpenedOutput> open_output(const std::string& path,
                                 const OutputFileOptions& options,
                                 const StreamPlan& plan,
                                 DeviceQueues& queues);

}  // namespace forebay::stream

// SPDX-License-Identifier: Apache-2.0
// How a file of a stream is opened: found or made, emptied or kept, directly or through the page
// cache, and never in two ways at a time.
#pragma once

#include <forebay/error.hpp>
#include <forebay/output_stream.hpp>
#include <forebay/stream_plan.hpp>

#include <memory>
#include <string>

#include "stream/device_queues.hpp"
#include "stream/target.hpp"

namespace forebay::stream {

struct Opened {
  std::shared_ptr<Target> target;
  OutputPlan plan;
  /// Space that was reserved so far, beyond the end of a file that other processes write too.
  std::uint64_t reserved_bytes = 0;
};

/// `path` is where the file is to be; what `plan` leaves open is chosen.
Result<Opened> open_output(const std::string& path,
                           const CreateOptions& options,
                           const StreamPlan& plan,
                           DeviceQueues& queues);

}  // namespace forebay::stream

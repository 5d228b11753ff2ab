// SPDX-License-Identifier: Apache-2.0
// Reports the progress of reading a dataset.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "format/read_progress.hpp"
#include "tools/probe/messages.hpp"

namespace forebay::dataset_tool {

/// A callback for operations with these passes; `passes` are their names for users.
inline format::ProgressCallback read_progress(probe::ProgressSink sink,
                                              std::vector<std::string> passes) {
  return [sink = std::move(sink), passes = std::move(passes)](const format::ReadProgress& now) {
    return !sink || sink({now.done_bytes, now.total_bytes, "bytes", passes.at(now.pass)});
  };
}

}  // namespace forebay::dataset_tool

// SPDX-License-Identifier: Apache-2.0
// Output of the program as JSON. README.md in this directory is its contract.
#pragma once

#include <forebay/error.hpp>

#include "command/command_result.hpp"
#include "tipsy/memory_monitor.hpp"
#include "tipsy/snapshot.hpp"
#include "tipsy/snapshot_source.hpp"

namespace forebay::tipsy {

using command::dump;
using command::Json;
using command::to_json;

Json to_json(const Snapshot& snapshot);
Json to_json(const PeakMemory& peaks);
/// Null for a source without a report.
Json to_json(const std::optional<SourceReport>& report);
}  // namespace forebay::tipsy

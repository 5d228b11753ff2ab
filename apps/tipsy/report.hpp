// SPDX-License-Identifier: Apache-2.0
// What the program prints, as JSON. README.md beside it is the contract with whoever reads that.
#pragma once

#include <forebay/error.hpp>

#include "command/report.hpp"
#include "tipsy/memory.hpp"
#include "tipsy/snapshot.hpp"
#include "tipsy/source.hpp"

namespace forebay::tipsy {

using command::dump;
using command::Json;
using command::to_json;

Json to_json(const Snapshot& snapshot);
Json to_json(const MemoryPeaks& peaks);
/// Null for a source that has nothing to tell.
Json to_json(const std::optional<SourceReport>& report);
}  // namespace forebay::tipsy

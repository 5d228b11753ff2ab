// SPDX-License-Identifier: Apache-2.0
// The report of `remap` as JSON: README.md lists the fields.
#pragma once

#include <forebay/output_stream.hpp>

#include <vector>

#include "cube/describe.hpp"
#include "cube/remap_context.hpp"

namespace forebay::cube {

/// The plan, and the number of rows read.
Json to_json(const RemapContext& source, const std::vector<RemapMetric>& metrics);
/// The statistics of the output stream.
Json to_json(const StreamReport& report);

}  // namespace forebay::cube

// SPDX-License-Identifier: Apache-2.0
// What a remapping did, as JSON: README.md has the fields.
#pragma once

#include <forebay/output_stream.hpp>

#include <vector>

#include "cube/describe.hpp"
#include "cube/remap_rows.hpp"

namespace forebay::cube {

/// What was planned and read.
Json to_json(const RemapSource& source, const std::vector<RemapMetric>& metrics);
/// How it was written.
Json to_json(const StreamReport& report);

}  // namespace forebay::cube

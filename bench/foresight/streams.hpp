// SPDX-License-Identifier: Apache-2.0
// Streams of reads for the rows of `bench foresight`, from signatures.
#pragma once

#include <forebay/error.hpp>

#include <string_view>
#include <vector>

#include "bench/frame/benchmark.hpp"
#include "trace/access.hpp"

namespace forebay::bench::foresight {

using Stream = std::vector<trace::Access>;

/// The accesses of a known pattern (trace/access_patterns.hpp), or of a signature if `pattern` has
/// braces. Throws an Error.
Stream stream_of(std::string_view pattern);

// The rows of the table, one file each.
std::vector<RowGroup> simulated_rows();
std::vector<RowGroup> cost_rows();
/// The rows that read from storage.
Status bench_storage(Context& context);

}  // namespace forebay::bench::foresight

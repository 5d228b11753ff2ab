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
/// braces.
Result<Stream> stream_of(std::string_view pattern);

// The rows of the table, one file each.
Status bench_simulated(Context& context);
Status bench_costs(Context& context);

}  // namespace forebay::bench::foresight

// SPDX-License-Identifier: Apache-2.0
// Rows about Forebay alone, one file each: cost of single calls, slowdown of a computation, and
// memory of strategies. Each calls is_selected() of the Context.
#pragma once

#include "bench/checkpoint/samples.hpp"
#include "bench/frame/benchmark.hpp"

namespace forebay::bench::checkpoint {

inline constexpr unsigned kForebayRounds = 5;

/// Ids of the rows; the program of the peers' libraries skips them.
std::vector<std::string> forebay_row_ids();

/// ckpt.perceived.adopt_us, ckpt.perceived.over_memcpy
Status bench_calls(Context& context);
/// ckpt.open_us
Status bench_begin_step(Context& context);
/// ckpt.overlap, ckpt.overlap.heavy
Status bench_overlap(Context& context);
/// ckpt.dedicated.over_in_rank
Status bench_job(Context& context);

/// ckpt.memory_over_plan: the strategy in which a rank used the largest fraction of its plan's
/// memory. From the samples of kMemoryCase, like the next.
tl::expected<ResultRow, std::string> memory_over_plan(const Samples& samples);
/// ckpt.brigade_memory: staging of all ranks together, of a chain / of a gathering writer.
tl::expected<ResultRow, std::string> brigade_memory(const Samples& samples);

}  // namespace forebay::bench::checkpoint

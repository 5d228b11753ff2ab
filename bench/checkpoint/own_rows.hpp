// SPDX-License-Identifier: Apache-2.0
// Rows about Forebay alone, one file each: what single calls cost, what an application feels beside
// a computation, and what memory strategies take. Each asks the Context whether it is wanted.
#pragma once

#include "bench/checkpoint/samples.hpp"
#include "bench/frame/benchmark.hpp"

namespace forebay::bench::checkpoint {

inline constexpr unsigned kOwnRounds = 5;

/// What they are called; the program of the peers' libraries knows the names and leaves them out.
std::vector<std::string> own_ids();

/// ckpt.perceived.adopt_us, ckpt.perceived.over_memcpy
Status bench_calls(Context& context);
/// ckpt.open_us
Status bench_begin_step(Context& context);
/// ckpt.overlap, ckpt.overlap.heavy
Status bench_overlap(Context& context);
/// ckpt.dedicated.over_in_rank
Status bench_job(Context& context);

/// ckpt.memory_over_plan: the strategy of which a rank used most of its plan's memory. From the
/// samples of kMemoryCase, as the next.
tl::expected<ResultRow, std::string> memory_over_plan(const Samples& samples);
/// ckpt.brigade_memory: staging of all ranks together, of a chain over that of a gathering writer.
tl::expected<ResultRow, std::string> brigade_memory(const Samples& samples);

}  // namespace forebay::bench::checkpoint

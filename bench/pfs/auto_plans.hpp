// SPDX-License-Identifier: Apache-2.0
// Plans to compare with the automatic one: a full sweep, the selection of the fastest, and the
// ratio to them. Pure, so that the sweep is tested without a file system.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "bench/frame/statistics.hpp"
#include "bench/read/rank_harness.hpp"

namespace forebay::bench::pfs {

/// Agents x splinter x request x depth; agents only where ranks share a node. No request is longer
/// than its splinter. Each window has room for twice the bytes in flight, as in automatic plans.
std::vector<read::PlanOverrides> plans_to_sweep(std::uint32_t ranks_on_node);

/// For output: "per node, splinters of 1 MiB, 16 requests of 256 KiB".
std::string text_of(const read::PlanOverrides& plan);

/// A power of two for output: "64 MiB".
std::string text_of_bytes(std::uint64_t bytes);

/// Indices of the `count` smallest of `seconds`, or of all of them, in ascending order of seconds.
std::vector<std::size_t> fastest(std::span<const double> seconds, std::size_t count);

/// For each round, `ours` / the fastest of `others`. `others` has a row for each plan, all of the
/// length of `ours`; at least one.
Summary over_fastest(std::span<const double> ours, const std::vector<std::vector<double>>& others);

}  // namespace forebay::bench::pfs

// SPDX-License-Identifier: Apache-2.0
// What the automatic plan is held against: all plans that somebody with much time would try, which
// of them were fastest, and how far from those another is. Pure, so that the sweep is tested
// without a file system.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "bench/frame/statistics.hpp"
#include "bench/read/crew.hpp"

namespace forebay::bench::pfs {

/// Agents x splinter x request x depth; agents only where ranks share a node. No request is longer
/// than its splinter. Each has a window with room for what is under way and as much again, as an
/// automatic plan has.
std::vector<read::GivenPlan> plans_to_sweep(std::uint32_t ranks_at_node);

/// For people: "per node, splinters of 1 MiB, 16 requests of 256 KiB".
std::string text_of(const read::GivenPlan& plan);

/// A power of two for people: "64 MiB".
std::string text_of_bytes(std::uint64_t bytes);

/// Which of `seconds` are the smallest, the smallest first; `count` of them, or all there are.
std::vector<std::size_t> fastest(std::span<const double> seconds, std::size_t count);

/// In each round ours over the fastest of the others. `others` has a row for each of them, all as
/// long as `ours`; at least one.
Summary over_fastest(std::span<const double> ours, const std::vector<std::vector<double>>& others);

}  // namespace forebay::bench::pfs

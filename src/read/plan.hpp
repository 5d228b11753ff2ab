// SPDX-License-Identifier: Apache-2.0
// The choice of a session's plan from what is known of its file, memory and job.
#pragma once

#include <forebay/access.hpp>
#include <forebay/error.hpp>
#include <forebay/range.hpp>
#include <forebay/read_plan.hpp>

#include <cstdint>
#include <string>

namespace forebay {

/// The input of plan_read().
struct ReadFacts {
  ByteRange extent;                   ///< of the session, within the file
  Access access = Access::kBuffered;  ///< recommended for this file and extent
  std::string access_reason = {};     ///< why that access is recommended
  bool is_cached = false;             ///< reads are copies from the page cache
  std::uint64_t alignment_bytes = 1;  ///< that direct access requires of offsets, lengths and
                                      ///< addresses
  std::uint64_t available_bytes = 0;  ///< memory that the Runtime can still provide
  std::uint64_t total_bytes = 0;      ///< memory of the Runtime in total; 0: the same
  std::uint32_t ranks_on_node = 1;    ///< ranks for which one agent could read
  std::uint32_t linked_nodes = 1;     ///< nodes whose agents could read for each other
  /// Request size and requests in flight that keep the storage busy, if known
  /// (RuntimeOptions::machine). 0: unknown.
  std::uint64_t request_bytes = 0;
  std::uint32_t queue_depth = 0;
  /// Requests that the file's servers process at a time, whatever their size. 0: unknown.
  std::uint32_t server_requests = 0;
  /// Source of these values, for people, and why values of the file system are not used. May be
  /// empty.
  std::string storage_reason = {};
  /// Striping of the file. A `stripe_count` of 0 means unknown.
  std::uint64_t stripe_bytes = 0;
  std::uint32_t stripe_count = 0;
};

/// Chooses which agents read a session with this access, unless `requested` does. Always kPerNode
/// if `requested` names nodes whose agents read, and nodes are connected. One agent reads from a
/// device. Copies from the page cache, which ranks share anyway, are made by the rank that needs
/// the data. Pure.
AgentScope choose_agent_scope(const ReadFacts& facts, const ReadPlan& requested) noexcept;

/// Completes `requested`: chooses what it leaves open and checks what it sets. Pure. Fails with
/// kInvalidArgument, naming field and limit (for example a budget below one splinter). Fails with
/// kLimit if the available memory is less than one splinter.
Result<ReadPlan> plan_read(const ReadFacts& facts, const ReadPlan& requested = {});

}  // namespace forebay

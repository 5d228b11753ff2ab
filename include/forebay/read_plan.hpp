// SPDX-License-Identifier: Apache-2.0
// ReadPlan: how a session reads, as a plain struct: its units, its memory, its readahead. An
// application declares what it reads; plan_read() completes the plan from facts about file and
// machine. It is a pure function, so plans can be printed, stored, searched by a tuner, and tested
// by the thousand.
#pragma once

#include <forebay/access.hpp>
#include <forebay/error.hpp>
#include <forebay/range.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace forebay {

/// When the memory of a splinter may be reused.
enum class EvictionPolicy : std::uint8_t {
  kReadOnce,  ///< when as many bytes have been delivered as the splinter holds: each byte is read
              ///< once
  kLru,  ///< when another splinter needs the memory, least recently used first; repeated reads are
         ///< counted
};

/// Which agents read for the ranks that share a node.
enum class AgentScope : std::uint8_t {
  kPerRank,  ///< each rank reads for its own use, into its own memory
  kPerNode,  ///< one agent reads for all of them, into shared memory: bytes that several ranks need
             ///< are read once
};

/// "per rank", "per node".
std::string_view name_of(AgentScope agents) noexcept;

/// How one session reads. Zero, or an absent optional, means that the library chooses.
struct ReadPlan {
  std::optional<Access> access = std::nullopt;
  /// Unit of residency between storage and memory: a power of two, at least 4 KiB.
  std::uint64_t splinter_bytes = 0;
  /// Upper limit of the session's memory for data. At least one splinter is needed; four are
  /// reasonable.
  std::uint64_t budget_bytes = 0;
  /// Initial memory. It grows up to budget_bytes only if the access pattern needs that.
  std::uint64_t window_bytes = 0;
  /// Size of one request to storage, and number of requests in flight. If the storage is known,
  /// they follow from its servers, their latency and the stripes of the file.
  std::uint64_t request_bytes = 0;
  std::uint32_t queue_depth = 0;
  /// How the file is striped: stripe k is on server k mod `stripe_count`. Each server gets its
  /// share of the requests in flight, so one busy server does not leave the others idle. A
  /// `stripe_count` of 0 takes the layout from the file system or the machine, else one server; 1
  /// assumes one server. No effect if a splinter spans several servers.
  std::uint64_t stripe_bytes = 0;
  std::uint32_t stripe_count = 0;
  /// Upper limit of readahead, in bytes beyond what was requested. Absent: chosen. 0: reads only
  /// what is requested.
  std::optional<std::uint64_t> readahead_bytes = std::nullopt;
  EvictionPolicy eviction = EvictionPolicy::kReadOnce;
  /// Always kPerRank if ranks do not share a node.
  std::optional<AgentScope> agent_scope = std::nullopt;
  /// Nodes whose agents access storage, numbered in the order of their lowest ranks. Other nodes
  /// get the bytes that their ranks request from these agents. Empty: each node reads for its own
  /// ranks. No effect with one node, or if the agents could not connect.
  std::vector<std::uint32_t> agent_nodes = {};
  /// Contiguous bytes of the file that one node of `agent_nodes` reads: a power of two, at least
  /// one splinter. The value 0 means 16 MiB.
  std::uint64_t agent_stripe_bytes = 0;
  /// Why these values were chosen, for people. Set by plan_read().
  std::string reason = {};
};

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
  /// Source of these values, for people, and why values of the file system are not used. May be
  /// empty.
  std::string storage_reason = {};
  /// Striping of the file. A `stripe_count` of 0 means unknown.
  std::uint64_t stripe_bytes = 0;
  std::uint32_t stripe_count = 0;
};

/// Chooses which agents read a session with this access, unless `wanted` does. One agent reads from
/// a device. Copies from the page cache, which ranks share anyway, are made by the rank that needs
/// the data. Pure.
AgentScope choose_agent_scope(const ReadFacts& facts, const ReadPlan& wanted) noexcept;

/// Completes `wanted`: chooses what it leaves open and checks what it sets. Pure. Fails with
/// kInvalidArgument, naming field and limit (for example a budget below one splinter). Fails with
/// kLimit if the available memory is less than one splinter.
Result<ReadPlan> plan_read(const ReadFacts& facts, const ReadPlan& wanted = {});

}  // namespace forebay

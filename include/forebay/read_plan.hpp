// SPDX-License-Identifier: Apache-2.0
// ReadPlan: how a session reads, as a plain struct: its units, its memory, its readahead. An
// application declares what it reads; the library completes the plan from facts about file and
// machine when a session opens (src/read/plan.hpp). Session::plan() returns the result.
#pragma once

#include <forebay/access.hpp>
#include <forebay/detail/export.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace forebay {

/// What is declared of the reads of a session.
enum class Mode : std::uint8_t {
  kDeclared,  ///< all of its extent will be read; agents begin at once, in file order
  /// Nothing is declared. Forebay learns the pattern of the reads, or gets it from Session::hint()
  /// and similar sources, and reads ahead what it predicts (docs/guides/foresight.md).
  kOnDemand,
};

/// "declared", "on demand".
FOREBAY_EXPORT std::string_view name_of(Mode mode) noexcept;

/// When the memory of a splinter may be reused.
enum class EvictionPolicy : std::uint8_t {
  kReadOnce,  ///< when as many bytes have been delivered as the splinter holds; for programs that
              ///< take each byte once
  kLru,  ///< when another splinter needs the memory, least recently used first; for programs that
         ///< take bytes repeatedly
};

/// How a thread runs the function of Session::preexecute().
enum class PreExecutionMode : std::uint8_t {
  kThread,  ///< competes with the threads of the program
  kIdle,    ///< runs while a processor is idle (SCHED_IDLE)
  kAgent,   ///< in the process of the node's agent, for functions registered by name
            ///< (Runtime::register_next_reads()); as kThread if this process reads for itself
};

/// Which agents read for the ranks that share a node.
enum class AgentScope : std::uint8_t {
  kPerRank,  ///< each rank reads for its own use, into its own memory
  kPerNode,  ///< one agent reads for all of them, into shared memory: bytes that several ranks need
             ///< are read once
};

/// "per rank", "per node".
FOREBAY_EXPORT std::string_view name_of(AgentScope agent_scope) noexcept;

/// Values of a ReadPlan that depend on hardware rather than on the program. Zero, or an absent
/// optional, means that the library chooses.
struct ReadTuning {
  /// Unit of residency between storage and memory: a power of two, at least 4 KiB.
  std::uint64_t splinter_bytes = 0;
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
  /// kPerNode if `agent_nodes` has an effect. Else kPerRank if ranks do not share a node.
  std::optional<AgentScope> agent_scope = std::nullopt;
  /// Nodes whose agents access storage, numbered in the order of their lowest ranks. Other nodes
  /// get the bytes that their ranks request from these agents, except private copies, which each
  /// node reads for itself. Empty: each node reads for its own ranks. No effect with one node, or
  /// if the agents could not connect.
  std::vector<std::uint32_t> agent_nodes = {};
  /// Stripes of this many bytes of the file are assigned to `agent_nodes` round-robin: a power of
  /// two, at least one splinter. The value 0 means 16 MiB.
  std::uint64_t agent_stripe_bytes = 0;

  friend bool operator==(const ReadTuning&, const ReadTuning&) = default;
};

/// How one session reads. Zero, or an absent optional, means that the library chooses.
struct ReadPlan {
  Mode mode = Mode::kDeclared;
  std::optional<Access> access = std::nullopt;
  /// Upper limit of the session's window; private copies are not included. At least one splinter is
  /// needed; four are reasonable.
  std::uint64_t budget_bytes = 0;
  /// Upper limit of readahead beyond what was requested: in whole splinters, at least one. Absent:
  /// chosen. 0: loads only requested splinters, whole ones for contiguous requests. With kOnDemand:
  /// upper limit of the bytes that are read ahead by prediction; 0: none.
  std::optional<std::uint64_t> readahead_bytes = std::nullopt;
  /// Has no effect with kOnDemand: the splinter whose predicted use is farthest is evicted first.
  EvictionPolicy eviction = EvictionPolicy::kReadOnce;
  PreExecutionMode pre_execution_mode = PreExecutionMode::kThread;
  /// The first sessions of a loop try values that this plan leaves open, and later ones have the
  /// fastest: request_bytes, queue_depth, splinter_bytes and, with ranks, agent_scope, agent_nodes
  /// and agent_stripe_bytes. Sessions of this Runtime belong to a loop if their plans are equal and
  /// their extents similar. What is measured is the time from opening to close(), for each byte
  /// that is delivered; a session that delivers less than half of its extent does not count. A
  /// session that cannot be opened with tried values opens with this plan as it is. The plan of a
  /// Session states in `reason` what was found.
  ///
  /// With several ranks, opening is collective unless the plan sets kPerRank: all ranks open the
  /// session with the same plan, from one thread at a time, and wait for the first rank, which
  /// sends its choice. It measures its own tasks; half of its equal share of the extent counts.
  /// The thread must be one that may call MPI (docs/guides/mpi.md); with MPI_THREAD_SERIALIZED, no
  /// step of a dataset with `collective` may be in progress.
  bool tune = false;
  ReadTuning tuning = {};
  /// Why these values were chosen, for people. Set in the plan of a Session.
  std::string reason = {};

  friend bool operator==(const ReadPlan&, const ReadPlan&) = default;
};

}  // namespace forebay

// SPDX-License-Identifier: Apache-2.0
// ReadPlan: how a session reads, as a plain struct. An application says what it reads; the plan
// says how: in which units, through how much memory, how far ahead. plan_read() fills one in from
// facts about file and machine; it is a pure function, so a plan can be printed, stored, searched
// by a tuner and tested by the thousand.
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

/// When the memory of a splinter may be used again.
enum class Retirement : std::uint8_t {
  kOnce,   ///< as soon as as many bytes were handed out as the splinter holds: each byte is wanted
           ///< once
  kCache,  ///< when another splinter needs the memory, the longest unused first; reading again is
           ///< counted
};

/// Who reads for the ranks that share a node.
enum class Agents : std::uint8_t {
  kPerRank,  ///< each rank for itself, into memory of its own
  kPerNode,  ///< one agent for all of them, into memory that they share: what several ranks read is
             ///< read once
};

/// "per rank", "per node".
std::string_view name_of(Agents agents) noexcept;

/// The I/O decomposition of one read session. Zero, or an absent optional, means "choose for me".
struct ReadPlan {
  std::optional<Access> access = std::nullopt;
  /// Unit of bookkeeping between storage and memory; a power of two, at least 4 KiB.
  std::uint64_t splinter_bytes = 0;
  /// Most memory the session may use for data. At least one splinter of it is needed, four are
  /// sensible.
  std::uint64_t budget_bytes = 0;
  /// Memory it starts with; it grows to the budget only when the access pattern needs that.
  std::uint64_t window_bytes = 0;
  /// Size of one request to storage, and how many may be under way. Where the storage is known they
  /// follow from its servers, their latency and the stripes of the file.
  std::uint64_t request_bytes = 0;
  std::uint32_t queue_depth = 0;
  /// How the file lies on servers, stripe k on server k mod `servers`: each is given its share of
  /// what may be under way, so that one that many want at a time does not keep the others idle.
  /// `servers` 0: as the file system or the machine says, else as if there were one; 1: as if there
  /// were one. Where a splinter lies on several servers this changes nothing.
  std::uint64_t stripe_bytes = 0;
  std::uint32_t servers = 0;
  /// How many bytes agents may read ahead of what was asked for; absent: chosen; 0: only what is
  /// asked for.
  std::optional<std::uint64_t> eager_bytes = std::nullopt;
  Retirement retirement = Retirement::kOnce;
  /// Where ranks do not share a node this is always kPerRank.
  std::optional<Agents> agents = std::nullopt;
  /// Nodes, numbered in the order of their lowest ranks, whose agents use storage; those of other
  /// nodes get from them what their ranks want. Empty: each node reads for itself. Where there is
  /// but one node, or the agents could not connect, this changes nothing.
  std::vector<std::uint32_t> agent_nodes = {};
  /// So much of the file in a row is read by one of them; a power of two, at least one splinter;
  /// 0: 16 MiB.
  std::uint64_t agent_stripe_bytes = 0;
  /// Why these values were chosen, for people. Filled by plan_read().
  std::string reason = {};
};

/// What plan_read() needs to know.
struct ReadFacts {
  ByteRange extent;                   ///< of the session, within the file
  Access access = Access::kBuffered;  ///< what suits this file and extent
  std::string access_reason = {};     ///< why
  bool cached = false;                ///< reading is copying from the page cache
  std::uint64_t alignment_bytes = 1;  ///< that direct access asks of offsets, lengths and addresses
  std::uint64_t available_bytes = 0;  ///< memory that the Runtime can still give
  std::uint64_t total_bytes = 0;      ///< and what it had to begin with; 0: the same
  std::uint32_t ranks_at_node = 1;    ///< that one agent could read for
  std::uint32_t linked_nodes = 1;     ///< whose agents could read for each other
  /// What keeps the storage busy, where that is known (RuntimeOptions::machine): the size of one
  /// request, and how many of them are under way. 0: not known.
  std::uint64_t request_bytes = 0;
  std::uint32_t requests = 0;
  /// Who says so, for people; also why what the file system says is not used. May be empty.
  std::string storage_reason = {};
  /// How the file is striped; `servers` 0: not known.
  std::uint64_t stripe_bytes = 0;
  std::uint32_t servers = 0;
};

/// Who should read a session with this access, if `wanted` leaves that open: reading from a device
/// is for one agent, and copying from the page cache, which ranks share anyway, is done best by who
/// wants the data. Pure.
Agents choose_agents(const ReadFacts& facts, const ReadPlan& wanted) noexcept;

/// Completes `wanted`: chooses what it leaves open and checks what it gives. Pure.
/// Fails with kInvalidArgument, naming field and limit (for example a budget below one splinter),
/// and with kLimit if the memory available is less than one splinter.
Result<ReadPlan> plan_read(const ReadFacts& facts, const ReadPlan& wanted = {});

}  // namespace forebay

// SPDX-License-Identifier: Apache-2.0
// WritePlan: how the ranks of a program write the steps of a dataset, as a plain struct. An
// application says what it writes; the plan says how: who touches storage, in how many files, how
// bytes get there. What a plan leaves open is chosen when a dataset is opened, and `reason` says
// why. docs/guides/strategies.md tells when which plan is right.
#pragma once

#include <forebay/config.hpp>
#include <forebay/error.hpp>
#include <forebay/placement.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace forebay {

/// The presets of a plan, each known from a program that writes so.
enum class Strategy : std::uint8_t {
  kAuto,             ///< chosen from ranks, nodes, sizes and storage
  kSerial,           ///< everything to rank 0, which writes one file
  kFilePerProcess,   ///< each rank writes a file of its own (1PFPP)
  kBaton,            ///< groups of ranks share a file, and one of a group writes at a time (PMPIO)
  kCollective,       ///< groups of ranks write to a file together (syncIO)
  kReducedBlocking,  ///< few ranks write what the others hand over and forget (rbIO)
  kBrigade,          ///< bytes go along a chain of ranks to the writer at its end (ADIOS)
  kGather,           ///< the writer has all bytes of its group before it writes (ADIOS)
};

/// How bytes get from the rank that has them to the rank that writes them.
enum class HandOff : std::uint8_t {
  kNone,          ///< not at all: each rank writes its own
  kSharedMemory,  ///< the writer writes out of the memory of the ranks of its node, which send
                  ///< descriptions only; those on other nodes send messages as with kMessage
  kMessage,       ///< messages, when the writer asks for them
  kBrigade,       ///< along a chain of ranks, through a bounded buffer in each
  kGather,        ///< messages, all of a group's before anything is written
};

/// Who of those that share a file may write to it at a time.
enum class Schedule : std::uint8_t {
  kIndependent,  ///< anybody
  kBaton,        ///< one after the other
  kCollective,   ///< all together: by collective MPI-IO where files go through the page cache
};

/// What put() does when the memory for staging is out.
enum class WhenFull : std::uint8_t { kWait, kFail };

/// What is done to the bytes of a piece before they are stored.
enum class Codec : std::uint8_t { kNone, kZstd };

/// Who works out checksums.
enum class ChecksumBy : std::uint8_t {
  kAuto,   ///< whoever is cheaper by the plan's model
  kCopy,   ///< put(), while it copies; the agent, where nothing is copied
  kAgent,  ///< the agent, before it writes
};

/// "auto", "serial", "file-per-process", "baton", "collective", "reduced-blocking", "brigade",
/// "gather".
std::string_view name_of(Strategy strategy) noexcept;
/// "none", "shared-memory", "message", "brigade", "gather".
std::string_view name_of(HandOff hand_off) noexcept;
/// "independent", "baton", "collective".
std::string_view name_of(Schedule schedule) noexcept;
/// "wait", "fail".
std::string_view name_of(WhenFull when_full) noexcept;
/// "none", "zstd".
std::string_view name_of(Codec codec) noexcept;
/// "auto", "copy", "agent".
std::string_view name_of(ChecksumBy checksum_by) noexcept;

/// How the steps of a dataset are written. Zero, or an absent optional, means "choose for me" where
/// nothing else is said. `WritePlan{.strategy = Strategy::kBrigade}` is a whole plan.
struct WritePlan {
  Strategy strategy = Strategy::kAuto;
  /// How many ranks touch storage, at most as many as there are (of those given to I/O, where
  /// `placement` is kDedicated), and how many files one step has, at most one for each writer.
  std::uint32_t writers = 0;
  std::uint32_t files = 0;
  std::optional<HandOff> hand_off = std::nullopt;
  std::optional<Schedule> schedule = std::nullopt;
  /// Whether ranks that compute write, or those that the Runtime was told to give to I/O
  /// (RuntimeOptions::placement).
  std::optional<Placement> placement = std::nullopt;
  /// How new files are cut over the servers of the storage, where the file system can be told; 0:
  /// as it does by itself. Where it cannot be told, this changes nothing and the log says so.
  std::uint32_t targets = 0;
  std::uint64_t stripe_bytes = 0;
  /// What is written at once, and what places in a file are given out in: a multiple of
  /// `alignment_bytes`, at most 1 GiB. 0: 4 MiB, less for small steps.
  std::uint64_t unit_bytes = 0;
  /// Where in a file what one writer writes begins and ends; a power of two, at least 4 KiB. 0:
  /// 4 KiB, and where several writers share a file on storage with locks, what one lock covers.
  std::uint64_t alignment_bytes = 0;
  /// Most memory for staging on each rank, at least two units. 0: what a rank has put on average in
  /// the newest step, where that is known, else 1 GiB; but no more than the rank's share of a
  /// quarter of the free memory.
  std::uint64_t memory_bytes = 0;
  WhenFull when_full = WhenFull::kWait;
  /// Steps that may be begun and not yet published; 0: 2.
  std::uint32_t steps_in_flight = 0;
  /// Steps that share their files; 0: 1.
  std::uint32_t steps_per_group = 0;
  /// How many steps stay when a newer one is durable; 0: all.
  std::uint32_t keep = 0;
  Codec codec = Codec::kNone;
  /// Of kZstd, 1 (quick) to 19 (small); 0: 3.
  std::uint32_t codec_level = 0;
  ChecksumBy checksum_by = ChecksumBy::kAuto;
  /// How long the coordinator waits, after it has heard of a step for the first time from a rank
  /// that is done with it, for the others, which may still compute; then the step has failed. Who
  /// has died is known at once. 0: 10 minutes.
  std::chrono::milliseconds deadline = {};
  /// Why these values were chosen, for people. Filled when a dataset is opened.
  std::string reason = {};

  friend bool operator==(const WritePlan&, const WritePlan&) = default;
};

/// The preset: a plan with all that the strategy says, and nothing else.
WritePlan plan_of(Strategy strategy);

/// The strategy of this name; an Error that lists all names otherwise.
Result<Strategy> strategy_named(std::string_view name);

/// The plan that a TOML text describes: keys are the members of WritePlan (but for `reason`), sizes
/// may be text ("4 MiB"), `deadline` is `deadline_ms`. Errors call it `path`, name the line, and
/// say what is allowed. What is not in it is left open.
Result<WritePlan> write_plan_from(std::string_view text, const std::string& path);

/// The same of a file.
Result<WritePlan> write_plan_from_file(const std::string& path);

/// The plan that the variable FOREBAY_PLAN names: a strategy by its name, else the path of a TOML
/// file. No value if it is not set or empty.
Result<std::optional<WritePlan>> write_plan_from(const Environment& environment);

/// The TOML of a plan: what it leaves open is left out, `reason` is a comment. write_plan_from() of
/// it gives an equal plan without reason.
std::string to_toml(const WritePlan& plan);

}  // namespace forebay

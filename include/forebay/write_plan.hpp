// SPDX-License-Identifier: Apache-2.0
// WritePlan: how ranks write the steps of a dataset, as a plain struct: which ranks write data
// files, how many files a step has, how bytes get there. The library chooses open values when a
// dataset is opened, and `reason` explains them. docs/guides/strategies.md describes when which
// plan is right.
#pragma once

#include <forebay/access.hpp>
#include <forebay/detail/export.hpp>
#include <forebay/error.hpp>
#include <forebay/placement.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace forebay {

/// The presets of a plan, each known from an existing program.
enum class Strategy : std::uint8_t {
  kAuto,             ///< chosen from ranks, nodes, sizes and storage
  kSerial,           ///< all bytes go to rank 0, which writes one file
  kFilePerProcess,   ///< each rank writes its own file (1PFPP)
  kBaton,            ///< several ranks share a file, and one of them writes at a time (PMPIO)
  kCollective,       ///< several ranks write to a file together (syncIO)
  kReducedBlocking,  ///< few ranks write; the others pass on their bytes and continue to compute
                     ///< (rbIO)
  kBrigade,          ///< bytes travel along a chain of ranks to the writer at its end (ADIOS)
  kGather,           ///< few ranks write; each holds received bytes back until all of its ranks
                     ///< have committed a step, or memory is short (ADIOS)
};

/// How bytes get from the rank that has them to the rank that writes them.
enum class Exchange : std::uint8_t {
  kNone,          ///< no exchange: each rank writes its own bytes
  kSharedMemory,  ///< the writer writes from the memory of the ranks of its node, which send only
                  ///< descriptions; ranks of other nodes send messages, as with kMessage
  kMessage,       ///< messages, at the request of the writer
  kBrigade,       ///< along a chain of ranks, through a bounded buffer in each
  kGather,        ///< messages; the writer holds received bytes back until all of its ranks have
                  ///< committed a step, or memory is short
};

/// Which writers of a shared file may write to it at a time.
enum class TransferMode : std::uint8_t {
  kIndependent,  ///< all
  kBaton,        ///< one after the other
  kCollective,   ///< all together: by collective MPI-IO if files go through the page cache
};

/// What put() does when staging memory is exhausted: wait, or fail at once.
enum class StagingFullPolicy : std::uint8_t { kBlock, kFail };

/// Compression of pieces before they are stored.
enum class Codec : std::uint8_t { kNone, kZstd };

/// Where checksums are computed.
enum class ChecksumStage : std::uint8_t {
  kAuto,   ///< the stage with the lower cost in the plan's model
  kCopy,   ///< in put(), during the copy; in the agent, where nothing is copied
  kAgent,  ///< in the agent, before it writes
};

/// "auto", "serial", "file-per-process", "baton", "collective", "reduced-blocking", "brigade",
/// "gather".
FOREBAY_EXPORT std::string_view name_of(Strategy strategy) noexcept;
/// "none", "shared-memory", "message", "brigade", "gather".
FOREBAY_EXPORT std::string_view name_of(Exchange exchange) noexcept;
/// "independent", "baton", "collective".
FOREBAY_EXPORT std::string_view name_of(TransferMode transfer_mode) noexcept;
/// "block", "fail".
FOREBAY_EXPORT std::string_view name_of(StagingFullPolicy staging_full_policy) noexcept;
/// "none", "zstd".
FOREBAY_EXPORT std::string_view name_of(Codec codec) noexcept;
/// "auto", "copy", "agent".
FOREBAY_EXPORT std::string_view name_of(ChecksumStage checksum_stage) noexcept;

/// Values of a WritePlan that depend on hardware rather than on the program. Zero, or an absent
/// optional, means that the library chooses.
struct WriteTuning {
  std::optional<Exchange> exchange = std::nullopt;
  std::optional<TransferMode> transfer_mode = std::nullopt;
  /// Whether compute ranks write, or the I/O ranks of the Runtime (RuntimeOptions::placement).
  std::optional<Placement> placement = std::nullopt;
  /// How data files are written. Absent: chosen by the file system and, on the rank that creates a
  /// file, its expected length. With kDirect, files on storage without direct access are buffered.
  std::optional<Access> access = std::nullopt;
  /// Striping of new files over the servers of the storage, if the file system accepts it. 0: the
  /// default of the file system. Elsewhere this has no effect, and the log has a line.
  std::uint32_t stripe_count = 0;
  std::uint64_t stripe_bytes = 0;
  /// Size of one write, and unit of allocation in a file: a multiple of `alignment_bytes`, at most
  /// 1 GiB. 0: 4 MiB, less for small steps and a small `memory_bytes`, and where little memory is
  /// free.
  std::uint64_t unit_bytes = 0;
  /// Alignment of the ranges of each writer in a file: a power of two, at least 4 KiB. 0: 4 KiB;
  /// the range of one lock, if several writers share a file on storage with locks, and `unit_bytes`
  /// is a multiple of that range.
  std::uint64_t alignment_bytes = 0;
  /// Steps that share their files. 0: 1.
  std::uint32_t steps_per_group = 0;
  ChecksumStage checksum_stage = ChecksumStage::kAuto;

  friend bool operator==(const WriteTuning&, const WriteTuning&) = default;
};

/// How the steps of a dataset are written. Zero, or an absent optional, means that the library
/// chooses, unless stated otherwise. `WritePlan{.strategy = Strategy::kBrigade}` is a complete
/// plan.
struct WritePlan {
  Strategy strategy = Strategy::kAuto;
  /// Number of ranks that write data files, at most all ranks, or all I/O ranks if
  /// `tuning.placement` is kDedicated. And number of files of a step, at most one for each writer.
  std::uint32_t writers = 0;
  std::uint32_t files = 0;
  /// Upper limit of staging memory on each rank, at least two units. 0: the average that a rank has
  /// put in the newest step if that is known, else 1 GiB; in both cases limited to the rank's share
  /// of a quarter of the free memory. If neither the step nor the free memory is known: 64 MiB.
  std::uint64_t memory_bytes = 0;
  StagingFullPolicy staging_full_policy = StagingFullPolicy::kBlock;
  /// Steps that may be begun and neither published nor failed. 0: 2.
  std::uint32_t steps_in_flight = 0;
  /// Steps that are kept when a newer one is durable. 0: all.
  std::uint32_t retained_steps = 0;
  Codec codec = Codec::kNone;
  /// Level of kZstd, from 1 (fast) to 19 (small). 0: 3.
  std::uint32_t codec_level = 0;
  /// Limit of the time from the first commit of a step until all ranks, which may still compute,
  /// have committed it and all its files are durable. A step that exceeds it fails with kLimit. The
  /// death of a rank is detected at once, not after this time. 0: 10 minutes.
  std::chrono::milliseconds step_timeout = {};
  WriteTuning tuning = {};
  /// Why these values were chosen, for people. Set when a dataset is opened.
  std::string reason = {};

  friend bool operator==(const WritePlan&, const WritePlan&) = default;
};

/// The preset of a strategy: only the values that it implies.
FOREBAY_EXPORT WritePlan plan_of(Strategy strategy);

/// The strategy with this name. The Error for an unknown name lists all names.
FOREBAY_EXPORT Result<Strategy> parse_strategy(std::string_view name);

/// The plan in a TOML text. Keys are the members of WritePlan and WriteTuning, all at the top
/// level, except `tuning` and `reason`; the key of `step_timeout` is `step_timeout_ms`.
/// docs/guides/strategies.md lists them. Sizes may be text
/// ("4 MiB"). Errors use `path` as the file name, and name the line and the allowed values. Absent
/// keys are left open.
FOREBAY_EXPORT Result<WritePlan> parse_write_plan(std::string_view text, const std::string& path);

/// The same for a file.
FOREBAY_EXPORT Result<WritePlan> load_write_plan(const std::string& path);

/// The plan that the variable FOREBAY_PLAN names: a strategy by its name, else the path of a TOML
/// file. No value if the variable is unset or empty.
FOREBAY_EXPORT Result<std::optional<WritePlan>> write_plan_from_environment();

/// The TOML text of a plan. Open values are left out; `reason` is a comment. parse_write_plan() of
/// the text gives an equal plan without reason.
FOREBAY_EXPORT std::string to_toml(const WritePlan& plan);

}  // namespace forebay

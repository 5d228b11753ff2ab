// SPDX-License-Identifier: Apache-2.0
// Interface of a candidate, a method of checkpointing that is measured, and the list of all
// candidates of this program. The harness owns the clock, the application's memory, and the final
// sync: a candidate only writes, and its calls return when the application may continue.
//
// All calls are collective over the team. After a failure on this rank, the following calls are
// made all the same, so that no rank waits for one that has left. A candidate continues as well as
// it can, and returns its failure again where necessary.
#pragma once

#include <forebay/error.hpp>
#include <forebay/range.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <mpi.h>

namespace forebay::bench::checkpoint {

/// The ranks that take part, numbered from 0.
struct RankTeam {
  MPI_Comm communicator = MPI_COMM_NULL;
  std::uint32_t rank = 0;
  std::uint32_t size = 1;
};

/// The data to write, the same on all ranks. A step consists of the blocks of all writers, in the
/// order of writers.
struct Checkpoint {
  std::filesystem::path directory;         ///< exists, empty, for this run alone
  std::vector<std::uint64_t> block_bytes;  ///< by writer, of each step
  std::uint32_t steps = 0;

  std::uint64_t step_bytes() const noexcept;
  /// Offset of the block of `writer` in a step.
  std::uint64_t offset_of(std::uint32_t writer) const noexcept;
};

/// Numbers that only the candidate can report.
struct SelfReport {
  std::uint64_t staging_bytes = 0;    ///< of this rank, the maximum over time
  std::uint64_t planned_bytes = 0;    ///< of this rank, the bound of staging; 0: no bound
  std::uint32_t dedicated_ranks = 0;  ///< in the whole team: ranks that do not compute
};

/// One run of steps.
class Writer {
 public:
  virtual ~Writer() = default;
  /// The memory in which the application makes its next block: `own`, or memory of the candidate of
  /// the same size. Timed as blocked.
  virtual std::span<std::byte> block_memory(std::uint32_t step, std::span<std::byte> own);
  /// Writes this rank's block. Returns when the application may change it.
  virtual Status write_step(std::uint32_t step, std::span<const std::byte> block) = 0;
  /// Ends the run. Returns when the application may continue; timed as blocked.
  virtual Status close() = 0;
  /// Returns when this rank's part is on storage as far as the candidate ensures it. The harness
  /// syncs all files in the directory afterwards in any case.
  virtual Status make_durable() { return {}; }
  /// Called after make_durable().
  virtual SelfReport self_report() const { return {}; }
};

/// One restart.
class Reader {
 public:
  virtual ~Reader() = default;
  /// Reads the bytes `range` of a step (both ends multiples of 8) for this rank. `buffer` is
  /// aligned to 4 KiB, warm, and 8 KiB larger than the range. The result lies in it.
  virtual Result<std::span<const std::byte>> read(std::uint32_t step,
                                                  const ByteRange& range,
                                                  std::span<std::byte> buffer) = 0;
  virtual Status close() { return {}; }
};

using MemorySpans = std::vector<std::span<std::byte>>;

/// The cases in which a candidate is measured.
enum class Scope : std::uint8_t {
  kEverywhere,
  kMemory,  ///< only in cases of memory
};

class Candidate {
 public:
  virtual ~Candidate() = default;
  /// "name:variant", or a name alone.
  virtual std::string name() const = 0;
  /// The minimum number of ranks.
  virtual std::uint32_t ranks_min() const { return 1; }
  virtual Scope scope() const { return Scope::kEverywhere; }
  /// Called before each run, without being timed: work that a program does once at its start, like
  /// MPI_Init, and memory that it allocates once. Returns the memory that block_memory() will
  /// return besides `own`, each of the size of this rank's block.
  virtual Result<MemorySpans> prepare(const RankTeam& team, const Checkpoint& checkpoint) const;
  virtual Result<std::unique_ptr<Writer>> open(const RankTeam& team,
                                               const Checkpoint& checkpoint) const = 0;
  virtual bool can_read() const { return false; }
  /// Any number of ranks may read. Fails with kUnsupported unless can_read().
  virtual Result<std::unique_ptr<Reader>> open_to_read(const RankTeam& team,
                                                       const Checkpoint& checkpoint) const;
};

using CandidateList = std::vector<std::unique_ptr<const Candidate>>;

/// All candidates of this program, by name.
const CandidateList& all_candidates();

/// The part of a name before its variant.
std::string family_of(const std::string& name);

/// Adds a candidate before main(): `[[maybe_unused]] const bool known = register_candidate(...)`.
/// The value has no meaning.
bool register_candidate(std::unique_ptr<const Candidate> candidate);

}  // namespace forebay::bench::checkpoint

// SPDX-License-Identifier: Apache-2.0
// What a way of checkpointing must do to be measured, and the list of those that this program has.
// The harness owns the clock, the memory of the application, and what is durable in the end: a
// contender only writes, and says when the application may go on.
//
// All calls are collective over the team. Where one failed on this rank, those that follow are
// made all the same, so that no rank waits for one that has left: a contender goes on as well as it
// can and returns its failure again where it has to.
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
struct Team {
  MPI_Comm communicator = MPI_COMM_NULL;
  std::uint32_t rank = 0;
  std::uint32_t size = 1;
};

/// What is written, the same on all ranks. A step is the blocks of all writers, one after the
/// other.
struct Checkpoint {
  std::filesystem::path folder;            ///< exists, empty, for this run alone
  std::vector<std::uint64_t> block_bytes;  ///< by writer, of each step
  std::uint32_t steps = 0;

  std::uint64_t step_bytes() const noexcept;
  /// Where the block of `writer` begins in a step.
  std::uint64_t offset_of(std::uint32_t writer) const noexcept;
};

/// What a contender knows of itself and nobody can measure.
struct Told {
  std::uint64_t staging_bytes = 0;   ///< of this rank, the most at any time
  std::uint64_t planned_bytes = 0;   ///< of this rank, the bound of that; 0: there is none
  std::uint32_t ranks_given_up = 0;  ///< in the whole team: those that do not compute
};

/// One run of steps.
class Writer {
 public:
  virtual ~Writer() = default;
  /// The memory in which the application makes its next block: `own`, unless the contender has
  /// better (of the same size). Timed as blocked.
  virtual std::span<std::byte> memory_for(std::uint32_t step, std::span<std::byte> own);
  /// Takes this rank's block. Returns when the application may change it.
  virtual Status write_step(std::uint32_t step, std::span<const std::byte> block) = 0;
  /// No more steps. Returns when the application may go on; timed as blocked.
  virtual Status close() = 0;
  /// Returns when this rank's part is on storage as far as the contender sees to that. The harness
  /// syncs all files in the folder afterwards, whatever was done here.
  virtual Status make_durable() { return {}; }
  /// Asked after make_durable().
  virtual Told told() const { return {}; }
};

/// One restart.
class Reader {
 public:
  virtual ~Reader() = default;
  /// The bytes `range` of a step (both ends multiples of 8), which this rank wants. `room` is
  /// aligned to 4 KiB, warm, and 8 KiB larger than the range; what is returned lies in it.
  virtual Result<std::span<const std::byte>> read(std::uint32_t step,
                                                  const ByteRange& range,
                                                  std::span<std::byte> room) = 0;
  virtual Status close() { return {}; }
};

using Memories = std::vector<std::span<std::byte>>;

/// Where a contender is measured.
enum class Scope : std::uint8_t {
  kEverywhere,
  kMemory,  ///< in cases about memory alone
};

class Contender {
 public:
  virtual ~Contender() = default;
  /// "name:variant", or a name alone.
  virtual std::string name() const = 0;
  /// The fewest ranks it can be had with.
  virtual std::uint32_t ranks_min() const { return 1; }
  virtual Scope scope() const { return Scope::kEverywhere; }
  /// Before each run, outside of every clock: what a program does once, as it starts its MPI, and
  /// takes once, as it takes its own memory. Returns memory that memory_for() will give besides
  /// `own`, each of the size of this rank's block.
  virtual Result<Memories> prepare(const Team& team, const Checkpoint& checkpoint) const;
  virtual Result<std::unique_ptr<Writer>> open(const Team& team,
                                               const Checkpoint& checkpoint) const = 0;
  virtual bool can_read() const { return false; }
  /// Any number of ranks may read. Fails with kUnsupported unless can_read().
  virtual Result<std::unique_ptr<Reader>> open_to_read(const Team& team,
                                                       const Checkpoint& checkpoint) const;
};

using ContenderList = std::vector<std::unique_ptr<const Contender>>;

/// All of this program, by name.
const ContenderList& all_contenders();

/// The part of a name before its variant.
std::string family_of(const std::string& name);

/// Adds one before main(): `[[maybe_unused]] const bool known = register_contender(...)`. The value
/// means nothing.
bool register_contender(std::unique_ptr<const Contender> contender);

}  // namespace forebay::bench::checkpoint

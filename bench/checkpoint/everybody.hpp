// SPDX-License-Identifier: Apache-2.0
// All ranks that the program was started with. Rank 0 runs the frame and orders trials; those that
// a trial needs do it with rank 0, the others sleep: a rank that waits busily would take a core
// from those that are measured.
#pragma once

#include <forebay/error.hpp>

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>

#include "bench/checkpoint/job.hpp"
#include "bench/checkpoint/pieces.hpp"
#include "bench/checkpoint/sizes.hpp"
#include "bench/checkpoint/trial.hpp"
#include "bench/checkpoint/written.hpp"
#include "bench/frame/slices.hpp"

namespace forebay::bench::checkpoint {

enum class Task : std::uint32_t { kLeave, kWrite, kRestart, kPiece, kJob, kEndRuntimes };

/// Which contender; this one stands for the application without any checkpoint.
inline constexpr std::uint32_t kNobody = UINT32_MAX;

/// What is done next, by the first ranks of all.
struct Order {
  Task task = Task::kLeave;
  std::uint32_t contender = kNobody;  ///< index in all_contenders()
  std::uint32_t writers = 1;
  std::uint32_t readers = 0;  ///< of a restart
  std::uint32_t step = 0;     ///< the one that a restart reads
  std::uint32_t steps = 4;
  Sizes sizes = Sizes::kEqual;
  Application application;
  PieceSettings piece;          ///< of kPiece, which has no contender
  JobSettings job;              ///< of kJob, which has none either
  Check check = Check::kSizes;  ///< of kWrite, after the run
  std::uint64_t step_bytes = 0;
  char folder[4096] = {};  ///< is emptied first, unless its steps are read

  void set_folder(const std::filesystem::path& path);
};

/// On each rank. To be ended before MPI is.
class Everybody {
 public:
  explicit Everybody(const CountCalls& count_calls);
  ~Everybody();
  Everybody(const Everybody&) = delete;
  Everybody& operator=(const Everybody&) = delete;

  std::uint32_t rank() const noexcept { return all_.rank; }
  std::uint32_t size() const noexcept { return all_.size; }

  /// On rank 0: has it done. What was written is checked, and fails with kDamage. A restart reads
  /// what the same order with kWrite has left in the folder, after it was taken out of the page
  /// cache; its result has its seconds as blocked_s and one step as payload.
  Result<Measured> order(Order what);

  /// On rank 0: has the Runtimes of all ranks ended, and with them all files that they keep open.
  void end_runtimes();

  /// On the others: does what rank 0 orders until that is to leave.
  void serve();

 private:
  Team team(std::uint32_t ranks);
  Result<Measured> perform(const Order& order);
  Result<Measured> write(const Order& order, const Checkpoint& checkpoint);
  Result<Measured> job(const Order& order, const Checkpoint& checkpoint);
  Result<Measured> piece(const Order& order, const Checkpoint& checkpoint);
  Result<Measured> restart(const Order& order, const Checkpoint& checkpoint);
  /// The application's memory on this rank. Collective: had by all ranks of a team, or by none.
  Result<std::span<std::byte>> memory(const Team& team, std::uint64_t size_bytes);

  Team all_;
  CountCalls count_calls_;
  std::map<std::uint32_t, MPI_Comm> teams_;  // by size
  std::optional<TouchedMemory> memory_;      // the application's
};

/// Where the body of the benchmark finds them. On rank 0.
Everybody& everybody();
void set_everybody(Everybody* all);

}  // namespace forebay::bench::checkpoint

// SPDX-License-Identifier: Apache-2.0
// From what is known of job and storage to a whole plan. Pure: no file, no clock, no message, so
// that every rank comes to the same plan and tests try thousands.
#pragma once

#include <forebay/write_plan.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "model/machine.hpp"
#include "write/routes.hpp"

namespace forebay::write {

/// What kind of place a dataset lies in.
enum class StorageKind : std::uint8_t {
  kUnknown,
  kMemory,    ///< tmpfs and its like
  kLocal,     ///< a disk of the node
  kNetwork,   ///< one server for all (NFS)
  kParallel,  ///< many servers (Lustre, GPFS, PVFS)
};

/// What plan_write() needs to know.
struct WriteFacts {
  Crew crew;
  /// What each rank that computes puts in one step; empty: not known; one number: all alike.
  std::vector<std::uint64_t> step_bytes = {};
  StorageKind storage = StorageKind::kUnknown;
  /// Servers of the storage; 0: not known, or as the machine has it.
  std::uint32_t servers = 0;
  /// The storage's machine file, which outlives the call; null: not known.
  const model::Machine* machine = nullptr;
  /// Whose word kind and machine are, for people. May be empty.
  std::string storage_reason = {};
  /// What each rank can give to staging; 0: not known.
  std::uint64_t available_bytes = 0;
  /// What a plan that sets no memory_bytes may take on each rank: its share of the free memory. If
  /// it needs more to work at all, it takes that. 0: not known.
  std::uint64_t free_bytes = 0;
  /// Requests that a writer has under way.
  std::uint32_t requests_of_writer = 4;
  /// Cores that the computing ranks of a node may use together; 0: not known.
  std::uint32_t cores_of_node = 0;

  std::uint64_t bytes_of(Rank rank) const;
  /// Of the rank with the most; 0: not known.
  std::uint64_t bytes_most() const;
  std::uint32_t server_count() const;
  /// Computing ranks of the node that has the most.
  std::uint32_t ranks_of_node_most() const;
};

/// Completes `wanted`: checks what it gives, which is never changed (but `hand_off`, which is kNone
/// where each rank writes its own), and chooses what it leaves open. Memory for fewer segments than
/// the way of writing needs becomes as much as it needs, and the reason says so. A plan that came
/// from here comes back as it is, but for its reason.
/// Fails with kInvalidArgument, naming field, value and what to write instead, and with kLimit if
/// there is less memory than that.
Result<WritePlan> plan_write(const WriteFacts& facts, const WritePlan& wanted = {});

/// What the staging memory of a whole plan is divided into: a unit, in whole pieces.
std::uint64_t segment_bytes_of(const WritePlan& plan);

/// How long to wait for what comes however long ranks compute: answers of ranks given to I/O,
/// others' end, storage that does not move. Never longer than the deadline.
std::chrono::milliseconds stall_max(const WritePlan& plan);
/// How long put() waits for memory. It comes back from storage, which may stall; but where ranks
/// write together, only when the slowest of them has come.
std::chrono::milliseconds put_wait_max(const WritePlan& plan);

}  // namespace forebay::write

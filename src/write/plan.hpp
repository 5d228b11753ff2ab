// SPDX-License-Identifier: Apache-2.0
// plan_write(): a complete plan from facts about the job and its storage. Pure: no files, no clock,
// no messages, so that tests try thousands. When a dataset is opened, the first rank calls it; the
// other ranks receive the plan.
#pragma once

#include <forebay/write_plan.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "model/machine.hpp"
#include "storage/file.hpp"
#include "write/aggregation_map.hpp"

namespace forebay::write {

/// The kind of storage that a dataset lies on.
enum class StorageKind : std::uint8_t {
  kUnknown,
  kMemory,    ///< tmpfs and similar
  kLocal,     ///< a disk of the node
  kNetwork,   ///< one server for all (NFS)
  kParallel,  ///< many servers (Lustre, GPFS, PVFS)
};

/// Input of plan_write().
struct WriteFacts {
  RankLayout rank_layout;
  /// Bytes that each compute rank puts in one step; empty: unknown; one number: all alike.
  std::vector<std::uint64_t> step_bytes = {};
  StorageKind storage = StorageKind::kUnknown;
  storage::FileSystem file_system = storage::FileSystem::kOther;
  /// Servers of the storage. 0: those of `machine`; unknown without a machine.
  std::uint32_t servers = 0;
  /// Machine file of the storage, which must outlive the call; null: unknown.
  const model::Machine* machine = nullptr;
  /// Source of `storage` and `machine`, for the reason of the plan. May be empty.
  std::string storage_reason = {};
  /// The rank's share of the free memory. Limits only the choice of memory_bytes and unit_bytes in
  /// a plan without memory_bytes. If the minimum of the plan is larger, that is chosen. 0: unknown.
  std::uint64_t free_share_bytes = 0;
  /// Cores that the compute ranks of each node may use together, by the number of the node; 0:
  /// unknown. Empty: all unknown; one number: all alike.
  std::vector<std::uint32_t> cores_of_node = {};

  std::uint64_t bytes_of(RankNumber rank) const;
  std::uint32_t cores_of(std::uint32_t node) const;
  std::uint32_t server_count() const {
    return servers == 0 && machine != nullptr ? machine->server_count() : servers;
  }
};

/// Requests that a writer has in flight, unless the ranks of a file write together: as streams that
/// are written directly.
inline constexpr std::uint32_t kRequestsPerWriter = 16;

/// Completes `requested`: checks the values that it sets, and chooses those that it leaves open.
/// Values that are set do not change, with two exceptions. `exchange` becomes kNone where each rank
/// writes its own bytes. `memory_bytes` below the minimum of the plan is raised, and the reason
/// reports it. A plan that this function returned is returned unchanged, except for its reason.
/// Fails with kInvalidArgument, naming field, value and what to write instead.
Result<WritePlan> plan_write(const WriteFacts& facts, const WritePlan& requested = {});

/// Size of the segments into which the staging memory of a complete plan is divided: a unit, in
/// whole pieces.
std::uint64_t segment_bytes_of(const WritePlan& plan);

/// Maximum wait for events that do not depend on computing: replies of I/O ranks, the end of other
/// ranks, stalled storage. Never longer than the step timeout.
std::chrono::milliseconds stall_max(const WritePlan& plan);
/// Maximum wait of put() for memory, which is released when storage has its bytes.
/// Memory of a committed step with collective writes is released after the slowest rank is ready.
std::chrono::milliseconds put_wait_max(const WritePlan& plan);

}  // namespace forebay::write

// SPDX-License-Identifier: Apache-2.0
// LeaseFileState: the file `owner` of a dataset as found on storage: its text, its last heartbeat,
// its identity, and the lock on it. write/lease_holder.hpp decides from it whether the holder
// lives.
#pragma once

#include <forebay/error.hpp>

#include <cstdint>
#include <optional>
#include <string>

#include "base/descriptor.hpp"
#include "format/lease_holder.hpp"
#include "storage/file.hpp"

namespace forebay::write {

enum class LeaseLock : std::uint8_t {
  kUnknown,  ///< storage is shared, or refuses locks
  kHeld,
  kFree,
};

struct LeaseFileState {
  std::optional<format::LeaseHolder> holder;  ///< empty: the text is damaged
  std::int64_t mtime_s = 0;
  std::int64_t mtime_ns = 0;
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  storage::FileSystem file_system = storage::FileSystem::kOther;
  LeaseLock lock = LeaseLock::kUnknown;

  std::uint64_t nonce() const noexcept { return holder ? holder->nonce : inode; }
  /// True if `later`, read later at the same path, is the same file without a new heartbeat.
  bool is_unchanged_in(const LeaseFileState& later) const noexcept;
};

/// True if all openings of a file go through this kernel, and inode numbers do not change.
bool is_local(storage::FileSystem kind) noexcept;

/// Returns no value if there is no file. Opens the file, so that NFS fetches its attributes.
/// Blocks.
Result<std::optional<LeaseFileState>> read_lease_file(const std::string& path);

/// Locks an `owner` file, open for writing, until the last descriptor of this opening is closed.
/// Returns false, without a lock, on shared storage and where the file system refuses locks.
///
/// The lock belongs to the open file description, and the descriptor is closed on exec. A child of
/// fork() that does not call exec inherits the description, so the lock is held until that child
/// ends too. Such a child has none of the threads that write; process_state() shows that its
/// parent has ended.
bool lock_lease_file(const Descriptor& file) noexcept;

/// "process 4711 (flow) of user jane on node7", for errors and the log. The text may contain any
/// bytes, as the file may: see to_printable().
std::string describe_holder(const LeaseFileState& found);

/// The Error, kPermission, for a holder that is or may be alive. `found` is the file at `path`.
Error lease_held_error(const std::string& path, const LeaseFileState& found);

}  // namespace forebay::write

// SPDX-License-Identifier: Apache-2.0
// The file `owner` of a dataset as it is on storage: its text, its last heartbeat, its identity,
// and whether its writer still holds the lock on it. write/holder.hpp draws the conclusions.
#pragma once

#include <forebay/error.hpp>

#include <cstdint>
#include <optional>
#include <string>

#include "base/descriptor.hpp"
#include "format/owner.hpp"
#include "storage/file.hpp"

namespace forebay::write {

enum class OwnerLock : std::uint8_t {
  kUnknown,  ///< storage is shared, or refuses locks
  kHeld,
  kFree,
};

struct OwnerSeen {
  std::optional<format::Owner> owner;  ///< empty: the text is damaged
  std::int64_t touched_s = 0;
  std::int64_t touched_ns = 0;
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  storage::FileSystem file_system = storage::FileSystem::kOther;
  OwnerLock lock = OwnerLock::kUnknown;

  std::uint64_t nonce() const noexcept { return owner ? owner->nonce : inode; }
  /// True if `later`, seen later at the same path, is the same file without a heartbeat since.
  bool is_silent_until(const OwnerSeen& later) const noexcept;
};

/// True where all openings of a file are through this kernel, and inode numbers do not change.
bool is_local(storage::FileSystem kind) noexcept;

/// Returns no value if there is no file. Opens the file, so that NFS fetches its attributes.
/// Blocks.
Result<std::optional<OwnerSeen>> look_at_owner(const std::string& path);

/// Locks an `owner` file, open for writing, until the last descriptor of this opening is closed.
/// Returns false, without a lock, on shared storage and where the file system refuses locks.
///
/// The lock belongs to the open file description, and the descriptor is closed on exec. A child of
/// fork() that does not call exec inherits the description, so the lock is held until that child
/// ends too. Such a child has none of the threads that write; fate_of_process() shows that its
/// parent has ended.
bool lock_owner(const Descriptor& file) noexcept;

/// "process 4711 (flow) of user jane on node7", for errors and the log. Any bytes may be in it, as
/// they are in the file: see printable().
std::string text_of_holder(const OwnerSeen& found);

/// kPermission: the holder of `found`, the file at `path`, lives or may live.
Error held_by(const std::string& path, const OwnerSeen& found);

}  // namespace forebay::write

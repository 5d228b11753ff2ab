// SPDX-License-Identifier: Apache-2.0
#include "write/lease_file_state.hpp"

#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/retry_on_eintr.hpp"
#include "storage/file_system.hpp"
#include "write/processes.hpp"

namespace forebay::write {

namespace {

struct flock lock_of_whole_file() noexcept {
  struct flock lock{};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  return lock;
}

/// Queries the lock without acquiring it, so that concurrent queries do not see each other.
LeaseLock lock_state_of(const Descriptor& file, storage::FileSystem kind) noexcept {
  if (!is_local(kind)) return LeaseLock::kUnknown;
  struct flock lock = lock_of_whole_file();
  if (::fcntl(file.get(), F_OFD_GETLK, &lock) != 0) return LeaseLock::kUnknown;
  return lock.l_type == F_UNLCK ? LeaseLock::kFree : LeaseLock::kHeld;
}

}  // namespace

bool LeaseFileState::is_unchanged_in(const LeaseFileState& later) const noexcept {
  return nonce() == later.nonce() && inode == later.inode && mtime_s == later.mtime_s &&
         mtime_ns == later.mtime_ns;
}

bool is_local(storage::FileSystem kind) noexcept { return !storage::is_remote(kind); }

Result<std::optional<LeaseFileState>> read_lease_file(const std::string& path) {
  // O_NONBLOCK: opening a FIFO without a writer would block.
  const int flags = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
  const Descriptor file(retry_on_eintr([&] { return ::open(path.c_str(), flags); }));
  if (!file && errno == ENOENT) return std::nullopt;
  struct stat facts{};
  if (!file || ::fstat(file.get(), &facts) != 0)
    return failure(system_error({.operation = "read", .path = path}, errno));
  if (!S_ISREG(facts.st_mode))
    return failure({.kind = ErrorClass::kInvalidArgument,
                    .operation = "read",
                    .path = path,
                    .cause = "this is not a regular file; remove it"});
  std::string text(format::kLeaseHolderBytesMax + 1, '\0');
  const ssize_t got =
      retry_on_eintr([&] { return ::pread(file.get(), text.data(), text.size(), 0); });
  if (got < 0) return failure(system_error({.operation = "read", .path = path}, errno));
  text.resize(static_cast<std::size_t>(got));
  LeaseFileState found{.holder = std::nullopt,
                       .mtime_s = facts.st_mtim.tv_sec,
                       .mtime_ns = facts.st_mtim.tv_nsec,
                       .device = facts.st_dev,
                       .inode = facts.st_ino,
                       .file_system = storage::file_system_of(file.get())};
  found.lock = lock_state_of(file, found.file_system);
  if (auto holder = format::decode_lease_holder(text, path)) found.holder = std::move(*holder);
  return found;
}

bool lock_lease_file(const Descriptor& file) noexcept {
  if (!is_local(storage::file_system_of(file.get()))) return false;
  struct flock lock = lock_of_whole_file();
  return ::fcntl(file.get(), F_OFD_SETLK, &lock) == 0;
}

std::string describe_holder(const LeaseFileState& found) {
  if (!found.holder) return "a process whose description is damaged";
  const format::LeaseHolder& holder = *found.holder;
  return "process " + std::to_string(holder.process_id) + " (" + holder.program + ") of " +
         holder.user + " on " + holder.host;
}

Error lease_held_error(const std::string& path, const LeaseFileState& found) {
  std::string cause = "it is being written by " + describe_holder(found);
  if (found.holder) cause += " since " + format_utc_time(found.holder->opened_ns);
  cause += "; if that program has ended for certain, or this dataset is a copy, remove this file";
  return Error({.kind = ErrorClass::kPermission,
                .operation = "write the dataset of",
                .path = path,
                .cause = std::move(cause)});
}

}  // namespace forebay::write

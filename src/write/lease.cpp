// SPDX-License-Identifier: Apache-2.0
// Acquires the lease and takes it over. `owner` is a link to a file that was complete and durable
// before. So it is never visible in part, and only one of two link() calls succeeds. To take over
// from a holder X that has ended, a process first acquires the file owner-after-X in the same way.
// Only the process that has it replaces the file of X. So of two processes that take over from X,
// neither can replace the file of the other.
#include "write/lease.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/directory_entries.hpp"
#include "base/host_name.hpp"
#include "base/no_space.hpp"
#include "base/retry_on_eintr.hpp"
#include "base/service_thread.hpp"
#include "base/text_file.hpp"
#include "write/lease_file_state.hpp"
#include "write/lease_holder.hpp"
#include "write/processes.hpp"

namespace forebay::write {

namespace {

constexpr int kPollsMax = 50;      ///< reads of the file in verify_lease()
constexpr int kRetriesMax = 64;    ///< while other processes acquire and release the lease
constexpr unsigned kDepthMax = 8;  ///< processes that were killed while they took over
constexpr mode_t kLeaseFileMode = 0644;

std::string hex(std::uint64_t number) {
  std::array<char, 17> text{};
  std::snprintf(text.data(), text.size(), "%016llx", static_cast<unsigned long long>(number));
  return text.data();
}

constexpr std::string_view kNewPrefix = "owner-new-";          ///< not linked yet
constexpr std::string_view kSuccessorPrefix = "owner-after-";  ///< during a takeover
/// Upper limit for an attempt of a live process.
constexpr std::int64_t kAttemptTimeoutSeconds = 600;

/// Removes files of attempts that were killed. Compares times that the file system has set.
void remove_stale_attempts(const std::string& directory, const struct stat& lease_file) {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(directory, ignored)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(kNewPrefix) && !name.starts_with(kSuccessorPrefix)) continue;
    struct stat facts{};
    const bool is_old = ::stat(entry.path().c_str(), &facts) == 0 &&
                        facts.st_mtim.tv_sec + kAttemptTimeoutSeconds < lease_file.st_mtim.tv_sec;
    if (is_old) std::ignore = unlink_if_exists(entry.path().string());
  }
}

/// The attempt of one process to acquire the lease.
class LeaseAttempt {
 public:
  LeaseAttempt(std::string directory, format::LeaseHolder self, const LeaseOptions& options)
      : directory_(std::move(directory)),
        self_(std::move(self)),
        options_(options),
        private_path_(directory_ + "/" + std::string(kNewPrefix) + hex(self_.nonce)) {}
  ~LeaseAttempt() { ::unlink(private_path_.c_str()); }
  LeaseAttempt(const LeaseAttempt&) = delete;
  LeaseAttempt& operator=(const LeaseAttempt&) = delete;

  /// Creates the complete file under a temporary name; locked, if its storage supports locks.
  Result<Descriptor> create_lease_file();
  /// Links the file to `path`. Takes over from a holder that has ended, if necessary.
  Status acquire(const std::string& path, unsigned depth);
  /// As written to the file.
  const format::LeaseHolder& self() const noexcept { return self_; }

 private:
  enum class TakeoverResult : std::uint8_t { kAcquired, kRetry };
  Result<bool> try_link(const std::string& path) const;
  Result<TakeoverResult> take_over(const std::string& path,
                                   const LeaseFileState& gone,
                                   unsigned depth);

  const std::string directory_;
  format::LeaseHolder self_;
  const LeaseOptions& options_;
  const std::string private_path_;
};

Result<Descriptor> LeaseAttempt::create_lease_file() {
  const int flags = O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC;
  Descriptor file = open_path(private_path_, flags, kLeaseFileMode);
  struct stat facts{};
  if (!file || ::fstat(file.get(), &facts) != 0)
    return failure(system_error({.operation = "make", .path = private_path_}, errno));
  self_.device = facts.st_dev;
  self_.inode = facts.st_ino;
  self_.is_locked = lock_lease_file(file);
  const std::string text = format::encode_lease_holder(self_);
  errno = 0;
  const auto size = static_cast<ssize_t>(text.size());
  const auto write = [&] { return ::pwrite(file.get(), text.data(), text.size(), 0); };
  const bool is_durable =
      retry_on_eintr(write) == size && retry_on_eintr([&] { return ::fsync(file.get()); }) == 0;
  if (is_durable) return file;
  const Error why =
      system_error({.operation = "make", .path = private_path_}, errno != 0 ? errno : ENOSPC);
  return failure(with_free_space(why, text.size()));
}

/// False if the name is taken.
Result<bool> LeaseAttempt::try_link(const std::string& path) const {
  if (::link(private_path_.c_str(), path.c_str()) == 0) return true;
  const int error_number = errno;
  // NFS may repeat a request whose reply was lost, and then report that the name is taken.
  struct stat facts{};
  struct stat there{};
  const bool is_there = ::stat(private_path_.c_str(), &facts) == 0 &&
                        ::stat(path.c_str(), &there) == 0 && facts.st_ino == there.st_ino;
  if (is_there) return true;
  if (error_number == EEXIST) return false;
  return failure(system_error({.operation = "make", .path = path}, error_number));
}

Status LeaseAttempt::acquire(const std::string& path, unsigned depth) {
  for (int round = 0; round < kRetriesMax; ++round) {
    const auto is_mine = try_link(path);
    if (!is_mine) return failure(is_mine.error());
    if (*is_mine) return {};
    const auto found = read_lease_file(path);
    if (!found) return failure(found.error());
    if (!*found) continue;  // gone meanwhile
    if (const Status gone = wait_for_holder(directory_, path, **found, self_, options_); !gone)
      return gone;
    const auto change = take_over(path, **found, depth);
    if (!change) return failure(change.error());
    if (*change == TakeoverResult::kAcquired) return {};
  }
  return failure({.kind = ErrorClass::kLimit,
                  .operation = "write the dataset of",
                  .path = path,
                  .cause = "too many other programs acquire it at the same moment; try again"});
}

/// Replaces the file of a holder that has ended. kRetry if another process has done so.
Result<LeaseAttempt::TakeoverResult> LeaseAttempt::take_over(const std::string& path,
                                                             const LeaseFileState& gone,
                                                             unsigned depth) {
  if (depth == kDepthMax) return failure(lease_held_error(path, gone));
  const std::string after = directory_ + "/" + std::string(kSuccessorPrefix) + hex(gone.nonce());
  if (const Status mine = acquire(after, depth + 1); !mine) return failure(mine.error());
  // Another process may have completed a takeover before this one acquired `after`.
  const auto now = read_lease_file(path);
  const bool is_same = now && *now && (*now)->nonce() == gone.nonce();
  if (!is_same) {
    ::unlink(after.c_str());
    return now ? Result<TakeoverResult>(TakeoverResult::kRetry) : failure(now.error());
  }
  if (std::rename(after.c_str(), path.c_str()) != 0)
    return failure(system_error({.operation = "take over", .path = path}, errno));
  return TakeoverResult::kAcquired;
}

}  // namespace

Status verify_lease(const std::string& directory,
                    std::uint64_t nonce,
                    std::chrono::milliseconds timeout) {
  const std::string path = directory + "/" + std::string(format::kOwnerName);
  const auto until = std::chrono::steady_clock::now() + timeout;
  while (true) {
    const auto found = read_lease_file(path);
    if (found && *found && (*found)->nonce() == nonce) return {};
    const bool is_over = std::chrono::steady_clock::now() >= until;
    const bool may_look = found || found.error().kind() != ErrorClass::kPermission;
    if (!found && (is_over || !may_look)) return failure(found.error());
    if (is_over) break;
    std::this_thread::sleep_for(timeout / kPollsMax);
  }
  return failure({.kind = ErrorClass::kInvalidArgument,
                  .operation = "write the dataset of",
                  .path = directory,
                  .cause = "on " + host_name() +
                           " this is not the directory of the first rank; give a path that is "
                           "the same directory on all nodes, of storage that they share"});
}

Result<std::unique_ptr<Lease>> Lease::acquire(const std::string& directory,
                                              format::LeaseHolder holder,
                                              LeaseOptions options) {
  const std::string path = directory + "/" + std::string(format::kOwnerName);
  LeaseAttempt attempt(directory, std::move(holder), options);
  auto file = attempt.create_lease_file();
  if (!file) return failure(file.error());
  if (const Status taken = attempt.acquire(path, 0); !taken) return failure(taken.error());
  struct stat facts{};
  if (::fstat(file->get(), &facts) == 0) remove_stale_attempts(directory, facts);
  std::unique_ptr<Lease> lease(new Lease(path, attempt.self(), std::move(*file), options));
  auto thread =
      start_service_thread("forebay-lease", [raw = lease.get()] { raw->send_heartbeats(); });
  if (!thread) return failure(thread.error());
  lease->thread_ = std::move(*thread);
  return lease;
}

Lease::Lease(std::string path, format::LeaseHolder holder, Descriptor file, LeaseOptions options)
    : path_(std::move(path)),
      holder_(std::move(holder)),
      file_(std::move(file)),
      options_(options) {}

Lease::~Lease() {
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
    stop_requested_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
  if (check()) ::unlink(path_.c_str());
}

Status Lease::check() const {
  const auto found = read_lease_file(path_);
  if (!found) return failure(found.error());
  if (*found && (*found)->holder && (*found)->holder->nonce == holder_.nonce) return {};
  if (*found) return failure(lease_held_error(path_, **found));
  return failure({.kind = ErrorClass::kPermission,
                  .operation = "write the dataset of",
                  .path = path_,
                  .cause = "another program has removed this file"});
}

/// Body of the thread.
void Lease::send_heartbeats() {
  std::unique_lock lock(mutex_);
  while (!stop_requested_.wait_for(lock, options_.heartbeat_ms, [this] { return is_stopping_; }))
    ::futimens(file_.get(), nullptr);
}

}  // namespace forebay::write

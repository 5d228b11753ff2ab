// SPDX-License-Identifier: Apache-2.0
// How the lease changes hands: `owner` is a link to a file that is complete and durable before, so
// nobody ever sees half of one, and of two that link only one succeeds. To follow a holder X that
// is gone, one must have the file owner-after-X, got in the same way, and while one has it only
// oneself may put something in X's place: so two that follow cannot remove each other.
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

#include "base/folder_entries.hpp"
#include "base/no_space.hpp"
#include "base/service_thread.hpp"
#include "base/text_file.hpp"
#include "base/uninterrupted.hpp"
#include "write/holder.hpp"
#include "write/owner_seen.hpp"
#include "write/processes.hpp"

namespace forebay::write {

namespace {

constexpr int kLooksMax = 50;      ///< for what is there already
constexpr int kRoundsMax = 64;     ///< others that come and go meanwhile
constexpr unsigned kDepthMax = 8;  ///< followers that died while they followed
constexpr mode_t kOwnerMode = 0644;

std::string hex(std::uint64_t number) {
  std::array<char, 17> text{};
  std::snprintf(text.data(), text.size(), "%016llx", static_cast<unsigned long long>(number));
  return text.data();
}

constexpr std::string_view kNewPrefix = "owner-new-";      ///< not linked yet
constexpr std::string_view kAfterPrefix = "owner-after-";  ///< while one is followed
/// No attempt takes so long that lives.
constexpr std::int64_t kAttemptSecondsMax = 600;

/// Attempts that were killed. Both times are the file system's.
void remove_old_attempts(const std::string& folder, const struct stat& owner) {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(kNewPrefix) && !name.starts_with(kAfterPrefix)) continue;
    struct stat facts{};
    const bool is_old = ::stat(entry.path().c_str(), &facts) == 0 &&
                        facts.st_mtim.tv_sec + kAttemptSecondsMax < owner.st_mtim.tv_sec;
    if (is_old) std::ignore = remove_entry(entry.path().string());
  }
}

/// The attempt of one process.
class Attempt {
 public:
  Attempt(std::string folder, format::Owner self, const LeaseOptions& options)
      : folder_(std::move(folder)),
        self_(std::move(self)),
        options_(options),
        own_path_(folder_ + "/" + std::string(kNewPrefix) + hex(self_.nonce)) {}
  ~Attempt() { ::unlink(own_path_.c_str()); }
  Attempt(const Attempt&) = delete;
  Attempt& operator=(const Attempt&) = delete;

  /// The complete file, locked where its storage allows, which has no name that counts yet.
  Result<Descriptor> write_own();
  /// Gives it the name, following whoever has it and is gone.
  Status take(const std::string& path, unsigned depth);
  /// As it is in the file.
  const format::Owner& self() const noexcept { return self_; }

 private:
  enum class Change : std::uint8_t { kMine, kLookAgain };
  Result<bool> link_to(const std::string& path) const;
  Result<Change> follow(const std::string& path, const OwnerSeen& gone, unsigned depth);

  const std::string folder_;
  format::Owner self_;
  const LeaseOptions& options_;
  const std::string own_path_;
};

Result<Descriptor> Attempt::write_own() {
  const int flags = O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC;
  Descriptor file = open_path(own_path_, flags, kOwnerMode);
  struct stat facts{};
  if (!file || ::fstat(file.get(), &facts) != 0)
    return failure(system_error({.operation = "make", .path = own_path_}, errno));
  self_.device = facts.st_dev;
  self_.inode = facts.st_ino;
  self_.is_locked = lock_owner(file);
  const std::string text = format::encode_owner(self_);
  errno = 0;
  const auto size = static_cast<ssize_t>(text.size());
  const auto write = [&] { return ::pwrite(file.get(), text.data(), text.size(), 0); };
  const bool is_durable =
      uninterrupted(write) == size && uninterrupted([&] { return ::fsync(file.get()); }) == 0;
  if (is_durable) return file;
  const Error why =
      system_error({.operation = "make", .path = own_path_}, errno != 0 ? errno : ENOSPC);
  return failure(with_space(why, text.size()));
}

/// False if the name is taken.
Result<bool> Attempt::link_to(const std::string& path) const {
  if (::link(own_path_.c_str(), path.c_str()) == 0) return true;
  const int error_number = errno;
  // NFS may repeat a request whose answer was lost, and then say that the name is taken.
  struct stat facts{};
  struct stat there{};
  const bool is_there = ::stat(own_path_.c_str(), &facts) == 0 &&
                        ::stat(path.c_str(), &there) == 0 && facts.st_ino == there.st_ino;
  if (is_there) return true;
  if (error_number == EEXIST) return false;
  return failure(system_error({.operation = "make", .path = path}, error_number));
}

Status Attempt::take(const std::string& path, unsigned depth) {
  for (int round = 0; round < kRoundsMax; ++round) {
    const auto is_mine = link_to(path);
    if (!is_mine) return failure(is_mine.error());
    if (*is_mine) return {};
    const auto found = look_at_owner(path);
    if (!found) return failure(found.error());
    if (!*found) continue;  // gone meanwhile
    if (const Status gone = wait_for_end(folder_, path, **found, self_, options_); !gone)
      return gone;
    const auto change = follow(path, **found, depth);
    if (!change) return failure(change.error());
    if (*change == Change::kMine) return {};
  }
  return failure({.kind = ErrorClass::kLimit,
                  .operation = "write the dataset of",
                  .path = path,
                  .cause = "too many others want to at the same moment"});
}

/// Puts itself in the place of one that is gone.
Result<Attempt::Change> Attempt::follow(const std::string& path,
                                        const OwnerSeen& gone,
                                        unsigned depth) {
  if (depth == kDepthMax) return failure(held_by(path, gone));
  const std::string after = folder_ + "/" + std::string(kAfterPrefix) + hex(gone.nonce());
  if (const Status mine = take(after, depth + 1); !mine) return failure(mine.error());
  // Somebody else may have followed, and be done with it, before we had this.
  const auto now = look_at_owner(path);
  const bool is_same = now && *now && (*now)->nonce() == gone.nonce();
  if (!is_same) {
    ::unlink(after.c_str());
    return now ? Result<Change>(Change::kLookAgain) : failure(now.error());
  }
  if (std::rename(after.c_str(), path.c_str()) != 0)
    return failure(system_error({.operation = "follow in", .path = path}, errno));
  return Change::kMine;
}

}  // namespace

Status find_lease(const std::string& folder,
                  std::uint64_t nonce,
                  std::chrono::milliseconds patience) {
  const std::string path = folder + "/" + std::string(format::kOwnerName);
  const auto until = std::chrono::steady_clock::now() + patience;
  while (true) {
    const auto found = look_at_owner(path);
    if (found && *found && (*found)->nonce() == nonce) return {};
    const bool is_over = std::chrono::steady_clock::now() >= until;
    const bool may_look = found || found.error().kind() != ErrorClass::kPermission;
    if (!found && (is_over || !may_look)) return failure(found.error());
    if (is_over) break;
    std::this_thread::sleep_for(patience / kLooksMax);
  }
  return failure({.kind = ErrorClass::kInvalidArgument,
                  .operation = "write the dataset of",
                  .path = folder,
                  .cause = "on " + host_name() +
                           " this is another folder than the first rank's; give a path that is "
                           "the same folder on all nodes, of storage that they share"});
}

Result<std::unique_ptr<Lease>> Lease::acquire(const std::string& folder,
                                              format::Owner who,
                                              LeaseOptions options) {
  const std::string path = folder + "/" + std::string(format::kOwnerName);
  Attempt attempt(folder, std::move(who), options);
  auto file = attempt.write_own();
  if (!file) return failure(file.error());
  if (const Status taken = attempt.take(path, 0); !taken) return failure(taken.error());
  struct stat facts{};
  if (::fstat(file->get(), &facts) == 0) remove_old_attempts(folder, facts);
  std::unique_ptr<Lease> lease(new Lease(path, attempt.self(), std::move(*file), options));
  auto thread = start_service_thread("forebay-lease", [raw = lease.get()] { raw->beat(); });
  if (!thread) return failure(thread.error());
  lease->thread_ = std::move(*thread);
  return lease;
}

Lease::Lease(std::string path, format::Owner owner, Descriptor file, LeaseOptions options)
    : path_(std::move(path)), owner_(std::move(owner)), file_(std::move(file)), options_(options) {}

Lease::~Lease() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
    ending_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
  if (check()) ::unlink(path_.c_str());
}

Status Lease::check() const {
  const auto found = look_at_owner(path_);
  if (!found) return failure(found.error());
  if (*found && (*found)->owner && (*found)->owner->nonce == owner_.nonce) return {};
  if (*found) return failure(held_by(path_, **found));
  return failure({.kind = ErrorClass::kPermission,
                  .operation = "write the dataset of",
                  .path = path_,
                  .cause = "somebody removed this file"});
}

/// All of the thread.
void Lease::beat() {
  std::unique_lock lock(mutex_);
  while (!ending_.wait_for(lock, options_.beat_ms, [this] { return ends_; }))
    ::futimens(file_.get(), nullptr);
}

}  // namespace forebay::write

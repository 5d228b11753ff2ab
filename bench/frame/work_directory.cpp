// SPDX-License-Identifier: Apache-2.0
// Creates the directory of a run and ensures its removal.
#include "bench/frame/work_directory.hpp"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <mntent.h>
#include <pthread.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/retry_on_eintr.hpp"

namespace forebay::bench {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kPrefix = ".forebay-bench-";
constexpr auto kCleanupTimeout = std::chrono::seconds(3);
constexpr auto kPollInterval = std::chrono::milliseconds(20);

bool is_own_directory(const fs::path& directory) {
  struct stat found{};
  return ::lstat(directory.c_str(), &found) == 0 && S_ISDIR(found.st_mode) &&
         found.st_uid == ::geteuid();
}

/// Mount points inside a directory, in the order of mounting.
std::vector<std::string> mounts_in(const fs::path& directory) {
  std::error_code problem;
  const std::string inside = fs::canonical(directory, problem).string() + "/";
  std::vector<std::string> points;
  const std::unique_ptr<FILE, decltype(&::endmntent)> list(::setmntent("/proc/self/mounts", "re"),
                                                           &::endmntent);
  if (problem || !list) return points;
  constexpr int kLineBytesMax = 16384;
  std::vector<char> line(kLineBytesMax);
  mntent mount{};
  while (::getmntent_r(list.get(), &mount, line.data(), kLineBytesMax) != nullptr) {
    if (std::string_view(mount.mnt_dir).starts_with(inside)) points.emplace_back(mount.mnt_dir);
  }
  return points;
}

/// Mounts inside end with the run: otherwise a file system in user space would continue, and its
/// mount point could not be removed. Without the privilege to unmount, they remain.
void remove_with_mounts(const fs::path& directory) {
  std::vector<std::string> points = mounts_in(directory);
  for (auto point = points.rbegin(); point != points.rend(); ++point)
    ::umount2(point->c_str(), MNT_DETACH | UMOUNT_NOFOLLOW);
  std::error_code ignored;
  fs::remove_all(directory, ignored);
}

enum class LiveRuns : std::uint8_t { kNoRuns, kSomeRuns };

/// Removes the directories of runs that have ended. Call it with a lock on `parent`: a starting run
/// has no lock on its directory yet.
LiveRuns remove_abandoned(const fs::path& parent) {
  LiveRuns live_runs = LiveRuns::kNoRuns;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(parent, ignored)) {
    if (!entry.path().filename().string().starts_with(kPrefix) || !is_own_directory(entry.path()))
      continue;
    const auto lock = DirectoryLock::acquire(entry.path(), DirectoryLock::WaitMode::kNoWait);
    if (lock) {
      remove_with_mounts(entry.path());
    } else {
      live_runs = LiveRuns::kSomeRuns;
    }
  }
  return live_runs;
}

}  // namespace

std::optional<DirectoryLock> DirectoryLock::acquire(const fs::path& directory, WaitMode wait_mode) {
  Descriptor opened(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!opened) return std::nullopt;
  const int operation = LOCK_EX | (wait_mode == WaitMode::kNoWait ? LOCK_NB : 0);
  if (retry_on_eintr([&] { return ::flock(opened.get(), operation); }) != 0) return std::nullopt;
  return DirectoryLock(std::move(opened));
}

WorkDirectory::WorkDirectory(fs::path path)
    : path_(std::move(path)),
      lock_(DirectoryLock::acquire(path_, DirectoryLock::WaitMode::kNoWait)) {}

Result<WorkDirectory> WorkDirectory::make(const fs::path& parent) {
  const auto parent_lock = DirectoryLock::acquire(parent, DirectoryLock::WaitMode::kWait);
  if (parent_lock) remove_abandoned(parent);
  std::string name = (fs::absolute(parent) / (std::string(kPrefix) + "XXXXXX")).string();
  if (mkdtemp(name.data()) == nullptr) {
    const int error_number = errno;
    return tl::unexpected(system_error(
        {.operation = "create a work directory in", .path = parent.string()}, error_number));
  }
  return WorkDirectory(fs::path(name));
}

WorkDirectory::WorkDirectory(WorkDirectory&& other) noexcept
    : path_(std::move(other.path_)), lock_(std::move(other.lock_)) {
  other.path_.clear();
}

WorkDirectory::~WorkDirectory() {
  if (!path_.empty()) remove_with_mounts(path_);
}

void remove_stale_directories(const fs::path& parent) {
  const auto until = std::chrono::steady_clock::now() + kCleanupTimeout;
  for (;;) {
    const auto parent_lock = DirectoryLock::acquire(parent, DirectoryLock::WaitMode::kWait);
    const bool is_clean = remove_abandoned(parent) == LiveRuns::kNoRuns;
    if (is_clean || std::chrono::steady_clock::now() >= until) return;
    std::this_thread::sleep_for(kPollInterval);
  }
}

void remove_on_signals(const fs::path& directory) {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int one : {SIGINT, SIGTERM, SIGHUP})
    sigaddset(&signals, one);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::thread([signals, directory] {
    int received = 0;
    sigwait(&signals, &received);
    remove_with_mounts(directory);
    constexpr int kSignalExit = 128;  // as shells report it
    _exit(kSignalExit + received);
  }).detach();
}

}  // namespace forebay::bench

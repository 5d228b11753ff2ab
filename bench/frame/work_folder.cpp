// SPDX-License-Identifier: Apache-2.0
// Making and surely removing the folder of a run.
#include "bench/frame/work_folder.hpp"

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

#include "base/uninterrupted.hpp"

namespace forebay::bench {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kPrefix = ".forebay-bench-";
constexpr auto kPatience = std::chrono::seconds(3);
constexpr auto kPause = std::chrono::milliseconds(20);

bool is_ours(const fs::path& folder) {
  struct stat found{};
  return ::lstat(folder.c_str(), &found) == 0 && S_ISDIR(found.st_mode) &&
         found.st_uid == ::geteuid();
}

/// Where something is mounted inside a folder, in the order of mounting.
std::vector<std::string> mounts_in(const fs::path& folder) {
  std::error_code problem;
  const std::string inside = fs::canonical(folder, problem).string() + "/";
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

/// What was mounted inside for a run ends with it: a file system in user space would go on, and
/// its mount point could not be removed. Without the right to unmount, that is how it stays.
void remove_with_mounts(const fs::path& folder) {
  std::vector<std::string> points = mounts_in(folder);
  for (auto point = points.rbegin(); point != points.rend(); ++point)
    ::umount2(point->c_str(), MNT_DETACH | UMOUNT_NOFOLLOW);
  std::error_code ignored;
  fs::remove_all(folder, ignored);
}

enum class Left : std::uint8_t { kNothing, kRunsThatLive };

/// Removes the folders of runs that live no more. Call it with a lock on `parent`: a run that is
/// just beginning has no lock on its own folder yet.
Left remove_abandoned(const fs::path& parent) {
  Left left = Left::kNothing;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(parent, ignored)) {
    if (!entry.path().filename().string().starts_with(kPrefix) || !is_ours(entry.path())) continue;
    const auto lock = FolderLock::take(entry.path(), FolderLock::Patience::kNone);
    if (lock) {
      remove_with_mounts(entry.path());
    } else {
      left = Left::kRunsThatLive;
    }
  }
  return left;
}

}  // namespace

std::optional<FolderLock> FolderLock::take(const fs::path& folder, Patience patience) {
  Descriptor opened(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!opened) return std::nullopt;
  const int operation = LOCK_EX | (patience == Patience::kNone ? LOCK_NB : 0);
  if (uninterrupted([&] { return ::flock(opened.get(), operation); }) != 0) return std::nullopt;
  return FolderLock(std::move(opened));
}

WorkFolder::WorkFolder(fs::path path)
    : path_(std::move(path)), lock_(FolderLock::take(path_, FolderLock::Patience::kNone)) {}

Result<WorkFolder> WorkFolder::make(const fs::path& parent) {
  const auto turn = FolderLock::take(parent, FolderLock::Patience::kWait);
  if (turn) remove_abandoned(parent);
  std::string name = (fs::absolute(parent) / (std::string(kPrefix) + "XXXXXX")).string();
  if (mkdtemp(name.data()) == nullptr) {
    const int error_number = errno;
    return tl::unexpected(system_error(
        {.operation = "make a work folder in", .path = parent.string()}, error_number));
  }
  return WorkFolder(fs::path(name));
}

WorkFolder::WorkFolder(WorkFolder&& other) noexcept
    : path_(std::move(other.path_)), lock_(std::move(other.lock_)) {
  other.path_.clear();
}

WorkFolder::~WorkFolder() {
  if (!path_.empty()) remove_with_mounts(path_);
}

void remove_what_is_left(const fs::path& parent) {
  const auto until = std::chrono::steady_clock::now() + kPatience;
  for (;;) {
    const auto turn = FolderLock::take(parent, FolderLock::Patience::kWait);
    const bool is_clean = remove_abandoned(parent) == Left::kNothing;
    if (is_clean || std::chrono::steady_clock::now() >= until) return;
    std::this_thread::sleep_for(kPause);
  }
}

void remove_on_signals(const fs::path& folder) {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int one : {SIGINT, SIGTERM, SIGHUP})
    sigaddset(&signals, one);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::thread([signals, folder] {
    int received = 0;
    sigwait(&signals, &received);
    remove_with_mounts(folder);
    constexpr int kSignalExit = 128;  // as shells report it
    _exit(kSignalExit + received);
  }).detach();
}

}  // namespace forebay::bench

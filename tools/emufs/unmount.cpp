// SPDX-License-Identifier: Apache-2.0
// Ends mounts, and reports the processes that use them. Independent of mounting, because it must
// work where that cannot: for a mount whose program was killed.
#include <algorithm>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <fstream>

#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <poll.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "tools/emufs/client_directory.hpp"
#include "tools/emufs/mounts.hpp"

namespace forebay::emufs {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kUsersMax = 5;
constexpr std::size_t kValueBytesMax = 65536;  // the kernel's XATTR_SIZE_MAX

/// Makes no request to the file system of the target, which may be the one that hangs.
bool is_link_into(const fs::path& link, const std::string& mount_path) {
  std::error_code problem;
  const std::string target = fs::read_symlink(link, problem).string();
  if (problem || !target.starts_with(mount_path)) return false;
  return target.size() == mount_path.size() || target[mount_path.size()] == '/';
}

bool has_mapping_of(const fs::path& process, const std::string& mount_path) {
  std::ifstream maps(process / "maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.find(" " + mount_path + "/") != std::string::npos) return true;
  }
  return false;
}

bool is_user_of(const fs::path& process, const std::string& mount_path) {
  for (const char* link : {"cwd", "root", "exe"}) {
    if (is_link_into(process / link, mount_path)) return true;
  }
  std::error_code problem;
  for (fs::directory_iterator entry(process / "fd", problem);
       !problem && entry != fs::directory_iterator(); entry.increment(problem)) {
    if (is_link_into(entry->path(), mount_path)) return true;
  }
  return has_mapping_of(process, mount_path);
}

bool is_number(const std::string& text) {
  return !text.empty() &&
         std::ranges::all_of(text, [](unsigned char c) { return std::isdigit(c); });
}

/// Our mounts at a path, or else those of clients in it.
std::vector<MountEntry> emufs_mounts_at(const std::string& path,
                                        const std::vector<MountEntry>& mounts) {
  std::vector<MountEntry> found;
  for (const MountEntry& entry : mounts) {
    const bool is_match = entry.path == path || (entry.path.starts_with(path + "/") &&
                                                 is_number(entry.path.substr(path.size() + 1)));
    if (is_match && entry.type == kMountType) found.push_back(entry);
  }
  return found;
}

Error unmount_refused_error(const std::string& path, const std::string& cause) {
  return Error(
      {.kind = ErrorClass::kNotFound, .operation = "unmount", .path = path, .cause = cause});
}

/// The mounts to unmount for a path.
Result<std::vector<MountEntry>> mounts_for(const std::string& path) {
  const std::vector<MountEntry> mounts = current_mounts();
  std::vector<MountEntry> own_mounts = emufs_mounts_at(path, mounts);
  if (own_mounts.empty()) {
    return failure(
        unmount_refused_error(path, "no emufs is mounted there; /proc/mounts has all mounts"));
  }
  for (const MountEntry& entry : own_mounts) {
    if (is_hidden(entry, mounts)) {
      return failure(unmount_refused_error(
          entry.path, "it is covered by another mount; unmount that first (umount)"));
    }
    // An emufs locks its backing directory: two backing directories mean two emufs.
    if (entry.source != own_mounts.front().source) {
      return failure(unmount_refused_error(
          path, "several emufs are mounted in it, at " + own_mounts.front().path + " and " +
                    entry.path + " for example; unmount each by its own path"));
    }
  }
  return own_mounts;
}

/// The program of a mount, as a descriptor that is readable when it has ended; empty if it has
/// ended.
Descriptor program_of(const std::string& path) {
  std::string text(kValueBytesMax, '\0');
  const auto size = ::getxattr(path.c_str(), "user.emufs.stat", text.data(), text.size());
  if (size < 0) return {};
  text.resize(static_cast<std::size_t>(size));
  const auto document = nlohmann::json::parse(text, nullptr, false);
  if (!document.is_object()) return {};
  return Descriptor(static_cast<int>(::syscall(SYS_pidfd_open, document.value("pid", -1), 0U)));
}

/// A timeout is acceptable: the program has no mount any more.
void wait_for(const Descriptor& program) {
  constexpr int kTimeoutMs = 10'000;
  pollfd event{program.get(), POLLIN, 0};
  if (program) ::poll(&event, 1, kTimeoutMs);
}

Error unmount_error(const std::string& path, int error_number) {
  std::string cause = "unmounting requires root; run as root";
  if (error_number == EBUSY) {
    const std::string users = users_of(path);
    cause = users.empty() ? "a process uses it" : "used by " + users;
    cause += "; end it, or add --lazy to unmount when it ends";
  }
  return system_error({.operation = "unmount", .path = path, .cause = cause}, error_number);
}

/// Whether unmounting would fail. A mount that is marked to expire is unmounted by the second such
/// request; accessing it removes the mark.
bool is_busy(const MountEntry& entry) {
  const char* path = entry.path.c_str();
  {
    const Descriptor look(::open(path, O_PATH | O_CLOEXEC));
  }
  if (::umount2(path, MNT_EXPIRE) == 0 || errno != EBUSY) return false;
  return !is_dead_mount(entry.path);
}

/// Checks all mounts before any is unmounted: all or none.
Status check_all_free(const std::vector<MountEntry>& mounts) {
  for (const MountEntry& entry : mounts) {
    if (is_busy(entry)) return failure(unmount_error(entry.path, EBUSY));
  }
  return {};
}

Status unmount_one(const MountEntry& entry, UnmountMode mode) {
  const char* path = entry.path.c_str();
  if (::umount2(path, mode == UnmountMode::kLazy ? MNT_DETACH : 0) == 0) return {};
  const int problem = errno;
  // Without its program a mount cannot serve a request, so no process can be using it.
  if (problem == EBUSY && is_dead_mount(entry.path) && ::umount2(path, MNT_DETACH) == 0) return {};
  return failure(unmount_error(entry.path, problem));
}

}  // namespace

std::string users_of(const std::string& mount_path) {
  std::string users;
  std::size_t named = 0;
  std::error_code problem;
  for (fs::directory_iterator entry("/proc", problem);
       !problem && entry != fs::directory_iterator(); entry.increment(problem)) {
    const std::string number = entry->path().filename();
    if (!is_number(number) || !is_user_of(entry->path(), mount_path)) continue;
    if (++named > kUsersMax) return users + " and others";
    std::string name;
    std::getline(std::ifstream(entry->path() / "comm") >> std::ws, name);
    users.append(users.empty() ? "" : ", ").append(number).append(" (").append(name).append(")");
  }
  return users;
}

Status unmount_all(const std::string& path, UnmountMode mode) {
  const auto mounts = mounts_for(path);
  if (!mounts) return failure(mounts.error());
  Descriptor program;
  if (mode == UnmountMode::kIfUnused) {
    if (auto free = check_all_free(*mounts); !free) return free;
    program = program_of(mounts->front().path);
  }
  for (const MountEntry& entry : *mounts) {
    if (auto ended = unmount_one(entry, mode); !ended) return ended;
    if (entry.path != path) remove_client_directory(entry.path);
  }
  wait_for(program);
  return {};
}

}  // namespace forebay::emufs

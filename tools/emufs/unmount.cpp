// SPDX-License-Identifier: Apache-2.0
// Ends mounts, and says who is in the way. Apart from mounting because it must work where that
// cannot: for a mount whose program was killed.
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

#include "tools/emufs/client_folder.hpp"
#include "tools/emufs/mounts.hpp"

namespace forebay::emufs {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kUsersNamed = 5;
constexpr std::size_t kValueBytesMax = 65536;  // the kernel's XATTR_SIZE_MAX

/// Without asking the file system at the end of the link anything: it may be the one that hangs.
bool leads_into(const fs::path& link, const std::string& mount_path) {
  std::error_code problem;
  const std::string target = fs::read_symlink(link, problem).string();
  if (problem || !target.starts_with(mount_path)) return false;
  return target.size() == mount_path.size() || target[mount_path.size()] == '/';
}

bool maps_from(const fs::path& process, const std::string& mount_path) {
  std::ifstream maps(process / "maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.find(" " + mount_path + "/") != std::string::npos) return true;
  }
  return false;
}

bool uses(const fs::path& process, const std::string& mount_path) {
  for (const char* link : {"cwd", "root", "exe"}) {
    if (leads_into(process / link, mount_path)) return true;
  }
  std::error_code problem;
  for (fs::directory_iterator entry(process / "fd", problem);
       !problem && entry != fs::directory_iterator(); entry.increment(problem)) {
    if (leads_into(entry->path(), mount_path)) return true;
  }
  return maps_from(process, mount_path);
}

bool is_number(const std::string& text) {
  return !text.empty() &&
         std::ranges::all_of(text, [](unsigned char c) { return std::isdigit(c); });
}

/// Ours at a path, or else those of clients in it.
std::vector<MountEntry> ours_at(const std::string& path, const std::vector<MountEntry>& mounts) {
  std::vector<MountEntry> found;
  for (const MountEntry& entry : mounts) {
    const bool here = entry.path == path || (entry.path.starts_with(path + "/") &&
                                             is_number(entry.path.substr(path.size() + 1)));
    if (here && entry.type == kMountType) found.push_back(entry);
  }
  return found;
}

Error not_to_unmount(const std::string& path, const std::string& cause) {
  return Error(
      {.kind = ErrorClass::kNotFound, .operation = "unmount", .path = path, .cause = cause});
}

/// What is to be unmounted for a path.
Result<std::vector<MountEntry>> mounts_for(const std::string& path) {
  const std::vector<MountEntry> mounts = mounts_now();
  std::vector<MountEntry> ours = ours_at(path, mounts);
  if (ours.empty()) {
    return failure(not_to_unmount(path, "no emufs is mounted there; /proc/mounts has all mounts"));
  }
  for (const MountEntry& entry : ours) {
    if (is_covered(entry, mounts)) {
      return failure(not_to_unmount(
          entry.path, "it is covered by a mount of somebody else; unmount that first (umount)"));
    }
    // An emufs holds its backing folder: where there are two, there are two emufs.
    if (entry.source != ours.front().source) {
      return failure(not_to_unmount(path, "several emufs are mounted in it, at " +
                                              ours.front().path + " and " + entry.path +
                                              " for example; unmount each by its own path"));
    }
  }
  return ours;
}

/// The program behind a mount, as a descriptor that is readable when it has ended; empty if there
/// is none any more.
Descriptor program_of(const std::string& path) {
  std::string text(kValueBytesMax, '\0');
  const auto size = ::getxattr(path.c_str(), "user.emufs.stat", text.data(), text.size());
  if (size < 0) return {};
  text.resize(static_cast<std::size_t>(size));
  const auto document = nlohmann::json::parse(text, nullptr, false);
  if (!document.is_object()) return {};
  return Descriptor(static_cast<int>(::syscall(SYS_pidfd_open, document.value("pid", -1), 0U)));
}

/// A program that does not end in time has no mount any more; that is as good.
void wait_for(const Descriptor& program) {
  constexpr int kPatienceMs = 10'000;
  pollfd event{program.get(), POLLIN, 0};
  if (program) ::poll(&event, 1, kPatienceMs);
}

Error cannot_unmount(const std::string& path, int error_number) {
  std::string cause = "unmounting takes root; run as root";
  if (error_number == EBUSY) {
    const std::string users = users_of(path);
    cause = users.empty() ? "somebody uses it" : "used by " + users;
    cause += "; end that, or add --lazy to unmount when it ends";
  }
  return system_error({.operation = "unmount", .path = path, .cause = cause}, error_number);
}

/// Whether unmounting would fail. A mount that is marked to expire goes with the second request of
/// this kind; looking at it takes the mark away.
bool is_busy(const MountEntry& entry) {
  const char* path = entry.path.c_str();
  {
    const Descriptor look(::open(path, O_PATH | O_CLOEXEC));
  }
  if (::umount2(path, MNT_EXPIRE) == 0 || errno != EBUSY) return false;
  return !is_dead_mount(entry.path);
}

/// All or none: one that is busy must not be all that is left.
Status check_all_free(const std::vector<MountEntry>& mounts) {
  for (const MountEntry& entry : mounts) {
    if (is_busy(entry)) return failure(cannot_unmount(entry.path, EBUSY));
  }
  return {};
}

Status unmount_one(const MountEntry& entry, Unmounting how) {
  const char* path = entry.path.c_str();
  if (::umount2(path, how == Unmounting::kLazy ? MNT_DETACH : 0) == 0) return {};
  const int problem = errno;
  // Nobody answers for a mount whose program is gone, so nobody can be using it to an end.
  if (problem == EBUSY && is_dead_mount(entry.path) && ::umount2(path, MNT_DETACH) == 0) return {};
  return failure(cannot_unmount(entry.path, problem));
}

}  // namespace

std::string users_of(const std::string& mount_path) {
  std::string users;
  std::size_t named = 0;
  std::error_code problem;
  for (fs::directory_iterator entry("/proc", problem);
       !problem && entry != fs::directory_iterator(); entry.increment(problem)) {
    const std::string number = entry->path().filename();
    if (!is_number(number) || !uses(entry->path(), mount_path)) continue;
    if (++named > kUsersNamed) return users + " and others";
    std::string name;
    std::getline(std::ifstream(entry->path() / "comm") >> std::ws, name);
    users.append(users.empty() ? "" : ", ").append(number).append(" (").append(name).append(")");
  }
  return users;
}

Status unmount_all(const std::string& path, Unmounting how) {
  const auto mounts = mounts_for(path);
  if (!mounts) return failure(mounts.error());
  Descriptor program;
  if (how == Unmounting::kWhenFree) {
    if (auto free = check_all_free(*mounts); !free) return free;
    program = program_of(mounts->front().path);
  }
  for (const MountEntry& entry : *mounts) {
    if (auto ended = unmount_one(entry, how); !ended) return ended;
    if (entry.path != path) remove_client_folder(entry.path);
  }
  wait_for(program);
  return {};
}

}  // namespace forebay::emufs

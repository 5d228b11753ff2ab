// SPDX-License-Identifier: Apache-2.0
#include "tools/emufs/mounts.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

namespace forebay::emufs {

namespace {

namespace fs = std::filesystem;

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// The list writes blanks and backslashes as three octal digits.
std::string plain(std::string_view word) {
  std::string result;
  while (!word.empty()) {
    unsigned code = 0;
    if (word.front() == '\\' && word.size() >= 4 &&
        std::from_chars(word.data() + 1, word.data() + 4, code, 8).ec == std::errc{}) {
      result.push_back(static_cast<char>(code));
      word.remove_prefix(4);
    } else {
      result.push_back(word.front());
      word.remove_prefix(1);
    }
  }
  return result;
}

std::optional<dev_t> device_of(const std::string& word) {
  unsigned number_major = 0;
  unsigned number_minor = 0;
  char colon = 0;
  std::istringstream text(word);
  if (!(text >> number_major >> colon >> number_minor)) return std::nullopt;
  return makedev(number_major, number_minor);
}

std::optional<MountEntry> parse_line(const std::string& line) {
  std::istringstream words(line);
  std::string id;
  std::string parent;
  std::string device;
  std::string root;
  MountEntry entry;
  words >> id >> parent >> device >> root >> entry.path;
  for (std::string word; words >> word && word != "-";) {
  }
  words >> entry.type >> entry.source;
  const auto number = device_of(device);
  if (!words || !number) return std::nullopt;
  entry.path = plain(entry.path);
  entry.source = plain(entry.source);
  entry.device = *number;
  return entry;
}

bool lies_in(const fs::path& inner, const fs::path& outer) {
  const fs::path relative = inner.lexically_relative(outer);
  return !relative.empty() && *relative.begin() != "..";
}

Error bad_place(const std::string& path, const std::string& cause, int error_number = 0) {
  return Error({.kind = ErrorClass::kInvalidArgument,
                .operation = "mount at",
                .path = path,
                .error_number = error_number,
                .cause = cause});
}

Error is_mount_already(const MountEntry& entry, const std::string& path) {
  if (entry.type == kMountType && is_dead_mount(entry.path)) {
    return bad_place(
        path, "a killed emufs left its mount there; run `forebay emufs unmount " + path + "` first",
        ENOTCONN);
  }
  return bad_place(path,
                   "it is a mount already (" + entry.type + "); unmount it or name another folder");
}

Status check_mount_point(const std::string& path) {
  // First of all, and without asking a mount of which servers may have stalled.
  std::error_code problem;
  const std::string absolute = fs::canonical(path, problem);
  for (const MountEntry& entry : mounts_now()) {
    if (entry.path == absolute) return failure(is_mount_already(entry, path));
  }
  struct stat found{};
  if (::stat(path.c_str(), &found) != 0) {
    return failure(system_error({.operation = "mount at",
                                 .path = path,
                                 .cause = "the mount point must be a folder; make it first"},
                                errno));
  }
  if (!S_ISDIR(found.st_mode)) {
    return failure(bad_place(path, "it is no folder; name an empty one"));
  }
  if (!fs::is_empty(path, problem)) {
    return failure(bad_place(path, "it is not empty; name an empty folder"));
  }
  return {};
}

Error backing_taken(const std::string& backing, const std::string& by) {
  return Error({.kind = ErrorClass::kInvalidArgument,
                .operation = "open the backing folder",
                .path = backing,
                .error_number = EBUSY,
                .cause = by + "; for several mounts of one folder use --clients, or name another"});
}

/// An emufs that works on a part of the folder, or on one that the folder is part of.
Status check_other_backings(const std::string& backing) {
  for (const MountEntry& entry : mounts_now()) {
    if (entry.type != kMountType || !entry.source.starts_with('/')) continue;
    if (!lies_in(backing, entry.source) && !lies_in(entry.source, backing)) continue;
    if (is_dead_mount(entry.path)) continue;
    return failure(backing_taken(backing, "the emufs at " + entry.path + " has " + entry.source));
  }
  return {};
}

Error no_device(int error_number) {
  if (error_number == EACCES || error_number == EPERM) {
    return system_error(
        {.operation = "open", .path = "/dev/fuse", .cause = "mounting takes root; run as root"},
        error_number);
  }
  return system_error({.operation = "open",
                       .path = "/dev/fuse",
                       .cause = "there is no FUSE here; load the module, or give the container "
                                "the device /dev/fuse"},
                      error_number);
}

}  // namespace

std::vector<MountEntry> parse_mounts(std::string_view text) {
  std::vector<MountEntry> entries;
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    if (auto entry = parse_line(line)) entries.push_back(std::move(*entry));
  }
  return entries;
}

bool is_covered(const MountEntry& entry, const std::vector<MountEntry>& mounts) {
  const auto top = std::find_if(mounts.rbegin(), mounts.rend(), [&entry](const MountEntry& other) {
    return other.path == entry.path;
  });
  return top != mounts.rend() && *top != entry;
}

bool is_dead_mount(const std::string& path) {
  // The kernel keeps what stat() says for a while, so that it would be answered without a program.
  struct statvfs found{};
  return ::statvfs(path.c_str(), &found) != 0 && (errno == ENOTCONN || errno == ECONNABORTED);
}

std::vector<MountEntry> mounts_now() { return parse_mounts(text_of("/proc/self/mountinfo")); }

Result<Places> check_places(const std::string& backing, const std::string& mount_point) {
  struct stat found{};
  if (::stat(backing.c_str(), &found) != 0) {
    return failure(system_error({.operation = "open the backing folder",
                                 .path = backing,
                                 .cause = "it keeps the files; make it first"},
                                errno));
  }
  if (!S_ISDIR(found.st_mode)) {
    return failure({.kind = ErrorClass::kInvalidArgument,
                    .operation = "open the backing folder",
                    .path = backing,
                    .cause = "it is no folder; name one"});
  }
  if (auto fit = check_mount_point(mount_point); !fit) return failure(fit.error());
  Places places{fs::canonical(backing), fs::canonical(mount_point)};
  if (lies_in(places.backing, places.mount_point)) {
    return failure(bad_place(mount_point, "the backing folder " + places.backing +
                                              " lies inside the mount point; move one of them"));
  }
  if (lies_in(places.mount_point, places.backing)) {
    return failure(bad_place(mount_point, "it lies inside the backing folder " + places.backing +
                                              ", and would show itself; move one of them"));
  }
  if (auto free = check_other_backings(places.backing); !free) return failure(free.error());
  return places;
}

Result<std::string> check_record(const std::string& record, const Places& places) {
  const fs::path path = fs::absolute(record);
  std::error_code problem;
  const fs::path folder = fs::canonical(path.parent_path(), problem);
  if (problem) {
    return failure(system_error({.operation = "record to",
                                 .path = record,
                                 .cause = "name a file in a folder that is there"},
                                problem.value()));
  }
  for (const std::string& place : {places.backing, places.mount_point}) {
    if (!lies_in(folder, place)) continue;
    return failure(
        Error({.kind = ErrorClass::kInvalidArgument,
               .operation = "record to",
               .path = record,
               .cause = "it lies inside " + place +
                        ", and would record itself; keep the record in another folder"}));
  }
  return (folder / path.filename()).string();
}

Result<Descriptor> hold_backing(const std::string& backing) {
  Descriptor folder(::open(backing.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder) {
    return failure(system_error({.operation = "open the backing folder", .path = backing}, errno));
  }
  if (::flock(folder.get(), LOCK_EX | LOCK_NB) == 0) return folder;
  if (errno == EWOULDBLOCK) return failure(backing_taken(backing, "another emufs works on it"));
  return Descriptor();
}

Result<Descriptor> mount_at(const std::string& path, const std::string& backing) {
  Descriptor device(::open("/dev/fuse", O_RDWR | O_CLOEXEC));
  if (!device) return failure(no_device(errno));
  const std::string options = "fd=" + std::to_string(device.get()) +
                              ",rootmode=40000,user_id=0,group_id=0,"
                              "default_permissions,allow_other";
  if (::mount(backing.c_str(), path.c_str(), std::string(kMountType).c_str(), MS_NOSUID | MS_NODEV,
              options.c_str()) != 0) {
    return failure(system_error({.operation = "mount at",
                                 .path = path,
                                 .cause = errno == EPERM ? "mounting takes root; run as root"
                                                         : "see the kernel's log (dmesg)"},
                                errno));
  }
  return device;
}

bool set_read_ahead(const std::string& path, std::uint64_t bytes) {
  // An answer means that the kernel has heard our greeting, which would set it back.
  struct stat root{};
  if (::stat(path.c_str(), &root) != 0) return false;
  for (const MountEntry& entry : mounts_now()) {
    if (entry.path != path || entry.type != kMountType) continue;
    std::ofstream setting("/sys/class/bdi/" + std::to_string(major(entry.device)) + ":" +
                          std::to_string(minor(entry.device)) + "/read_ahead_kb");
    setting << bytes / 1024 << std::flush;
    return static_cast<bool>(setting);
  }
  return false;
}

}  // namespace forebay::emufs

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

/// /proc/self/mountinfo writes blanks and backslashes as three octal digits.
std::string unescape(std::string_view word) {
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
  entry.path = unescape(entry.path);
  entry.source = unescape(entry.source);
  entry.device = *number;
  return entry;
}

bool is_below(const fs::path& inner, const fs::path& outer) {
  const fs::path relative = inner.lexically_relative(outer);
  return !relative.empty() && *relative.begin() != "..";
}

Error mount_error(const std::string& path, const std::string& cause, int error_number = 0) {
  return Error({.kind = ErrorClass::kInvalidArgument,
                .operation = "mount at",
                .path = path,
                .error_number = error_number,
                .cause = cause});
}

Error already_mounted_error(const MountEntry& entry, const std::string& path) {
  if (entry.type == kMountType && is_dead_mount(entry.path)) {
    return mount_error(
        path, "a killed emufs left its mount there; run `forebay emufs unmount " + path + "` first",
        ENOTCONN);
  }
  return mount_error(
      path, "it is a mount already (" + entry.type + "); unmount it or name another directory");
}

Status check_mount_point(const std::string& path) {
  // First, without a request to a mount: its servers may be stalled.
  std::error_code problem;
  const std::string absolute = fs::canonical(path, problem);
  for (const MountEntry& entry : current_mounts()) {
    if (entry.path == absolute) return failure(already_mounted_error(entry, path));
  }
  struct stat found{};
  if (::stat(path.c_str(), &found) != 0) {
    return failure(system_error({.operation = "mount at",
                                 .path = path,
                                 .cause = "the mount point must be a directory; create it first"},
                                errno));
  }
  if (!S_ISDIR(found.st_mode)) {
    return failure(mount_error(path, "it is not a directory; name an empty one"));
  }
  if (!fs::is_empty(path, problem)) {
    return failure(mount_error(path, "it is not empty; name an empty directory"));
  }
  return {};
}

Error backing_in_use_error(const std::string& backing, const std::string& by) {
  return Error(
      {.kind = ErrorClass::kInvalidArgument,
       .operation = "open the backing directory",
       .path = backing,
       .error_number = EBUSY,
       .cause =
           by + "; for several mounts of one directory use --clients, or name another directory"});
}

/// Checks for an emufs that uses a part of the directory, or a directory that contains it.
Status check_other_backings(const std::string& backing) {
  for (const MountEntry& entry : current_mounts()) {
    if (entry.type != kMountType || !entry.source.starts_with('/')) continue;
    if (!is_below(backing, entry.source) && !is_below(entry.source, backing)) continue;
    if (is_dead_mount(entry.path)) continue;
    return failure(
        backing_in_use_error(backing, "the emufs at " + entry.path + " uses " + entry.source));
  }
  return {};
}

Error fuse_device_error(int error_number) {
  if (error_number == EACCES || error_number == EPERM) {
    return system_error(
        {.operation = "open", .path = "/dev/fuse", .cause = "mounting requires root; run as root"},
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

bool is_hidden(const MountEntry& entry, const std::vector<MountEntry>& mounts) {
  const auto top = std::find_if(mounts.rbegin(), mounts.rend(), [&entry](const MountEntry& other) {
    return other.path == entry.path;
  });
  return top != mounts.rend() && *top != entry;
}

bool is_dead_mount(const std::string& path) {
  // The kernel caches attributes, so stat() would succeed without a program.
  struct statvfs found{};
  return ::statvfs(path.c_str(), &found) != 0 && (errno == ENOTCONN || errno == ECONNABORTED);
}

std::vector<MountEntry> current_mounts() { return parse_mounts(text_of("/proc/self/mountinfo")); }

Result<MountPaths> check_mount_paths(const std::string& backing, const std::string& mount_point) {
  struct stat found{};
  if (::stat(backing.c_str(), &found) != 0) {
    return failure(system_error({.operation = "open the backing directory",
                                 .path = backing,
                                 .cause = "it must exist; create it first"},
                                errno));
  }
  if (!S_ISDIR(found.st_mode)) {
    return failure({.kind = ErrorClass::kInvalidArgument,
                    .operation = "open the backing directory",
                    .path = backing,
                    .cause = "it is not a directory; name a directory"});
  }
  if (auto fit = check_mount_point(mount_point); !fit) return failure(fit.error());
  MountPaths paths{fs::canonical(backing), fs::canonical(mount_point)};
  if (is_below(paths.backing, paths.mount_point)) {
    return failure(mount_error(mount_point, "the backing directory " + paths.backing +
                                                " lies inside the mount point; move one of them"));
  }
  if (is_below(paths.mount_point, paths.backing)) {
    return failure(
        mount_error(mount_point, "it lies inside the backing directory " + paths.backing +
                                     ", which would contain its own mount; move one of them"));
  }
  if (auto free = check_other_backings(paths.backing); !free) return failure(free.error());
  return paths;
}

Result<std::string> check_record(const std::string& record, const MountPaths& paths) {
  const fs::path path = fs::absolute(record);
  std::error_code problem;
  const fs::path directory = fs::canonical(path.parent_path(), problem);
  if (problem) {
    return failure(system_error(
        {.operation = "record to", .path = record, .cause = "name a file in an existing directory"},
        problem.value()));
  }
  for (const std::string& place : {paths.backing, paths.mount_point}) {
    if (!is_below(directory, place)) continue;
    return failure(
        Error({.kind = ErrorClass::kInvalidArgument,
               .operation = "record to",
               .path = record,
               .cause = "it lies inside " + place +
                        ", where its own writes would be recorded; choose another directory"}));
  }
  return (directory / path.filename()).string();
}

Result<Descriptor> lock_backing(const std::string& backing) {
  Descriptor directory(::open(backing.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory) {
    return failure(
        system_error({.operation = "open the backing directory", .path = backing}, errno));
  }
  if (::flock(directory.get(), LOCK_EX | LOCK_NB) == 0) return directory;
  if (errno == EWOULDBLOCK) return failure(backing_in_use_error(backing, "another emufs uses it"));
  return Descriptor();
}

Result<Descriptor> mount_at(const std::string& path, const std::string& backing) {
  Descriptor device(::open("/dev/fuse", O_RDWR | O_CLOEXEC));
  if (!device) return failure(fuse_device_error(errno));
  const std::string options = "fd=" + std::to_string(device.get()) +
                              ",rootmode=40000,user_id=0,group_id=0,"
                              "default_permissions,allow_other";
  if (::mount(backing.c_str(), path.c_str(), std::string(kMountType).c_str(), MS_NOSUID | MS_NODEV,
              options.c_str()) != 0) {
    return failure(system_error({.operation = "mount at",
                                 .path = path,
                                 .cause = errno == EPERM ? "mounting requires root; run as root"
                                                         : "see the kernel's log (dmesg)"},
                                errno));
  }
  return device;
}

bool set_read_ahead(const std::string& path, std::uint64_t bytes) {
  // A reply means that the kernel has received the reply to FUSE_INIT, which would reset the value.
  struct stat root{};
  if (::stat(path.c_str(), &root) != 0) return false;
  for (const MountEntry& entry : current_mounts()) {
    if (entry.path != path || entry.type != kMountType) continue;
    std::ofstream setting("/sys/class/bdi/" + std::to_string(major(entry.device)) + ":" +
                          std::to_string(minor(entry.device)) + "/read_ahead_kb");
    setting << bytes / 1024 << std::flush;
    return static_cast<bool>(setting);
  }
  return false;
}

}  // namespace forebay::emufs

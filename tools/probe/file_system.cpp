// SPDX-License-Identifier: Apache-2.0
// File system and block device of a directory, from statx, statvfs, the mount table and /sys.
#include "tools/probe/file_system.hpp"

#include <cerrno>
#include <sstream>

#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/descriptor.hpp"
#include "tools/probe/text_file.hpp"

namespace forebay::probe {
namespace {

namespace fs = std::filesystem;

struct Mount {
  std::string point;
  std::string type;
  std::string source;
};

// A line is: id parent major:minor root point options [optional ...] - type source options.
Mount parse_mount(const std::string& line) {
  Mount mount;
  std::istringstream words(line);
  std::string skipped;
  words >> skipped >> skipped >> skipped >> skipped >> mount.point;
  while (words >> skipped && skipped != "-") {
  }
  words >> mount.type >> mount.source;
  return mount;
}

bool is_below(const std::string& directory, const std::string& point) {
  if (directory.rfind(point, 0) != 0) return false;
  return point == "/" || directory.size() == point.size() || directory[point.size()] == '/';
}

// The deepest mount point counts; of two on one point the later one, which hides the other.
Mount mount_of(const fs::path& directory) {
  Mount best;
  std::istringstream table(read_text("/proc/self/mountinfo"));
  for (std::string line; std::getline(table, line);) {
    Mount mount = parse_mount(line);
    if (!is_below(directory.string(), mount.point)) continue;
    if (mount.point.size() >= best.point.size()) best = std::move(mount);
  }
  return best;
}

std::optional<BlockDevice> device_of(dev_t number) {
  const std::string name = std::to_string(major(number)) + ":" + std::to_string(minor(number));
  std::error_code error;
  fs::path directory = fs::canonical(fs::path("/sys/dev/block") / name, error);
  if (error) return std::nullopt;
  BlockDevice device;
  device.name = directory.filename().string();
  if (fs::exists(directory / "partition", error)) directory = directory.parent_path();
  device.model = read_text(directory / "device" / "model");
  device.scheduler = selected_choice(read_text(directory / "queue" / "scheduler"));
  device.rotational = read_number(directory / "queue" / "rotational").value_or(0) == 1;
  device.logical_block_bytes = read_number(directory / "queue" / "logical_block_size").value_or(0);
  device.request_bytes_max = read_number(directory / "queue" / "max_sectors_kb").value_or(0) * 1024;
  return device;
}

Error failed(const char* operation, const fs::path& path) {
  const int error_number = errno;
  return system_error({.operation = operation, .path = path.string()}, error_number);
}

// An unnamed file if the file system supports it, else one that is unlinked at once.
Descriptor open_temporary(const fs::path& directory) {
  Descriptor unnamed(open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (unnamed) return unnamed;
  std::string name = (directory / ".forebay-probe-XXXXXX").string();
  Descriptor named(mkostemp(name.data(), O_CLOEXEC));
  if (named) unlink(name.c_str());
  return named;
}

DirectAccess query_alignment(int fd) {
  constexpr std::uint64_t kUsualAlignmentBytes = 4096;
  struct statx facts{};
  const bool is_reported = statx(fd, "", AT_EMPTY_PATH, STATX_DIOALIGN, &facts) == 0 &&
                           (facts.stx_mask & STATX_DIOALIGN) != 0;
  DirectAccess access;
  if (is_reported && facts.stx_dio_offset_align == 0) {
    access.reason = "the file system has no direct access";
    return access;
  }
  access.memory_alignment_bytes = is_reported ? facts.stx_dio_mem_align : kUsualAlignmentBytes;
  access.offset_alignment_bytes = is_reported ? facts.stx_dio_offset_align : kUsualAlignmentBytes;
  const int flags = fcntl(fd, F_GETFL);
  access.possible = fcntl(fd, F_SETFL, flags | O_DIRECT) == 0;
  if (!access.possible) access.reason = "the file system rejects O_DIRECT";
  return access;
}

nlohmann::json to_json(const BlockDevice& device) {
  return {{"name", device.name},
          {"model", device.model},
          {"scheduler", device.scheduler},
          {"rotational", device.rotational},
          {"logical_block_bytes", device.logical_block_bytes},
          {"request_bytes_max", device.request_bytes_max}};
}

}  // namespace

Result<FileSystemInfo> describe_file_system(const fs::path& directory) {
  std::error_code error;
  const fs::path place = fs::canonical(directory, error);
  struct stat facts{};
  struct statvfs space{};
  if (error)
    return tl::unexpected(system_error(
        {.operation = "examine directory", .path = directory.string()}, error.value()));
  if (stat(place.c_str(), &facts) != 0 || statvfs(place.c_str(), &space) != 0) {
    return tl::unexpected(failed("examine directory", directory));
  }
  const Mount mount = mount_of(place);
  return FileSystemInfo{.directory = place,
                        .mount_point = mount.point,
                        .type = mount.type,
                        .source = mount.source,
                        .total_bytes = std::uint64_t{space.f_blocks} * space.f_frsize,
                        .free_bytes = std::uint64_t{space.f_bavail} * space.f_frsize,
                        .device = device_of(facts.st_dev)};
}

Result<DirectAccess> probe_direct_access(const fs::path& directory) {
  const Descriptor file = open_temporary(directory);
  if (!file) return tl::unexpected(failed("create a temporary file", directory));
  return query_alignment(file.get());
}

nlohmann::json to_json(const FileSystemInfo& file_system) {
  nlohmann::json device = nullptr;
  if (file_system.device) device = to_json(*file_system.device);
  return {{"folder", file_system.directory.string()},
          {"mount_point", file_system.mount_point.string()},
          {"type", file_system.type},
          {"source", file_system.source},
          {"total_bytes", file_system.total_bytes},
          {"free_bytes", file_system.free_bytes},
          {"device", std::move(device)}};
}

}  // namespace forebay::probe

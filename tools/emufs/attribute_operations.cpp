// SPDX-License-Identifier: Apache-2.0
// Operations on metadata of files: attributes, targets of links, and the space of the file system.
#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <string>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "tools/emufs/call.hpp"
#include "tools/emufs/syscall_inspector.hpp"

namespace forebay::emufs {

namespace {

using model::RequestKind;

int errno_of(int result) { return result == 0 ? 0 : errno; }

ErrnoResult<struct stat> attributes_of(const Inode& inode) {
  struct stat attributes{};
  if (::fstatat(inode.fd(), "", &attributes, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW) != 0) {
    return errno_failure(errno);
  }
  return attributes;
}

/// Whether a program requested the attributes, and not the kernel. By open file, the kernel
/// requests them at a read past the end or an append. Otherwise the program's system call decides.
/// It decides nothing for directories: the kernel checks them when a name is created in them, and
/// on the way to a file that the program stats.
bool is_program_request(const Call& call, const Inode& inode, const fuse_file_info* info) {
  if (info != nullptr || inode.kind() == S_IFDIR) return false;
  if (call.file_system().settings.delay_mode == DelayMode::kDisabled) return true;
  return purpose_of(call.thread()) != SyscallPurpose::kOther;
}

void reply_attributes(fuse_req_t request, const Inode& inode, double timeout_s) {
  const auto attributes = attributes_of(inode);
  if (attributes) {
    fuse_reply_attr(request, &*attributes, timeout_s);
  } else {
    fuse_reply_err(request, attributes.error());
  }
}

void get(fuse_req_t request, fuse_ino_t node, fuse_file_info* info) {
  const Call call(request);
  const Inode& inode = call.inode(node);
  const double timeout_s = cache_timeouts(call.file_system(), inode.kind()).attributes_s;
  if (!is_program_request(call, inode, info)) {
    reply_attributes(request, inode, timeout_s);
    return call.record_lookup();
  }
  // At that time, not now: other requests may be served in between.
  call.reply(call.inode_request(RequestKind::kStat, inode),
             [request, &inode, timeout_s] { reply_attributes(request, inode, timeout_s); });
}

int set_mode(const Inode& inode, mode_t mode) {
  return errno_of(::chmod(inode.path().c_str(), mode));
}

int set_owner(const Inode& inode, const struct stat& wanted, int which) {
  const uid_t user = (which & FUSE_SET_ATTR_UID) != 0 ? wanted.st_uid : static_cast<uid_t>(-1);
  const gid_t group = (which & FUSE_SET_ATTR_GID) != 0 ? wanted.st_gid : static_cast<gid_t>(-1);
  return errno_of(::fchownat(inode.fd(), "", user, group, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW));
}

timespec requested_time(int which, int set, int now, timespec wanted) {
  if ((which & now) != 0) return {0, UTIME_NOW};
  if ((which & set) != 0) return wanted;
  return {0, UTIME_OMIT};
}

int set_times(const Inode& inode, const struct stat& wanted, int which) {
  const timespec times[2] = {
      requested_time(which, FUSE_SET_ATTR_ATIME, FUSE_SET_ATTR_ATIME_NOW, wanted.st_atim),
      requested_time(which, FUSE_SET_ATTR_MTIME, FUSE_SET_ATTR_MTIME_NOW, wanted.st_mtim)};
  return errno_of(::utimensat(inode.fd(), "", times, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW));
}

int set_size(const Call& call, Inode& inode, off_t size, fuse_file_info* info) {
  const int result =
      errno_of(info != nullptr ? ::ftruncate(Call::open_file(info).descriptor.get(), size)
                               : ::truncate(inode.path().c_str(), size));
  if (result == 0) call.record_change(inode);
  return result;
}

/// As in the format: signed, in two's complement. Times too far from 1970 are clamped.
std::uint64_t nanoseconds(timespec time) {
  constexpr std::int64_t kInSecond = 1'000'000'000;
  constexpr std::int64_t kSecondsMax = INT64_MAX / kInSecond - 1;
  const std::int64_t seconds = std::clamp<std::int64_t>(time.tv_sec, -kSecondsMax, kSecondsMax);
  return static_cast<std::uint64_t>(seconds * kInSecond + time.tv_nsec);
}

constexpr int kRights = FUSE_SET_ATTR_MODE | FUSE_SET_ATTR_UID | FUSE_SET_ATTR_GID;

void record_attributes(Recording& recording, const Inode& inode, int which) {
  if (!recording.is_enabled()) return;
  const auto now = attributes_of(inode);
  if (!now) return recording.mark_incomplete(now.error());
  Record record{.file = inode.id()};
  if ((which & FUSE_SET_ATTR_SIZE) != 0) {
    record.kind = RecordKind::kTruncate;
    record.size = static_cast<std::uint64_t>(now->st_size);
    recording.append(record);
  }
  if ((which & kRights) != 0) {
    record.kind = RecordKind::kAttributes;
    record.mode = now->st_mode;
    record.user = now->st_uid;
    record.group = now->st_gid;
    recording.append(record);
  }
  if ((which & (FUSE_SET_ATTR_ATIME | FUSE_SET_ATTR_MTIME)) != 0) {
    record.kind = RecordKind::kTimes;
    record.offset = nanoseconds(now->st_atim);
    record.size = nanoseconds(now->st_mtim);
    recording.append(record);
  }
}

int set_all(
    const Call& call, Inode& inode, const struct stat& wanted, int which, fuse_file_info* info) {
  int result = 0;
  if ((which & FUSE_SET_ATTR_MODE) != 0) result = set_mode(inode, wanted.st_mode & 07777);
  if (result == 0 && (which & (FUSE_SET_ATTR_UID | FUSE_SET_ATTR_GID)) != 0) {
    result = set_owner(inode, wanted, which);
  }
  if (result == 0 && (which & FUSE_SET_ATTR_SIZE) != 0) {
    result = set_size(call, inode, wanted.st_size, info);
  }
  if (result == 0 && (which & (FUSE_SET_ATTR_ATIME | FUSE_SET_ATTR_MTIME)) != 0) {
    result = set_times(inode, wanted, which);
  }
  return result;
}

/// As clear_set_user_id_recorded(), within the caller's Recording.
int clear_set_user_id(const Call& call, Recording& recording, const Inode& inode) {
  if (call.user() == 0) return 0;
  const auto attributes = attributes_of(inode);
  if (!attributes) return attributes.error();
  constexpr mode_t kGroupRuns = S_ISGID | S_IXGRP;
  mode_t mode = attributes->st_mode & ~static_cast<mode_t>(S_ISUID);
  if ((mode & kGroupRuns) == kGroupRuns) mode &= ~static_cast<mode_t>(S_ISGID);
  if (mode == attributes->st_mode) return 0;
  const int result = set_mode(inode, mode & 07777);
  if (result == 0) record_attributes(recording, inode, FUSE_SET_ATTR_MODE);
  return result;
}

void set(
    fuse_req_t request, fuse_ino_t node, struct stat* wanted, int which, fuse_file_info* info) {
  Call call(request);
  Inode& inode = call.inode(node);
  {
    Recording recording(call.file_system().recorder.get());
    const int result = set_all(call, inode, *wanted, which, info);
    // A failed operation may have been done in part.
    record_attributes(recording, inode, result == 0 ? which : which & kRights);
    if (result != 0) return call.fail(result);
    if ((which & FUSE_SET_ATTR_SIZE) != 0) {
      const int error_number = clear_set_user_id(call, recording, inode);
      if (error_number != 0) return call.fail(error_number);
    }
  }
  if ((which & FUSE_SET_ATTR_SIZE) != 0) call.invalidate_other_clients(inode);
  const double timeout_s = cache_timeouts(call.file_system(), inode.kind()).attributes_s;
  call.reply(call.inode_request(RequestKind::kStat, inode),
             [request, &inode, timeout_s] { reply_attributes(request, inode, timeout_s); });
}

void read_link(fuse_req_t request, fuse_ino_t node) {
  const Call call(request);
  const Inode& inode = call.inode(node);
  std::string target(PATH_MAX, '\0');
  const auto size = ::readlinkat(inode.fd(), "", target.data(), target.size());
  if (size < 0) return call.fail(errno);
  target.resize(static_cast<std::size_t>(size));
  call.reply(call.inode_request(RequestKind::kStat, inode), [request, target = std::move(target)] {
    fuse_reply_readlink(request, target.c_str());
  });
}

void stat_file_system(fuse_req_t request, fuse_ino_t) {
  const Call call(request);
  struct statvfs statistics{};
  if (::fstatvfs(call.file_system().inodes.root().fd(), &statistics) != 0) return call.fail(errno);
  fuse_reply_statfs(request, &statistics);
}

}  // namespace

int clear_set_user_id_recorded(const Call& call, const Inode& inode) {
  Recording recording(call.file_system().recorder.get());
  return clear_set_user_id(call, recording, inode);
}

void add_attribute_operations(fuse_lowlevel_ops& operations) {
  operations.getattr = get;
  operations.setattr = set;
  operations.readlink = read_link;
  operations.statfs = stat_file_system;
}

}  // namespace forebay::emufs

// SPDX-License-Identifier: Apache-2.0
// Operations on what a file is besides its bytes: attributes, where a link leads, and how much room
// the file system has.
#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <string>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "tools/emufs/asker.hpp"
#include "tools/emufs/call.hpp"

namespace forebay::emufs {

namespace {

using model::RequestKind;

int errno_of(int result) { return result == 0 ? 0 : errno; }

Outcome<struct stat> attributes_of(const Inode& inode) {
  struct stat attributes{};
  if (::fstatat(inode.fd(), "", &attributes, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW) != 0) {
    return fails(errno);
  }
  return attributes;
}

/// By open file, the kernel asks where it reads at the end or appends; otherwise the program's
/// system call tells. It cannot tell of folders: a name was made there, and a program that wants
/// the attributes of a file has the kernel look whether it may pass.
bool program_asks(const Call& call, const Inode& inode, const fuse_file_info* info) {
  if (info != nullptr || inode.kind() == S_IFDIR) return false;
  if (call.file_system().settings.delays == Delays::kNone) return true;
  return purpose_of(call.thread()) != Purpose::kOther;
}

void tell_attributes(fuse_req_t request, const Inode& inode, double trust_s) {
  const auto attributes = attributes_of(inode);
  if (attributes) {
    fuse_reply_attr(request, &*attributes, trust_s);
  } else {
    fuse_reply_err(request, attributes.error());
  }
}

void get(fuse_req_t request, fuse_ino_t node, fuse_file_info* info) {
  const Call call(request);
  const Inode& inode = call.inode(node);
  const double trust_s = trust_of(call.file_system(), inode.kind()).attributes_s;
  if (!program_asks(call, inode, info)) {
    tell_attributes(request, inode, trust_s);
    return call.note_lookup();
  }
  // Then, not now: other requests may be answered in between.
  call.answer(call.on_inode(RequestKind::kStat, inode),
              [request, &inode, trust_s] { tell_attributes(request, inode, trust_s); });
}

int set_mode(const Inode& inode, mode_t mode) {
  return errno_of(::chmod(inode.path().c_str(), mode));
}

int set_owner(const Inode& inode, const struct stat& wanted, int which) {
  const uid_t user = (which & FUSE_SET_ATTR_UID) != 0 ? wanted.st_uid : static_cast<uid_t>(-1);
  const gid_t group = (which & FUSE_SET_ATTR_GID) != 0 ? wanted.st_gid : static_cast<gid_t>(-1);
  return errno_of(::fchownat(inode.fd(), "", user, group, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW));
}

timespec time_wanted(int which, int set, int now, timespec wanted) {
  if ((which & now) != 0) return {0, UTIME_NOW};
  if ((which & set) != 0) return wanted;
  return {0, UTIME_OMIT};
}

int set_times(const Inode& inode, const struct stat& wanted, int which) {
  const timespec times[2] = {
      time_wanted(which, FUSE_SET_ATTR_ATIME, FUSE_SET_ATTR_ATIME_NOW, wanted.st_atim),
      time_wanted(which, FUSE_SET_ATTR_MTIME, FUSE_SET_ATTR_MTIME_NOW, wanted.st_mtim)};
  return errno_of(::utimensat(inode.fd(), "", times, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW));
}

int set_size(const Call& call, Inode& inode, off_t size, fuse_file_info* info) {
  const int result =
      errno_of(info != nullptr ? ::ftruncate(Call::open_file(info).descriptor.get(), size)
                               : ::truncate(inode.path().c_str(), size));
  if (result == 0) call.note_change(inode);
  return result;
}

/// As the format has it: signed, in two's complement; what is too far from 1970 comes nearer.
std::uint64_t nanoseconds(timespec time) {
  constexpr std::int64_t kInSecond = 1'000'000'000;
  constexpr std::int64_t kSecondsMax = INT64_MAX / kInSecond - 1;
  const std::int64_t seconds = std::clamp<std::int64_t>(time.tv_sec, -kSecondsMax, kSecondsMax);
  return static_cast<std::uint64_t>(seconds * kInSecond + time.tv_nsec);
}

constexpr int kRights = FUSE_SET_ATTR_MODE | FUSE_SET_ATTR_UID | FUSE_SET_ATTR_GID;

void keep(Recording& recording, const Inode& inode, int which) {
  if (!recording.is_on()) return;
  const auto now = attributes_of(inode);
  if (!now) return recording.miss(now.error());
  Record record{.file = inode.id()};
  if ((which & FUSE_SET_ATTR_SIZE) != 0) {
    record.kind = RecordKind::kTruncate;
    record.size = static_cast<std::uint64_t>(now->st_size);
    recording.keep(record);
  }
  if ((which & kRights) != 0) {
    record.kind = RecordKind::kAttributes;
    record.mode = now->st_mode;
    record.user = now->st_uid;
    record.group = now->st_gid;
    recording.keep(record);
  }
  if ((which & (FUSE_SET_ATTR_ATIME | FUSE_SET_ATTR_MTIME)) != 0) {
    record.kind = RecordKind::kTimes;
    record.offset = nanoseconds(now->st_atim);
    record.size = nanoseconds(now->st_mtim);
    recording.keep(record);
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

/// As without_set_user_id(), within a step.
int take_set_user_id(const Call& call, Recording& recording, const Inode& inode) {
  if (call.user() == 0) return 0;
  const auto attributes = attributes_of(inode);
  if (!attributes) return attributes.error();
  constexpr mode_t kGroupRuns = S_ISGID | S_IXGRP;
  mode_t mode = attributes->st_mode & ~static_cast<mode_t>(S_ISUID);
  if ((mode & kGroupRuns) == kGroupRuns) mode &= ~static_cast<mode_t>(S_ISGID);
  if (mode == attributes->st_mode) return 0;
  const int result = set_mode(inode, mode & 07777);
  if (result == 0) keep(recording, inode, FUSE_SET_ATTR_MODE);
  return result;
}

void set(
    fuse_req_t request, fuse_ino_t node, struct stat* wanted, int which, fuse_file_info* info) {
  Call call(request);
  Inode& inode = call.inode(node);
  {
    Recording recording(call.file_system().recorder.get());
    const int result = set_all(call, inode, *wanted, which, info);
    // Of what fails, a part may be done.
    keep(recording, inode, result == 0 ? which : which & kRights);
    if (result != 0) return call.fail(result);
    if ((which & FUSE_SET_ATTR_SIZE) != 0) {
      const int lost = take_set_user_id(call, recording, inode);
      if (lost != 0) return call.fail(lost);
    }
  }
  if ((which & FUSE_SET_ATTR_SIZE) != 0) call.forget_pages_of_others(inode);
  const double trust_s = trust_of(call.file_system(), inode.kind()).attributes_s;
  call.answer(call.on_inode(RequestKind::kStat, inode),
              [request, &inode, trust_s] { tell_attributes(request, inode, trust_s); });
}

void read_link(fuse_req_t request, fuse_ino_t node) {
  const Call call(request);
  const Inode& inode = call.inode(node);
  std::string target(PATH_MAX, '\0');
  const auto size = ::readlinkat(inode.fd(), "", target.data(), target.size());
  if (size < 0) return call.fail(errno);
  target.resize(static_cast<std::size_t>(size));
  call.answer(call.on_inode(RequestKind::kStat, inode), [request, target = std::move(target)] {
    fuse_reply_readlink(request, target.c_str());
  });
}

void room(fuse_req_t request, fuse_ino_t) {
  const Call call(request);
  struct statvfs room{};
  if (::fstatvfs(call.file_system().inodes.root().fd(), &room) != 0) return call.fail(errno);
  fuse_reply_statfs(request, &room);
}

}  // namespace

int without_set_user_id(const Call& call, const Inode& inode) {
  Recording recording(call.file_system().recorder.get());
  return take_set_user_id(call, recording, inode);
}

void add_attribute_operations(fuse_lowlevel_ops& operations) {
  operations.getattr = get;
  operations.setattr = set;
  operations.readlink = read_link;
  operations.statfs = room;
}

}  // namespace forebay::emufs

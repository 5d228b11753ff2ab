// SPDX-License-Identifier: Apache-2.0
// Opening and closing files, and how an open file uses the page cache of its client.
#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <span>
#include <string>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/emufs/call.hpp"
#include "tools/emufs/caller_rights.hpp"

namespace forebay::emufs {

namespace {

using model::RequestKind;

/// Supplementary groups of a process that are checked at most.
constexpr int kGroupsMax = 256;

bool is_write_only(int flags) { return (flags & O_ACCMODE) == O_WRONLY; }

ReaderRegistration reader_of(const Call& call, Inode& inode, int flags) {
  return is_write_only(flags) ? ReaderRegistration()
                              : ReaderRegistration(inode, call.client().number());
}

/// Whether reads and writes of an open file bypass the page cache. A write-only descriptor gains
/// nothing from it, and the kernel lets one thread at a time write through it. With several
/// clients, appended bytes would be cached at a former end of the file.
bool bypasses_cache(const EmulatedFileSystem& file_system, int flags) {
  const bool is_shared_append = (flags & O_APPEND) != 0 && file_system.has_several_clients();
  return !file_system.settings.machine.client.page_cache || is_write_only(flags) ||
         is_shared_append;
}

ReplyFlags set_cache_flags(const Call& call, Inode& inode, fuse_file_info& info) {
  const EmulatedFileSystem& file_system = call.file_system();
  if (bypasses_cache(file_system, info.flags)) {
    info.direct_io = 1;
    return ReplyFlags::kParallelWrites;
  }
  const bool current = inode.record_open(call.client().number());
  info.keep_cache = current || file_system.has_locks() ? 1 : 0;
  return ReplyFlags::kNone;
}

/// The backing file is written at offsets from the kernel, or at the end of the file as emufs finds
/// it, through its page cache.
int backing_flags(int flags) {
  return (flags & ~(O_NOFOLLOW | O_APPEND | O_DIRECT | O_CREAT | O_EXCL)) | O_CLOEXEC;
}

void reply_opened(const Call& call,
                  const model::Request& cost,
                  std::unique_ptr<OpenFile> file,
                  fuse_file_info info) {
  const fuse_req_t request = call.request();
  const ReplyFlags reply_flags = set_cache_flags(call, *file->inode, info);
  info.fh = reinterpret_cast<std::uint64_t>(file.get());
  call.reply(cost, [request, info, reply_flags, file = std::move(file)]() mutable {
    set_next_reply_flags(reply_flags);
    // If the request was interrupted meanwhile, emufs still owns it and closes it.
    if (fuse_reply_open(request, &info) == 0) release_to_kernel(file);
  });
}

ErrnoResult<std::unique_ptr<OpenFile>> open_backing(const Call& call, Inode& inode, int flags) {
  Recording recording(call.file_system().recorder.get());
  Descriptor descriptor(::open(inode.path().c_str(), backing_flags(flags)));
  if (!descriptor) return errno_failure(errno);
  if ((flags & O_TRUNC) != 0) {
    recording.append({.kind = RecordKind::kTruncate, .file = inode.id()});
    call.record_change(inode);
  }
  return std::make_unique<OpenFile>(
      OpenFile{std::move(descriptor), &inode, reader_of(call, inode, flags)});
}

void open(fuse_req_t request, fuse_ino_t node, fuse_file_info* info) {
  Call call(request);
  Inode& inode = call.inode(node);
  auto file = open_backing(call, inode, info->flags);
  if (!file) return call.fail(file.error());
  if ((info->flags & O_TRUNC) != 0) {
    if (const int result = clear_set_user_id_recorded(call, inode); result != 0)
      return call.fail(result);
    call.invalidate_other_clients(inode);
  }
  reply_opened(call, call.inode_request(RequestKind::kOpen, inode), std::move(*file), *info);
}

struct CreatedFile {
  LookupResult found;
  std::unique_ptr<OpenFile> file;
};

void reply_created(const Call& call,
                   const model::Request& cost,
                   CreatedFile created,
                   fuse_file_info info) {
  EmulatedFileSystem& file_system = call.file_system();
  const fuse_req_t request = call.request();
  const LookupResult found = created.found;
  const ReplyFlags reply_flags = set_cache_flags(call, *found.inode, info);
  info.fh = reinterpret_cast<std::uint64_t>(created.file.get());
  call.reply(
      cost,
      [=, &file_system, file = std::move(created.file)]() mutable {
        const fuse_entry_param entry = entry_of(file_system, found);
        set_next_reply_flags(reply_flags);
        if (fuse_reply_create(request, &entry, &info) == 0) {
          release_to_kernel(file);
        } else {
          file_system.inodes.forget(*found.inode, 1);
        }
      },
      [=, &file_system](int error_number) {
        file_system.inodes.forget(*found.inode, 1);
        fuse_reply_err(request, error_number);
      });
}

ErrnoResult<Descriptor> create_as_caller(const Call& call,
                                         const Inode& directory,
                                         const Record& record,
                                         int flags) {
  const CallerRights rights(call);
  Descriptor file(::openat(directory.fd(), record.name.c_str(),
                           backing_flags(flags) | O_CREAT | O_EXCL, record.mode));
  if (!file) return errno_failure(errno);
  return file;
}

/// Creates the file and opens it; EEXIST if another client created it first.
ErrnoResult<CreatedFile> create_backing(
    const Call& call, const Inode& directory, const char* name, mode_t mode, int flags) {
  auto created =
      make_file(call, directory, {.kind = RecordKind::kCreate, .name = name, .mode = mode}, flags);
  if (!created) return errno_failure(created.error());
  Inode& inode = *created->found.inode;
  auto opened = std::make_unique<OpenFile>(
      OpenFile{std::move(created->descriptor), &inode, reader_of(call, inode, flags)});
  return CreatedFile{created->found, std::move(opened)};
}

bool is_in_group(const Call& call, gid_t group) {
  if (fuse_req_ctx(call.request())->gid == group) return true;
  std::array<gid_t, kGroupsMax> groups{};
  const int count = fuse_req_getgroups(call.request(), kGroupsMax, groups.data());
  const auto caller_groups =
      std::span(groups).first(static_cast<std::size_t>(std::clamp(count, 0, kGroupsMax)));
  return std::ranges::find(caller_groups, group) != caller_groups.end();
}

/// Whether the caller may open the file, by the rules of the kernel for a name that it looked up.
int check_access(const Call& call, const struct stat& is, int flags) {
  if (!S_ISREG(is.st_mode)) return ESTALE;  // the kernel looks the name up again
  if (call.user() == 0) return 0;
  const int access_mode = flags & O_ACCMODE;
  const mode_t wanted = (access_mode == O_WRONLY ? 0U : 4U) | (access_mode == O_RDONLY ? 0U : 2U) |
                        ((flags & O_TRUNC) != 0 ? 2U : 0U);
  const unsigned shift = call.user() == is.st_uid ? 6U : is_in_group(call, is.st_gid) ? 3U : 0U;
  return ((is.st_mode >> shift) & wanted) == wanted ? 0 : EACCES;
}

/// The kernel did not find the name, and another client has created it since. So the kernel has not
/// checked whether the caller may open it.
ErrnoResult<CreatedFile> open_existing(const Call& call,
                                       const Inode& directory,
                                       const char* name,
                                       int flags) {
  const auto found = call.file_system().inodes.find(directory, name);
  if (!found) return errno_failure(found.error());
  if (const int refused = check_access(call, found->attributes, flags); refused != 0) {
    call.file_system().inodes.forget(*found->inode, 1);
    return errno_failure(refused);
  }
  auto file = open_backing(call, *found->inode, flags);
  if (!file) {
    call.file_system().inodes.forget(*found->inode, 1);
    return errno_failure(file.error());
  }
  return CreatedFile{*found, std::move(*file)};
}

void create(
    fuse_req_t request, fuse_ino_t parent, const char* name, mode_t mode, fuse_file_info* info) {
  Call call(request);
  Inode& directory = call.inode(parent);
  auto cost = call.name_request(RequestKind::kCreate, directory, name);
  auto created = create_backing(call, directory, name, mode, info->flags);
  if (!created && created.error() == EEXIST && (info->flags & O_EXCL) == 0) {
    created = open_existing(call, directory, name, info->flags);
    cost.kind = RequestKind::kOpen;
    if (created && (info->flags & O_TRUNC) != 0)
      call.invalidate_other_clients(*created->found.inode);
  }
  if (!created) return call.fail(created.error());
  created->found.inode->set_name_hash(cost.name);
  reply_created(call, cost, std::move(*created), *info);
}

void release(fuse_req_t request, fuse_ino_t, fuse_file_info* info) {
  const std::unique_ptr<OpenFile> file(&Call::open_file(info));
  Call(request).file_system().file_locks.release_on_close(file->inode->id(), info->fh);
  fuse_reply_err(request, 0);
}

/// A process closes one of its descriptors. Writes have reached the backing file already.
void flush(fuse_req_t request, fuse_ino_t node, fuse_file_info* info) {
  const Call call(request);
  call.file_system().file_locks.release_on_close(call.inode(node).id(),
                                                 {call.client().number(), info->lock_owner});
  call.done();
}

}  // namespace

ErrnoResult<NewFile> make_file(const Call& call, const Inode& directory, Record record, int flags) {
  EmulatedFileSystem& file_system = call.file_system();
  Recording recording(file_system.recorder.get());
  auto file = create_as_caller(call, directory, record, flags);
  if (!file) return errno_failure(file.error());
  // By now another client may have renamed a file over the name, or removed it.
  const auto found = file_system.inodes.find_open(file->get());
  if (!found) {
    recording.mark_incomplete(found.error());
    return errno_failure(found.error());
  }
  record.file = found->inode->id();
  record.directory = directory.id();
  record.mode = found->attributes.st_mode;
  record.user = found->attributes.st_uid;
  record.group = found->attributes.st_gid;
  recording.append(record);
  file_system.layouts.on_created(directory, *found->inode);
  return NewFile{std::move(*file), *found};
}

void add_open_operations(fuse_lowlevel_ops& operations) {
  operations.open = open;
  operations.create = create;
  operations.release = release;
  operations.flush = flush;
}

}  // namespace forebay::emufs

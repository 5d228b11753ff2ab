// SPDX-License-Identifier: Apache-2.0
// Opening and closing files, and what an opened file means for the page cache of its client.
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

/// Supplementary groups of a process that are looked at.
constexpr int kGroupsMax = 256;

bool only_writes(int flags) { return (flags & O_ACCMODE) == O_WRONLY; }

Reader reader_of(const Call& call, Inode& inode, int flags) {
  return only_writes(flags) ? Reader() : Reader(inode, call.client().number());
}

/// Whether reads and writes of an opened file pass by the page cache. What can only write gains
/// nothing from it, and the kernel lets one thread at a time write through it. What appends beside
/// other clients would leave its bytes there where the file ended before.
bool passes_by_cache(const FileSystem& file_system, int flags) {
  const bool appends_beside_others = (flags & O_APPEND) != 0 && file_system.has_several_clients();
  return !file_system.settings.machine.client.page_cache || only_writes(flags) ||
         appends_beside_others;
}

Addition say_how(const Call& call, Inode& inode, fuse_file_info& info) {
  const FileSystem& file_system = call.file_system();
  if (passes_by_cache(file_system, info.flags)) {
    info.direct_io = 1;
    return Addition::kParallelWrites;
  }
  const bool current = inode.opened_by(call.client().number());
  info.keep_cache = current || file_system.has_locks() ? 1 : 0;
  return Addition::kNone;
}

/// The backing file is written at offsets that the kernel has worked out, or at the end of the file
/// as we find it, through its page cache.
int backing_flags(int flags) {
  return (flags & ~(O_NOFOLLOW | O_APPEND | O_DIRECT | O_CREAT | O_EXCL)) | O_CLOEXEC;
}

void answer_opened(const Call& call,
                   const model::Request& cost,
                   std::unique_ptr<OpenFile> file,
                   fuse_file_info info) {
  const fuse_req_t request = call.request();
  const Addition addition = say_how(call, *file->inode, info);
  info.fh = reinterpret_cast<std::uint64_t>(file.get());
  call.answer(cost, [request, info, addition, file = std::move(file)]() mutable {
    add_to_next_reply(addition);
    // Interrupted meanwhile, it stays ours and is closed.
    if (fuse_reply_open(request, &info) == 0) leave_to_kernel(file);
  });
}

Outcome<std::unique_ptr<OpenFile>> open_backing(const Call& call, Inode& inode, int flags) {
  Recording recording(call.file_system().recorder.get());
  Descriptor descriptor(::open(inode.path().c_str(), backing_flags(flags)));
  if (!descriptor) return fails(errno);
  if ((flags & O_TRUNC) != 0) {
    recording.keep({.kind = RecordKind::kTruncate, .file = inode.id()});
    call.note_change(inode);
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
    if (const int result = without_set_user_id(call, inode); result != 0) return call.fail(result);
    call.forget_pages_of_others(inode);
  }
  answer_opened(call, call.on_inode(RequestKind::kOpen, inode), std::move(*file), *info);
}

struct Made {
  Found found;
  std::unique_ptr<OpenFile> file;
};

void answer_made(const Call& call, const model::Request& cost, Made made, fuse_file_info info) {
  FileSystem& file_system = call.file_system();
  const fuse_req_t request = call.request();
  const Found found = made.found;
  const Addition addition = say_how(call, *found.inode, info);
  info.fh = reinterpret_cast<std::uint64_t>(made.file.get());
  call.answer(
      cost,
      [=, &file_system, file = std::move(made.file)]() mutable {
        const fuse_entry_param entry = entry_of(file_system, found);
        add_to_next_reply(addition);
        if (fuse_reply_create(request, &entry, &info) == 0) {
          leave_to_kernel(file);
        } else {
          file_system.inodes.forget(*found.inode, 1);
        }
      },
      [=, &file_system](int error_number) {
        file_system.inodes.forget(*found.inode, 1);
        fuse_reply_err(request, error_number);
      });
}

Outcome<Descriptor> make_as_caller(const Call& call,
                                   const Inode& folder,
                                   const Record& record,
                                   int flags) {
  const CallerRights rights(call);
  Descriptor file(::openat(folder.fd(), record.name.c_str(),
                           backing_flags(flags) | O_CREAT | O_EXCL, record.mode));
  if (!file) return fails(errno);
  return file;
}

/// Makes the file and opens it; EEXIST if another client was quicker.
Outcome<Made> make_backing(
    const Call& call, const Inode& folder, const char* name, mode_t mode, int flags) {
  auto made =
      make_file(call, folder, {.kind = RecordKind::kCreate, .name = name, .mode = mode}, flags);
  if (!made) return fails(made.error());
  Inode& inode = *made->found.inode;
  auto opened = std::make_unique<OpenFile>(
      OpenFile{std::move(made->descriptor), &inode, reader_of(call, inode, flags)});
  return Made{made->found, std::move(opened)};
}

bool is_in_group(const Call& call, gid_t group) {
  if (fuse_req_ctx(call.request())->gid == group) return true;
  std::array<gid_t, kGroupsMax> groups{};
  const int count = fuse_req_getgroups(call.request(), kGroupsMax, groups.data());
  const auto all =
      std::span(groups).first(static_cast<std::size_t>(std::clamp(count, 0, kGroupsMax)));
  return std::ranges::find(all, group) != all.end();
}

/// Whether the caller may open the file, as the kernel checks where it looked the name up itself.
int check_access(const Call& call, const struct stat& is, int flags) {
  if (!S_ISREG(is.st_mode)) return ESTALE;  // the kernel looks the name up anew
  if (call.user() == 0) return 0;
  const int way = flags & O_ACCMODE;
  const mode_t wanted = (way == O_WRONLY ? 0U : 4U) | (way == O_RDONLY ? 0U : 2U) |
                        ((flags & O_TRUNC) != 0 ? 2U : 0U);
  const unsigned shift = call.user() == is.st_uid ? 6U : is_in_group(call, is.st_gid) ? 3U : 0U;
  return ((is.st_mode >> shift) & wanted) == wanted ? 0 : EACCES;
}

/// The kernel did not find the name, and another client has made it since: so the kernel has not
/// checked whether the caller may open it.
Outcome<Made> open_existing(const Call& call, const Inode& folder, const char* name, int flags) {
  const auto found = call.file_system().inodes.find(folder, name);
  if (!found) return fails(found.error());
  if (const int refused = check_access(call, found->attributes, flags); refused != 0) {
    call.file_system().inodes.forget(*found->inode, 1);
    return fails(refused);
  }
  auto file = open_backing(call, *found->inode, flags);
  if (!file) {
    call.file_system().inodes.forget(*found->inode, 1);
    return fails(file.error());
  }
  return Made{*found, std::move(*file)};
}

void create(
    fuse_req_t request, fuse_ino_t parent, const char* name, mode_t mode, fuse_file_info* info) {
  Call call(request);
  Inode& folder = call.inode(parent);
  auto cost = call.on_name(RequestKind::kCreate, folder, name);
  auto made = make_backing(call, folder, name, mode, info->flags);
  if (!made && made.error() == EEXIST && (info->flags & O_EXCL) == 0) {
    made = open_existing(call, folder, name, info->flags);
    cost.kind = RequestKind::kOpen;
    if (made && (info->flags & O_TRUNC) != 0) call.forget_pages_of_others(*made->found.inode);
  }
  if (!made) return call.fail(made.error());
  made->found.inode->set_name_hash(cost.name);
  answer_made(call, cost, std::move(*made), *info);
}

void release(fuse_req_t request, fuse_ino_t, fuse_file_info* info) {
  const std::unique_ptr<OpenFile> file(&Call::open_file(info));
  Call(request).file_system().program_locks.closed(file->inode->id(), info->fh);
  fuse_reply_err(request, 0);
}

/// A process closes one of its descriptors. Writes have gone through already.
void flush(fuse_req_t request, fuse_ino_t node, fuse_file_info* info) {
  const Call call(request);
  call.file_system().program_locks.closed(call.inode(node).id(),
                                          {call.client().number(), info->lock_owner});
  call.done();
}

}  // namespace

Outcome<NewFile> make_file(const Call& call, const Inode& folder, Record record, int flags) {
  FileSystem& file_system = call.file_system();
  Recording recording(file_system.recorder.get());
  auto file = make_as_caller(call, folder, record, flags);
  if (!file) return fails(file.error());
  // By now another client may have renamed a file over the name, or removed it.
  const auto found = file_system.inodes.adopt(file->get());
  if (!found) {
    recording.miss(found.error());
    return fails(found.error());
  }
  record.file = found->inode->id();
  record.folder = folder.id();
  record.mode = found->attributes.st_mode;
  record.user = found->attributes.st_uid;
  record.group = found->attributes.st_gid;
  recording.keep(record);
  file_system.layouts.on_created(folder, *found->inode);
  return NewFile{std::move(*file), *found};
}

void add_open_operations(fuse_lowlevel_ops& operations) {
  operations.open = open;
  operations.create = create;
  operations.release = release;
  operations.flush = flush;
}

}  // namespace forebay::emufs

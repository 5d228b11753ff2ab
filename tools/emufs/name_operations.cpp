// SPDX-License-Identifier: Apache-2.0
// Operations on names: looking them up, making, moving and removing them. They work on the backing
// folder at once; the answer waits for the metadata server of the name.
#include <cerrno>
#include <cstdio>
#include <string>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/emufs/call.hpp"
#include "tools/emufs/caller_rights.hpp"

namespace forebay::emufs {

namespace {

using model::RequestKind;

int errno_of(int result) { return result == 0 ? 0 : errno; }

/// Looks a name up and notes by which name it was found.
Outcome<Found> find(const Call& call, const Inode& folder, const char* name) {
  auto found = call.file_system().inodes.find(folder, name);
  if (found) found->inode->set_name_hash(call.on_name(RequestKind::kStat, folder, name).name);
  return found;
}

/// Answers with a name that was found; the kernel counts it from then on.
void answer_entry(const Call& call, const model::Request& cost, const Found& found) {
  FileSystem& file_system = call.file_system();
  const fuse_req_t request = call.request();
  call.answer(
      cost,
      [request, found, &file_system] {
        const fuse_entry_param entry = entry_of(file_system, found);
        if (fuse_reply_entry(request, &entry) != 0) file_system.inodes.forget(*found.inode, 1);
      },
      [request, found, &file_system](int error_number) {
        file_system.inodes.forget(*found.inode, 1);
        fuse_reply_err(request, error_number);
      });
}

/// Answers with a file that has got this name.
void answer_named(const Call& call, const Inode& folder, const char* name, const Found& found) {
  const model::Request cost = call.on_name(RequestKind::kCreate, folder, name);
  found.inode->set_name_hash(cost.name);
  answer_entry(call, cost, found);
}

/// What making a name leads to, unless a regular file was made. The system gives no descriptor of
/// what it makes otherwise: another client may have moved something else to the name by now. So
/// only a folder of the caller's gets a layout.
void answer_made(const Call& call, const Inode& folder, const Record& record) {
  const auto found = call.file_system().inodes.find(folder, record.name.c_str());
  if (!found) return call.fail(found.error());
  const bool is_own = found->attributes.st_uid == call.user();
  if (record.kind == RecordKind::kMkdir && found->inode->kind() == S_IFDIR && is_own) {
    call.file_system().layouts.on_created(folder, *found->inode);
  }
  answer_named(call, folder, record.name.c_str(), *found);
}

/// The record of what was made, with what it is now.
void keep_made(Recording& recording, const Inode& folder, Record record) {
  struct stat made{};
  if (!recording.is_on()) return;
  if (::fstatat(folder.fd(), record.name.c_str(), &made, AT_SYMLINK_NOFOLLOW) != 0) {
    return recording.miss(errno);
  }
  record.file = id_of({made.st_dev, made.st_ino});
  record.folder = folder.id();
  record.mode = made.st_mode;
  record.user = made.st_uid;
  record.group = made.st_gid;
  recording.keep(record);
}

/// The kernel has checked the rights to what it found under a name. Another client may have moved
/// something else there since, or changed the rights of the folder: so the system checks again.
template <class Change>
int as_caller(const Call& call, Change change) {
  const CallerRights rights(call);
  return errno_of(change());
}

template <class Make>
void make(fuse_req_t request, fuse_ino_t parent, const Record& record, Make make_it) {
  const Call call(request);
  const Inode& folder = call.inode(parent);
  {
    Recording recording(call.file_system().recorder.get());
    const int made = as_caller(call, [&] { return make_it(folder); });
    if (made != 0) return call.fail(made);
    keep_made(recording, folder, record);
  }
  answer_made(call, folder, record);
}

void lookup(fuse_req_t request, fuse_ino_t parent, const char* name) {
  const Call call(request);
  const auto found = find(call, call.inode(parent), name);
  if (!found) {
    call.fail(found.error());
  } else {
    const fuse_entry_param entry = entry_of(call.file_system(), *found);
    if (fuse_reply_entry(request, &entry) != 0) call.file_system().inodes.forget(*found->inode, 1);
  }
  call.note_lookup();
}

void forget(fuse_req_t request, fuse_ino_t node, std::uint64_t times) {
  const Call call(request);
  forget_file(call.file_system(), call.inode(node), times);
  fuse_reply_none(request);
}

void forget_many(fuse_req_t request, std::size_t count, fuse_forget_data* forgets) {
  const Call call(request);
  for (std::size_t i = 0; i < count; ++i) {
    forget_file(call.file_system(), call.inode(forgets[i].ino), forgets[i].nlookup);
  }
  fuse_reply_none(request);
}

void make_regular(const Call& call, const Inode& folder, const char* name, mode_t mode) {
  const auto made =
      make_file(call, folder, {.kind = RecordKind::kCreate, .name = name, .mode = mode}, O_WRONLY);
  if (!made) return call.fail(made.error());
  answer_named(call, folder, name, made->found);
}

void make_node(fuse_req_t request, fuse_ino_t parent, const char* name, mode_t mode, dev_t device) {
  const Call call(request);
  if (S_ISREG(mode)) return make_regular(call, call.inode(parent), name, mode);
  make(request, parent, {.kind = RecordKind::kMknod, .name = name, .size = device},
       [=](const Inode& folder) { return ::mknodat(folder.fd(), name, mode, device); });
}

void make_folder(fuse_req_t request, fuse_ino_t parent, const char* name, mode_t mode) {
  make(request, parent, {.kind = RecordKind::kMkdir, .name = name},
       [=](const Inode& folder) { return ::mkdirat(folder.fd(), name, mode); });
}

void make_symlink(fuse_req_t request, const char* to, fuse_ino_t parent, const char* name) {
  make(request, parent, {.kind = RecordKind::kSymlink, .name = name, .data = to},
       [=](const Inode& folder) { return ::symlinkat(to, folder.fd(), name); });
}

void link(fuse_req_t request, fuse_ino_t node, fuse_ino_t parent, const char* name) {
  const Call call(request);
  const Inode& inode = call.inode(node);
  const Inode& folder = call.inode(parent);
  {
    Recording recording(call.file_system().recorder.get());
    const std::string path = inode.path();
    const int made = as_caller(call, [&] {
      return ::linkat(AT_FDCWD, path.c_str(), folder.fd(), name, AT_SYMLINK_FOLLOW);
    });
    if (made != 0) return call.fail(made);
    recording.keep(
        {.kind = RecordKind::kLink, .file = inode.id(), .folder = folder.id(), .name = name});
  }
  const auto found = call.file_system().inodes.adopt(inode.fd());
  if (!found) return call.fail(found.error());
  answer_named(call, folder, name, *found);
}

model::FileId id_at(const Inode& folder, const char* name) {
  struct stat found{};
  if (::fstatat(folder.fd(), name, &found, AT_SYMLINK_NOFOLLOW) != 0) return 0;
  return id_of({found.st_dev, found.st_ino});
}

/// What the name led to is gone. A client that has looked it up keeps it, with its disk space,
/// until it is told.
void tell_others(const Call& call, const Inode& folder, const char* name) {
  FileSystem& file_system = call.file_system();
  for (const auto& client : file_system.clients) {
    if (client->number() != call.client().number()) client->forget_name(folder, name);
  }
}

void remove(fuse_req_t request, fuse_ino_t parent, const char* name, int flags) {
  const Call call(request);
  const Inode& folder = call.inode(parent);
  int removed = 0;
  {
    Recording recording(call.file_system().recorder.get());
    const model::FileId file = recording.is_on() ? id_at(folder, name) : 0;
    removed = as_caller(call, [&] { return ::unlinkat(folder.fd(), name, flags); });
    const auto kind = flags == 0 ? RecordKind::kUnlink : RecordKind::kRmdir;
    if (removed == 0) {
      recording.keep({.kind = kind, .file = file, .folder = folder.id(), .name = name});
    }
  }
  if (removed == 0) tell_others(call, folder, name);
  call.answer_result(call.on_name(RequestKind::kUnlink, folder, name), removed);
}

void unlink(fuse_req_t request, fuse_ino_t parent, const char* name) {
  remove(request, parent, name, 0);
}

void remove_folder(fuse_req_t request, fuse_ino_t parent, const char* name) {
  remove(request, parent, name, AT_REMOVEDIR);
}

// NOLINTNEXTLINE(readability-function-size): libfuse says what the parameters are
void rename(fuse_req_t request,
            fuse_ino_t parent,
            const char* name,
            fuse_ino_t to_parent,
            const char* to_name,
            unsigned flags) {
  const Call call(request);
  const Inode& from = call.inode(parent);
  const Inode& to = call.inode(to_parent);
  int renamed = 0;
  {
    Recording recording(call.file_system().recorder.get());
    const model::FileId file = recording.is_on() ? id_at(from, name) : 0;
    renamed =
        as_caller(call, [&] { return ::renameat2(from.fd(), name, to.fd(), to_name, flags); });
    if (renamed == 0) {
      recording.keep({.kind = RecordKind::kRename,
                      .file = file,
                      .folder = from.id(),
                      .to_folder = to.id(),
                      .name = name,
                      .to_name = to_name,
                      .size = flags});
    }
  }
  if (renamed == 0) tell_others(call, to, to_name);
  call.answer_result(call.on_name(RequestKind::kCreate, to, to_name), renamed);
}

}  // namespace

void add_name_operations(fuse_lowlevel_ops& operations) {
  operations.lookup = lookup;
  operations.forget = forget;
  operations.forget_multi = forget_many;
  operations.mknod = make_node;
  operations.mkdir = make_folder;
  operations.symlink = make_symlink;
  operations.link = link;
  operations.unlink = unlink;
  operations.rmdir = remove_folder;
  operations.rename = rename;
}

}  // namespace forebay::emufs

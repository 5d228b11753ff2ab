// SPDX-License-Identifier: Apache-2.0
// Operations on names: lookup, creation, rename and removal. They change the backing directory at
// once; the reply waits for the metadata server of the name.
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

/// Looks up a name and stores the hash of that name.
ErrnoResult<LookupResult> find(const Call& call, const Inode& directory, const char* name) {
  auto found = call.file_system().inodes.find(directory, name);
  if (found)
    found->inode->set_name_hash(call.name_request(RequestKind::kStat, directory, name).name);
  return found;
}

/// Replies with a name that was found; the kernel holds a reference from then on.
void reply_entry(const Call& call, const model::Request& cost, const LookupResult& found) {
  EmulatedFileSystem& file_system = call.file_system();
  const fuse_req_t request = call.request();
  call.reply(
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

/// Replies with a file that got this name.
void reply_named(const Call& call,
                 const Inode& directory,
                 const char* name,
                 const LookupResult& found) {
  const model::Request cost = call.name_request(RequestKind::kCreate, directory, name);
  found.inode->set_name_hash(cost.name);
  reply_entry(call, cost, found);
}

/// Replies to a creation, except of a regular file. The system returns no descriptor of what it
/// creates otherwise, and another client may have moved something else to the name by now. So only
/// a directory of the caller gets a layout.
void reply_created(const Call& call, const Inode& directory, const Record& record) {
  const auto found = call.file_system().inodes.find(directory, record.name.c_str());
  if (!found) return call.fail(found.error());
  const bool is_own = found->attributes.st_uid == call.user();
  if (record.kind == RecordKind::kMkdir && found->inode->kind() == S_IFDIR && is_own) {
    call.file_system().layouts.on_created(directory, *found->inode);
  }
  reply_named(call, directory, record.name.c_str(), *found);
}

/// Records what was created, with its present attributes.
void record_created(Recording& recording, const Inode& directory, Record record) {
  struct stat made{};
  if (!recording.is_enabled()) return;
  if (::fstatat(directory.fd(), record.name.c_str(), &made, AT_SYMLINK_NOFOLLOW) != 0) {
    return recording.mark_incomplete(errno);
  }
  record.file = id_of({made.st_dev, made.st_ino});
  record.directory = directory.id();
  record.mode = made.st_mode;
  record.user = made.st_uid;
  record.group = made.st_gid;
  recording.append(record);
}

/// The kernel has checked permissions of what it found under a name. Another client may have moved
/// something else there since, or changed permissions of the directory. So the system checks again.
template <class Change>
int run_as_caller(const Call& call, Change change) {
  const CallerRights rights(call);
  return errno_of(change());
}

template <class Make>
void create_entry(fuse_req_t request, fuse_ino_t parent, const Record& record, Make create) {
  const Call call(request);
  const Inode& directory = call.inode(parent);
  {
    Recording recording(call.file_system().recorder.get());
    const int made = run_as_caller(call, [&] { return create(directory); });
    if (made != 0) return call.fail(made);
    record_created(recording, directory, record);
  }
  reply_created(call, directory, record);
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
  call.record_lookup();
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

void make_regular(const Call& call, const Inode& directory, const char* name, mode_t mode) {
  const auto made = make_file(call, directory,
                              {.kind = RecordKind::kCreate, .name = name, .mode = mode}, O_WRONLY);
  if (!made) return call.fail(made.error());
  reply_named(call, directory, name, made->found);
}

void make_node(fuse_req_t request, fuse_ino_t parent, const char* name, mode_t mode, dev_t device) {
  const Call call(request);
  if (S_ISREG(mode)) return make_regular(call, call.inode(parent), name, mode);
  create_entry(
      request, parent, {.kind = RecordKind::kMknod, .name = name, .size = device},
      [=](const Inode& directory) { return ::mknodat(directory.fd(), name, mode, device); });
}

void make_directory(fuse_req_t request, fuse_ino_t parent, const char* name, mode_t mode) {
  create_entry(request, parent, {.kind = RecordKind::kMkdir, .name = name},
               [=](const Inode& directory) { return ::mkdirat(directory.fd(), name, mode); });
}

void make_symlink(fuse_req_t request, const char* to, fuse_ino_t parent, const char* name) {
  create_entry(request, parent, {.kind = RecordKind::kSymlink, .name = name, .data = to},
               [=](const Inode& directory) { return ::symlinkat(to, directory.fd(), name); });
}

void link(fuse_req_t request, fuse_ino_t node, fuse_ino_t parent, const char* name) {
  const Call call(request);
  const Inode& inode = call.inode(node);
  const Inode& directory = call.inode(parent);
  {
    Recording recording(call.file_system().recorder.get());
    const std::string path = inode.path();
    const int made = run_as_caller(call, [&] {
      return ::linkat(AT_FDCWD, path.c_str(), directory.fd(), name, AT_SYMLINK_FOLLOW);
    });
    if (made != 0) return call.fail(made);
    recording.append(
        {.kind = RecordKind::kLink, .file = inode.id(), .directory = directory.id(), .name = name});
  }
  const auto found = call.file_system().inodes.find_open(inode.fd());
  if (!found) return call.fail(found.error());
  reply_named(call, directory, name, *found);
}

model::FileId id_at(const Inode& directory, const char* name) {
  struct stat found{};
  if (::fstatat(directory.fd(), name, &found, AT_SYMLINK_NOFOLLOW) != 0) return 0;
  return id_of({found.st_dev, found.st_ino});
}

/// The file of the name is removed. A client that has looked it up keeps it, with its disk space,
/// until it is notified.
void invalidate_on_other_clients(const Call& call, const Inode& directory, const char* name) {
  EmulatedFileSystem& file_system = call.file_system();
  for (const auto& client : file_system.clients) {
    if (client->number() != call.client().number()) client->invalidate_name(directory, name);
  }
}

void remove(fuse_req_t request, fuse_ino_t parent, const char* name, int flags) {
  const Call call(request);
  const Inode& directory = call.inode(parent);
  int removed = 0;
  {
    Recording recording(call.file_system().recorder.get());
    const model::FileId file = recording.is_enabled() ? id_at(directory, name) : 0;
    removed = run_as_caller(call, [&] { return ::unlinkat(directory.fd(), name, flags); });
    const auto kind = flags == 0 ? RecordKind::kUnlink : RecordKind::kRmdir;
    if (removed == 0) {
      recording.append({.kind = kind, .file = file, .directory = directory.id(), .name = name});
    }
  }
  if (removed == 0) invalidate_on_other_clients(call, directory, name);
  call.reply_result(call.name_request(RequestKind::kUnlink, directory, name), removed);
}

void unlink(fuse_req_t request, fuse_ino_t parent, const char* name) {
  remove(request, parent, name, 0);
}

void remove_directory(fuse_req_t request, fuse_ino_t parent, const char* name) {
  remove(request, parent, name, AT_REMOVEDIR);
}

// NOLINTNEXTLINE(readability-function-size): libfuse defines the parameters
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
    const model::FileId file = recording.is_enabled() ? id_at(from, name) : 0;
    renamed =
        run_as_caller(call, [&] { return ::renameat2(from.fd(), name, to.fd(), to_name, flags); });
    if (renamed == 0) {
      recording.append({.kind = RecordKind::kRename,
                        .file = file,
                        .directory = from.id(),
                        .to_directory = to.id(),
                        .name = name,
                        .to_name = to_name,
                        .size = flags});
    }
  }
  if (renamed == 0) invalidate_on_other_clients(call, to, to_name);
  call.reply_result(call.name_request(RequestKind::kCreate, to, to_name), renamed);
}

}  // namespace

void add_name_operations(fuse_lowlevel_ops& operations) {
  operations.lookup = lookup;
  operations.forget = forget;
  operations.forget_multi = forget_many;
  operations.mknod = make_node;
  operations.mkdir = make_directory;
  operations.symlink = make_symlink;
  operations.link = link;
  operations.unlink = unlink;
  operations.rmdir = remove_directory;
  operations.rename = rename;
}

}  // namespace forebay::emufs

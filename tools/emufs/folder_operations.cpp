// SPDX-License-Identifier: Apache-2.0
// Listing folders. Each answer of a list has a price; opening and closing one has none.
#include <cerrno>
#include <cstring>
#include <memory>
#include <string>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/emufs/call.hpp"

namespace forebay::emufs {

namespace {

using model::RequestKind;

struct CloseFolder {
  void operator()(DIR* folder) const noexcept { ::closedir(folder); }
};

struct OpenFolder {
  std::unique_ptr<DIR, CloseFolder> stream;
  Inode* inode = nullptr;
  off_t offset = 0;
  const dirent* next = nullptr;  ///< read already, and had no room in the last answer
  std::mutex mutex;
};

OpenFolder& open_folder_of(const fuse_file_info* info) {
  return *reinterpret_cast<OpenFolder*>(info->fh);
}

void open_folder(fuse_req_t request, fuse_ino_t node, fuse_file_info* info) {
  const Call call(request);
  Inode& inode = call.inode(node);
  const int descriptor = ::openat(inode.fd(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return call.fail(errno);
  auto folder = std::make_unique<OpenFolder>();
  folder->stream.reset(::fdopendir(descriptor));
  if (!folder->stream) {
    const int problem = errno;
    ::close(descriptor);
    return call.fail(problem);
  }
  folder->inode = &inode;
  info->fh = reinterpret_cast<std::uint64_t>(folder.get());
  if (fuse_reply_open(request, info) == 0) leave_to_kernel(folder);
}

/// The entry at the stream's place, null at the end; errno tells them from failures.
const dirent* peek(OpenFolder& folder) {
  if (folder.next == nullptr) {
    errno = 0;
    folder.next = ::readdir(folder.stream.get());
  }
  return folder.next;
}

bool is_dots(const char* name) {
  return std::strcmp(name, ".") == 0 || std::strcmp(name, "..") == 0;
}

enum class Detail : std::uint8_t { kNames, kNamesAndAttributes };

/// An answer of a list under construction. What it has looked up is forgotten if it is not sent.
struct Page {
  std::string bytes;
  std::size_t used = 0;
  std::vector<Inode*> counted;
};

bool add_name(const Call& call, const dirent& entry, Page& page) {
  struct stat attributes{};
  attributes.st_ino = entry.d_ino;
  attributes.st_mode = static_cast<mode_t>(entry.d_type) << 12U;
  const std::size_t room = page.bytes.size() - page.used;
  const std::size_t size = fuse_add_direntry(call.request(), page.bytes.data() + page.used, room,
                                             entry.d_name, &attributes, entry.d_off);
  if (size > room) return false;
  page.used += size;
  return true;
}

bool add_with_attributes(const Call& call, OpenFolder& folder, const dirent& entry, Page& page) {
  fuse_entry_param described{};
  described.attr.st_ino = entry.d_ino;
  described.attr.st_mode = static_cast<mode_t>(entry.d_type) << 12U;
  Inode* counted = nullptr;
  if (!is_dots(entry.d_name)) {
    if (const auto found = call.file_system().inodes.find(*folder.inode, entry.d_name)) {
      described = entry_of(call.file_system(), *found);
      counted = found->inode;
      counted->set_name_hash(call.on_name(RequestKind::kStat, *folder.inode, entry.d_name).name);
    }
  }
  const std::size_t room = page.bytes.size() - page.used;
  const std::size_t size = fuse_add_direntry_plus(call.request(), page.bytes.data() + page.used,
                                                  room, entry.d_name, &described, entry.d_off);
  if (size > room) {
    if (counted != nullptr) call.file_system().inodes.forget(*counted, 1);
    return false;
  }
  if (counted != nullptr) page.counted.push_back(counted);
  page.used += size;
  return true;
}

/// Fills a page from the stream's place on; an errno if there is nothing but a failure.
int fill(const Call& call, OpenFolder& folder, Detail detail, Page& page) {
  while (const dirent* entry = peek(folder)) {
    const bool fits = detail == Detail::kNames ? add_name(call, *entry, page)
                                               : add_with_attributes(call, folder, *entry, page);
    if (!fits) return 0;
    folder.offset = entry->d_off;
    folder.next = nullptr;
  }
  return page.used == 0 ? errno : 0;
}

struct Place {
  std::size_t size = 0;
  off_t offset = 0;
};

void list(fuse_req_t request, fuse_file_info* info, Place place, Detail detail) {
  const Call call(request);
  OpenFolder& folder = open_folder_of(info);
  Page page{.bytes = std::string(place.size, '\0')};
  {
    const std::lock_guard lock(folder.mutex);
    if (place.offset != folder.offset) {
      ::seekdir(folder.stream.get(), place.offset);
      folder.next = nullptr;
      folder.offset = place.offset;
    }
    if (const int problem = fill(call, folder, detail, page); problem != 0) {
      return call.fail(problem);
    }
  }
  Inodes& inodes = call.file_system().inodes;
  const auto forget_all = [&inodes](const Page& unsent) {
    for (Inode* inode : unsent.counted)
      inodes.forget(*inode, 1);
  };
  auto shared = std::make_shared<Page>(std::move(page));
  call.answer(
      call.on_inode(RequestKind::kStat, *folder.inode),
      [=] {
        if (fuse_reply_buf(request, shared->bytes.data(), shared->used) != 0) forget_all(*shared);
      },
      [=](int error_number) {
        forget_all(*shared);
        fuse_reply_err(request, error_number);
      });
}

void list_names(
    fuse_req_t request, fuse_ino_t, std::size_t size, off_t offset, fuse_file_info* info) {
  list(request, info, {size, offset}, Detail::kNames);
}

void list_with_attributes(
    fuse_req_t request, fuse_ino_t, std::size_t size, off_t offset, fuse_file_info* info) {
  list(request, info, {size, offset}, Detail::kNamesAndAttributes);
}

void release_folder(fuse_req_t request, fuse_ino_t, fuse_file_info* info) {
  const std::unique_ptr<OpenFolder> folder(&open_folder_of(info));
  fuse_reply_err(request, 0);
}

void sync_folder(fuse_req_t request, fuse_ino_t, int, fuse_file_info* info) {
  const Call call(request);
  const OpenFolder& folder = open_folder_of(info);
  if (const int bad = call.file_system().faults.on_sync(folder.inode->id()); bad != 0)
    return call.fail(bad);
  Recording recording(call.file_system().recorder.get());
  if (call.file_system().settings.syncing == Syncing::kKept &&
      ::fsync(::dirfd(folder.stream.get())) != 0) {
    return call.fail(errno);
  }
  recording.keep({.kind = RecordKind::kFsyncFolder, .file = folder.inode->id()});
  call.result(recording.failure());
}

}  // namespace

void add_folder_operations(fuse_lowlevel_ops& operations) {
  operations.opendir = open_folder;
  operations.readdir = list_names;
  operations.readdirplus = list_with_attributes;
  operations.releasedir = release_folder;
  operations.fsyncdir = sync_folder;
}

}  // namespace forebay::emufs

// SPDX-License-Identifier: Apache-2.0
// Listing directories. Each reply of a listing has a cost; opening and closing a directory cost
// nothing.
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

struct CloseDirectory {
  void operator()(DIR* directory) const noexcept { ::closedir(directory); }
};

struct OpenDirectory {
  std::unique_ptr<DIR, CloseDirectory> stream;
  Inode* inode = nullptr;
  off_t offset = 0;
  const dirent* next = nullptr;  ///< read already, but too long for the last reply
  std::mutex mutex;
};

OpenDirectory& open_directory_of(const fuse_file_info* info) {
  return *reinterpret_cast<OpenDirectory*>(info->fh);
}

void open_directory(fuse_req_t request, fuse_ino_t node, fuse_file_info* info) {
  const Call call(request);
  Inode& inode = call.inode(node);
  const int descriptor = ::openat(inode.fd(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return call.fail(errno);
  auto directory = std::make_unique<OpenDirectory>();
  directory->stream.reset(::fdopendir(descriptor));
  if (!directory->stream) {
    const int problem = errno;
    ::close(descriptor);
    return call.fail(problem);
  }
  directory->inode = &inode;
  info->fh = reinterpret_cast<std::uint64_t>(directory.get());
  if (fuse_reply_open(request, info) == 0) release_to_kernel(directory);
}

/// The entry at the stream's position, null at the end or after a failure; errno is 0 at the end.
const dirent* peek(OpenDirectory& directory) {
  if (directory.next == nullptr) {
    errno = 0;
    directory.next = ::readdir(directory.stream.get());
  }
  return directory.next;
}

bool is_dots(const char* name) {
  return std::strcmp(name, ".") == 0 || std::strcmp(name, "..") == 0;
}

enum class Detail : std::uint8_t { kNames, kNamesAndAttributes };

/// A reply of a listing under construction. Its lookups are forgotten if it is not sent.
struct Page {
  std::string bytes;
  std::size_t used = 0;
  std::vector<Inode*> counted;
};

bool add_name(const Call& call, const dirent& entry, Page& page) {
  struct stat attributes{};
  attributes.st_ino = entry.d_ino;
  attributes.st_mode = static_cast<mode_t>(entry.d_type) << 12U;
  const std::size_t space = page.bytes.size() - page.used;
  const std::size_t size = fuse_add_direntry(call.request(), page.bytes.data() + page.used, space,
                                             entry.d_name, &attributes, entry.d_off);
  if (size > space) return false;
  page.used += size;
  return true;
}

bool add_with_attributes(const Call& call,
                         OpenDirectory& directory,
                         const dirent& entry,
                         Page& page) {
  fuse_entry_param described{};
  described.attr.st_ino = entry.d_ino;
  described.attr.st_mode = static_cast<mode_t>(entry.d_type) << 12U;
  Inode* counted = nullptr;
  if (!is_dots(entry.d_name)) {
    if (const auto found = call.file_system().inodes.find(*directory.inode, entry.d_name)) {
      described = entry_of(call.file_system(), *found);
      counted = found->inode;
      counted->set_name_hash(
          call.name_request(RequestKind::kStat, *directory.inode, entry.d_name).name);
    }
  }
  const std::size_t space = page.bytes.size() - page.used;
  const std::size_t size = fuse_add_direntry_plus(call.request(), page.bytes.data() + page.used,
                                                  space, entry.d_name, &described, entry.d_off);
  if (size > space) {
    if (counted != nullptr) call.file_system().inodes.forget(*counted, 1);
    return false;
  }
  if (counted != nullptr) page.counted.push_back(counted);
  page.used += size;
  return true;
}

/// Fills a page from the stream's position. Returns an errno only if a failure left the page empty.
int fill(const Call& call, OpenDirectory& directory, Detail detail, Page& page) {
  while (const dirent* entry = peek(directory)) {
    const bool fits = detail == Detail::kNames ? add_name(call, *entry, page)
                                               : add_with_attributes(call, directory, *entry, page);
    if (!fits) return 0;
    directory.offset = entry->d_off;
    directory.next = nullptr;
  }
  return page.used == 0 ? errno : 0;
}

struct Place {
  std::size_t size = 0;
  off_t offset = 0;
};

void list(fuse_req_t request, fuse_file_info* info, Place place, Detail detail) {
  const Call call(request);
  OpenDirectory& directory = open_directory_of(info);
  Page page{.bytes = std::string(place.size, '\0')};
  {
    const std::lock_guard lock(directory.mutex);
    if (place.offset != directory.offset) {
      ::seekdir(directory.stream.get(), place.offset);
      directory.next = nullptr;
      directory.offset = place.offset;
    }
    if (const int problem = fill(call, directory, detail, page); problem != 0) {
      return call.fail(problem);
    }
  }
  Inodes& inodes = call.file_system().inodes;
  const auto forget_all = [&inodes](const Page& unsent) {
    for (Inode* inode : unsent.counted)
      inodes.forget(*inode, 1);
  };
  auto shared = std::make_shared<Page>(std::move(page));
  call.reply(
      call.inode_request(RequestKind::kStat, *directory.inode),
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

void release_directory(fuse_req_t request, fuse_ino_t, fuse_file_info* info) {
  const std::unique_ptr<OpenDirectory> directory(&open_directory_of(info));
  fuse_reply_err(request, 0);
}

void sync_directory(fuse_req_t request, fuse_ino_t, int, fuse_file_info* info) {
  const Call call(request);
  const OpenDirectory& directory = open_directory_of(info);
  if (const int error_number = call.file_system().faults.sync_error(directory.inode->id());
      error_number != 0)
    return call.fail(error_number);
  Recording recording(call.file_system().recorder.get());
  if (call.file_system().settings.sync_mode == SyncMode::kEnabled &&
      ::fsync(::dirfd(directory.stream.get())) != 0) {
    return call.fail(errno);
  }
  recording.append({.kind = RecordKind::kFsyncDirectory, .file = directory.inode->id()});
  call.reply_result(call.inode_request(RequestKind::kSyncDirectory, *directory.inode),
                    recording.failure());
}

}  // namespace

void add_directory_operations(fuse_lowlevel_ops& operations) {
  operations.opendir = open_directory;
  operations.readdir = list_names;
  operations.readdirplus = list_with_attributes;
  operations.releasedir = release_directory;
  operations.fsyncdir = sync_directory;
}

}  // namespace forebay::emufs

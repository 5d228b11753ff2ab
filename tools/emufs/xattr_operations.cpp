// SPDX-License-Identifier: Apache-2.0
// Extended attributes: those of the backing file, and those by which programs read and change the
// emulation (layouts of files, and at the root statistics and faults).
#include <cerrno>
#include <string>
#include <string_view>

#include <sys/xattr.h>

#include "tools/emufs/call.hpp"
#include "tools/emufs/caller_rights.hpp"
#include "tools/emufs/control.hpp"

namespace forebay::emufs {

namespace {

using model::RequestKind;

constexpr std::string_view kPrefix = "user.emufs.";
constexpr std::size_t kXattrBytesMax = 65536;  // the kernel's XATTR_SIZE_MAX
constexpr std::size_t kListBytesMax = 65536;   // the kernel's XATTR_LIST_MAX

bool is_layout(std::string_view name) {
  return name == "layout" || name == "stripe_bytes" || name == "stripe_count" ||
         name == "first_server";
}

/// Replies with a value, or with its length if `size` is 0.
void reply_value(const Call& call, std::string_view value, std::size_t size) {
  if (size == 0) {
    fuse_reply_xattr(call.request(), value.size());
  } else if (value.size() > size) {
    call.fail(ERANGE);
  } else {
    fuse_reply_buf(call.request(), value.data(), value.size());
  }
}

void get_emufs_value(const Call& call, Inode& inode, std::string_view name, std::size_t size) {
  ErrnoResult<std::string> value = errno_failure(ENODATA);
  if (is_layout(name)) {
    value = call.file_system().layouts.get(inode, name);
  } else if (name == "machine") {
    value = call.file_system().settings.machine_text;
    if (value->size() > kXattrBytesMax) value = errno_failure(E2BIG);
  } else if (&inode == &call.file_system().inodes.root()) {
    value = control_value(call.file_system(), name);
  }
  if (!value) return call.fail(value.error());
  reply_value(call, *value, size);
}

void get(fuse_req_t request, fuse_ino_t node, const char* name, std::size_t size) {
  const Call call(request);
  Inode& inode = call.inode(node);
  const std::string_view word(name);
  if (word.starts_with(kPrefix))
    return get_emufs_value(call, inode, word.substr(kPrefix.size()), size);
  if (inode.kind() == S_IFLNK) return call.fail(ENODATA);
  std::string value(kXattrBytesMax, '\0');
  const auto got = ::getxattr(inode.path().c_str(), name, value.data(), value.size());
  if (got < 0) return call.fail(errno);
  reply_value(call, std::string_view(value).substr(0, static_cast<std::size_t>(got)), size);
}

int set_emufs_value(const Call& call, Inode& inode, std::string_view name, std::string_view value) {
  if (name == "layout") return EACCES;
  if (is_layout(name)) return call.file_system().layouts.set(inode, name, value);
  if (&inode != &call.file_system().inodes.root()) return EACCES;
  // A fault has the path of a file: the caller must be able to reach that file.
  const CallerRights rights(call);
  return control(call.file_system(), name, value);
}

// NOLINTNEXTLINE(readability-function-size): libfuse defines the parameters
void set(fuse_req_t request,
         fuse_ino_t node,
         const char* name,
         const char* value,
         std::size_t size,
         int flags) {
  const Call call(request);
  Inode& inode = call.inode(node);
  const std::string_view word(name);
  if (word.starts_with(kPrefix)) {
    return call.result(set_emufs_value(call, inode, word.substr(kPrefix.size()), {value, size}));
  }
  if (inode.kind() == S_IFLNK) return call.fail(EPERM);
  {
    Recording recording(call.file_system().recorder.get());
    if (::setxattr(inode.path().c_str(), name, value, size, flags) != 0) return call.fail(errno);
    recording.append({.kind = RecordKind::kSetXattr,
                      .file = inode.id(),
                      .name = name,
                      .data = std::string(value, size)});
  }
  call.reply_result(call.inode_request(RequestKind::kStat, inode), 0);
}

void remove(fuse_req_t request, fuse_ino_t node, const char* name) {
  const Call call(request);
  Inode& inode = call.inode(node);
  const std::string_view word(name);
  if (word.starts_with(kPrefix)) {
    const bool layout = is_layout(word.substr(kPrefix.size()));
    return call.result(layout ? call.file_system().layouts.remove(inode) : EACCES);
  }
  if (inode.kind() == S_IFLNK) return call.fail(ENODATA);
  {
    Recording recording(call.file_system().recorder.get());
    if (::removexattr(inode.path().c_str(), name) != 0) return call.fail(errno);
    recording.append({.kind = RecordKind::kRemoveXattr, .file = inode.id(), .name = name});
  }
  call.reply_result(call.inode_request(RequestKind::kStat, inode), 0);
}

/// Removes the names of emufs: copies of files would take them along.
std::string without_emufs_names(std::string_view names) {
  std::string kept;
  while (!names.empty()) {
    const std::string_view name = names.substr(0, names.find('\0'));
    names.remove_prefix(std::min(name.size() + 1, names.size()));
    if (!name.starts_with(kPrefix)) kept.append(name).push_back('\0');
  }
  return kept;
}

void list(fuse_req_t request, fuse_ino_t node, std::size_t size) {
  const Call call(request);
  const Inode& inode = call.inode(node);
  if (inode.kind() == S_IFLNK) return reply_value(call, "", size);
  std::string names(kListBytesMax, '\0');
  const auto got = ::listxattr(inode.path().c_str(), names.data(), names.size());
  if (got < 0) return call.fail(errno);
  names.resize(static_cast<std::size_t>(got));
  reply_value(call, without_emufs_names(names), size);
}

}  // namespace

void add_xattr_operations(fuse_lowlevel_ops& operations) {
  operations.getxattr = get;
  operations.setxattr = set;
  operations.removexattr = remove;
  operations.listxattr = list;
}

}  // namespace forebay::emufs

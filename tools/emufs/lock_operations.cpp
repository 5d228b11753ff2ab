// SPDX-License-Identifier: Apache-2.0
// fcntl and flock between several clients, as on a cluster file system mounted with `-o flock`.
// With one client the kernel handles them without requests.
#include <fcntl.h>
#include <sys/file.h>

#include "tools/emufs/call.hpp"

namespace forebay::emufs {

namespace {

LockKind kind_of(int fcntl_type) {
  if (fcntl_type == F_UNLCK) return LockKind::kNone;
  return fcntl_type == F_RDLCK ? LockKind::kShared : LockKind::kExclusive;
}

/// The kernel has made all ranges absolute; a length of 0 means to the end.
FileLock lock_of(const Call& call, const fuse_file_info& info, const struct flock& range) {
  const auto begin = static_cast<std::uint64_t>(range.l_start);
  const auto length = static_cast<std::uint64_t>(range.l_len);
  return {.type = LockType::kPosix,
          .kind = kind_of(range.l_type),
          .owner = {call.client().number(), info.lock_owner},
          .handle = info.fh,
          .process = range.l_pid,
          .begin = begin,
          .end = length == 0 ? kFileEnd : begin + length};
}

void on_interrupt(fuse_req_t request, void* ticket) {
  Call(request).file_system().file_locks.interrupt(reinterpret_cast<Ticket>(ticket));
}

/// Replies with success. As with NFS, the holder of a lock sees what others wrote before they
/// released it.
void reply_locked(fuse_req_t request, Inode& inode) {
  const Call call(request);
  EmulatedFileSystem& file_system = call.file_system();
  const model::ClientId client = call.client().number();
  if (!file_system.is_close_to_open() || inode.record_open(client)) return call.done();
  file_system.scheduler->invalidate_then(client, inode.id(),
                                         [request] { fuse_reply_err(request, 0); });
}

void wait_for(const Call& call, Inode& inode, const FileLock& wanted) {
  EmulatedFileSystem& file_system = call.file_system();
  const fuse_req_t request = call.request();
  const Ticket ticket = ++file_system.last_ticket;
  // Before the wait: the lock may be granted, the reply sent and the request freed at once.
  fuse_req_interrupt_func(request, on_interrupt, reinterpret_cast<void*>(ticket));
  auto reply = make_reply([request, &inode] { reply_locked(request, inode); },
                          [request](int error) { fuse_reply_err(request, error); });
  file_system.file_locks.wait(inode.id(), wanted, {.ticket = ticket, .reply = std::move(reply)},
                              [request] { return fuse_req_interrupted(request) != 0; });
}

void set(const Call& call, Inode& inode, const FileLock& wanted, int is_blocking) {
  const bool is_acquire = wanted.kind != LockKind::kNone;
  if (is_blocking != 0 && is_acquire) return wait_for(call, inode, wanted);
  const int result = call.file_system().file_locks.set(inode.id(), wanted);
  if (result == 0 && is_acquire) return reply_locked(call.request(), inode);
  call.result(result);
}

void set_lock(fuse_req_t request,
              fuse_ino_t node,
              fuse_file_info* info,
              struct flock* range,
              int is_blocking) {
  const Call call(request);
  set(call, call.inode(node), lock_of(call, *info, *range), is_blocking);
}

void get_lock(fuse_req_t request, fuse_ino_t node, fuse_file_info* info, struct flock* range) {
  const Call call(request);
  const auto other = call.file_system().file_locks.find_conflict(call.inode(node).id(),
                                                                 lock_of(call, *info, *range));
  range->l_type = F_UNLCK;
  if (other) {
    range->l_type = other->kind == LockKind::kShared ? F_RDLCK : F_WRLCK;
    range->l_start = static_cast<off_t>(other->begin);
    range->l_len = other->end == kFileEnd ? 0 : static_cast<off_t>(other->end - other->begin);
    range->l_pid = other->process;
  }
  fuse_reply_lock(request, range);
}

void flock_file(fuse_req_t request, fuse_ino_t node, fuse_file_info* info, int operation) {
  const Call call(request);
  const int kind = operation & ~LOCK_NB;
  const FileLock wanted{.type = LockType::kFlock,
                        .kind = kind == LOCK_UN   ? LockKind::kNone
                                : kind == LOCK_SH ? LockKind::kShared
                                                  : LockKind::kExclusive,
                        .owner = {call.client().number(), info->lock_owner},
                        .handle = info->fh,
                        .process = call.thread()};
  set(call, call.inode(node), wanted, (operation & LOCK_NB) == 0 ? 1 : 0);
}

}  // namespace

void add_lock_operations(fuse_lowlevel_ops& operations) {
  operations.setlk = set_lock;
  operations.getlk = get_lock;
  operations.flock = flock_file;
}

}  // namespace forebay::emufs

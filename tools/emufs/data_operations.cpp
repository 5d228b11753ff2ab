// SPDX-License-Identifier: Apache-2.0
// Operations on the bytes of files. The backing file is read or written at once, so that requests
// take effect in order of arrival. The reply waits for the servers that hold the bytes.
#include <algorithm>
#include <cerrno>
#include <string>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/emufs/call.hpp"

namespace forebay::emufs {

namespace {

using model::RequestKind;

ByteRange range_of(off_t offset, std::size_t size) {
  return {static_cast<std::uint64_t>(offset), size};
}

ErrnoResult<std::size_t> read_all(int file, char* into, ByteRange range) {
  std::size_t done = 0;
  while (done < range.size) {
    const auto at = static_cast<off_t>(range.offset + done);
    const ssize_t got = ::pread(file, into + done, range.size - done, at);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno_failure(errno);
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  return done;
}

/// Orders reads and writes of an inode: reads are shared, writes are exclusive. The inode stays
/// alive until the lock is released, which is after the reply.
template <class Lock>
struct InodeLock {
  std::shared_ptr<Inode> inode;
  Lock lock;
};

/// Takes no lock where the order is not observable.
template <class Lock>
InodeLock<Lock> lock_inode(const Call& call, Inode& inode) {
  if (!call.file_system().has_coherent_caches()) return {};
  return {inode.shared_from_this(), Lock(inode.request_lock())};
}

using ReadLock = std::shared_lock<std::shared_mutex>;
using WriteLock = std::unique_lock<std::shared_mutex>;

/// With several clients always: the end of the file must not move during an append.
InodeLock<WriteLock> lock_for_write(const Call& call, Inode& inode) {
  if (!call.file_system().has_several_clients()) return {};
  return {inode.shared_from_this(), WriteLock(inode.request_lock())};
}

/// A single client's kernel has the present end of a file; with several clients, it has the end at
/// its last request. The kernel's write-back of mapped pages has explicit offsets.
bool is_append(const Call& call, const fuse_file_info& info) {
  return (info.flags & O_APPEND) != 0 && info.writepage == 0 &&
         call.file_system().has_several_clients();
}

ErrnoResult<off_t> end_of(const OpenFile& file) {
  struct stat now{};
  if (::fstat(file.descriptor.get(), &now) != 0) return errno_failure(errno);
  return now.st_size;
}

void read(fuse_req_t request, fuse_ino_t, std::size_t size, off_t offset, fuse_file_info* info) {
  const Call call(request);
  EmulatedFileSystem& file_system = call.file_system();
  const OpenFile& file = Call::open_file(info);
  const ByteRange range = range_of(offset, size);
  const int fault = file_system.faults.read_error(file.inode->id(), range);
  if (fault != 0) return call.fail(fault);
  const auto inode_lock = lock_inode<ReadLock>(call, *file.inode);
  auto buffer = file_system.buffers.acquire(std::max<std::size_t>(size, 1));
  const auto got = read_all(file.descriptor.get(), buffer.get(), range);
  if (!got) return call.fail(got.error());
  // Past the end of the file the kernel caches zeros for the whole range. A write of another client
  // there must invalidate them, so the lock covers them, too. Only existing bytes have a cost.
  auto cost = call.data_request(RequestKind::kRead, *file.inode, {range.offset, *got});
  if (file_system.has_coherent_caches()) cost.locked_bytes = size;
  call.reply(cost, [request, got = *got, buffer = std::move(buffer)] {
    fuse_reply_buf(request, buffer.get(), got);
  });
}

/// Bytes from a pipe must be in memory to be recorded.
ssize_t copy_to_memory(fuse_bufvec& bytes, std::string& memory) {
  memory.resize(fuse_buf_size(&bytes));
  fuse_bufvec target = FUSE_BUFVEC_INIT(memory.size());
  target.buf[0].mem = memory.data();
  return fuse_buf_copy(&target, &bytes, fuse_buf_copy_flags{});
}

ssize_t copy_to_file(fuse_bufvec& bytes, int file, off_t offset) {
  fuse_bufvec target = FUSE_BUFVEC_INIT(fuse_buf_size(&bytes));
  target.buf[0].flags =
      static_cast<fuse_buf_flags>(FUSE_BUF_IS_FD | FUSE_BUF_FD_SEEK | FUSE_BUF_FD_RETRY);
  target.buf[0].fd = file;
  target.buf[0].pos = offset;
  return fuse_buf_copy(&target, &bytes, fuse_buf_copy_flags{});
}

ssize_t write_recorded(Recording& recording,
                       const OpenFile& file,
                       std::string memory,
                       off_t offset) {
  fuse_bufvec source = FUSE_BUFVEC_INIT(memory.size());
  source.buf[0].mem = memory.data();
  const ssize_t written = copy_to_file(source, file.descriptor.get(), offset);
  if (written <= 0) return written;
  memory.resize(static_cast<std::size_t>(written));
  recording.append({.kind = RecordKind::kWrite,
                    .file = file.inode->id(),
                    .offset = static_cast<std::uint64_t>(offset),
                    .data = std::move(memory)});
  return written;
}

ssize_t write_backing(const Call& call, const OpenFile& file, fuse_bufvec& bytes, off_t offset) {
  Recording recording(call.file_system().recorder.get());
  if (!recording.is_enabled()) return copy_to_file(bytes, file.descriptor.get(), offset);
  std::string memory;
  const ssize_t taken = copy_to_memory(bytes, memory);
  if (taken < 0) return taken;
  memory.resize(static_cast<std::size_t>(taken));
  return write_recorded(recording, file, std::move(memory), offset);
}

/// Whether a write must be durable when it returns, by its descriptor's flags (O_DSYNC, which is
/// part of O_SYNC) or its own (RWF_DSYNC).
bool is_durable(const OpenFile& file, int flags) {
  return ((::fcntl(file.descriptor.get(), F_GETFL) | flags) & O_DSYNC) != 0;
}

/// Cost of a write that has changed these bytes.
model::Request write_request(const Call& call, const OpenFile& file, ByteRange range, int flags) {
  model::Request cost = call.data_request(RequestKind::kWrite, *file.inode, range);
  cost.is_durable = is_durable(file, flags);
  return cost;
}

/// Syncs the backing file after a durable write. Returns the errno, or 0.
int sync_if_required(const Call& call, const OpenFile& file, int flags) {
  if (!is_durable(file, flags)) return 0;
  const int descriptor = file.descriptor.get();
  const int opened_with = ::fcntl(descriptor, F_GETFL);
  const int all = opened_with | flags;
  if (const int error_number = call.file_system().faults.sync_error(file.inode->id());
      error_number != 0)
    return error_number;
  Recording recording(call.file_system().recorder.get());
  // The flags of the backing file's descriptor have caused a sync already.
  const bool synced = (opened_with & O_DSYNC) != 0;
  const bool kept = call.file_system().settings.sync_mode == SyncMode::kEnabled;
  if (kept && !synced && ::fdatasync(descriptor) != 0) return errno;
  recording.append({.kind = (all & O_SYNC) == O_SYNC ? RecordKind::kFsync : RecordKind::kFdatasync,
                    .file = file.inode->id()});
  return recording.failure();
}

void write(fuse_req_t request, fuse_ino_t, fuse_bufvec* bytes, off_t offset, fuse_file_info* info) {
  const Call call(request);
  const OpenFile& file = Call::open_file(info);
  if (fuse_buf_size(bytes) == 0) {
    fuse_reply_write(request, 0);
    return;
  }
  const auto inode_lock = lock_for_write(call, *file.inode);
  if (is_append(call, *info)) {
    const auto end = end_of(file);
    if (!end) return call.fail(end.error());
    offset = *end;
  }
  const ByteRange range = range_of(offset, fuse_buf_size(bytes));
  const auto check = call.file_system().faults.check_write(file.inode->id(), range, call.user());
  if (check.error_number != 0) return call.fail(check.error_number);
  bytes->buf[0].size = check.bytes;
  const ssize_t written = write_backing(call, file, *bytes, offset);
  if (written < 0) return call.fail(static_cast<int>(-written));
  call.record_change(*file.inode);
  if (const int result = sync_if_required(call, file, info->flags); result != 0)
    return call.fail(result);
  if (const int result = clear_set_user_id_recorded(call, *file.inode); result != 0) {
    return call.fail(result);
  }
  const auto count = static_cast<std::size_t>(written);
  call.reply(write_request(call, file, {range.offset, count}, info->flags),
             [request, count] { fuse_reply_write(request, count); });
}

void sync(fuse_req_t request, fuse_ino_t, int data_only, fuse_file_info* info) {
  const Call call(request);
  const OpenFile& file = Call::open_file(info);
  if (const int error_number = call.file_system().faults.sync_error(file.inode->id());
      error_number != 0)
    return call.fail(error_number);
  Recording recording(call.file_system().recorder.get());
  int result = 0;
  if (call.file_system().settings.sync_mode == SyncMode::kEnabled) {
    const int descriptor = file.descriptor.get();
    result = data_only != 0 ? ::fdatasync(descriptor) : ::fsync(descriptor);
  }
  if (result != 0) return call.fail(errno);
  recording.append({.kind = data_only != 0 ? RecordKind::kFdatasync : RecordKind::kFsync,
                    .file = file.inode->id()});
  call.reply_result(call.data_request(RequestKind::kSync, *file.inode, {}), recording.failure());
}

// NOLINTNEXTLINE(readability-function-size): libfuse defines the parameters
void allocate(
    fuse_req_t request, fuse_ino_t, int mode, off_t offset, off_t length, fuse_file_info* info) {
  Call call(request);
  const OpenFile& file = Call::open_file(info);
  {
    Recording recording(call.file_system().recorder.get());
    if (::fallocate(file.descriptor.get(), mode, offset, length) != 0) return call.fail(errno);
    recording.append({.kind = RecordKind::kFallocate,
                      .file = file.inode->id(),
                      .offset = static_cast<std::uint64_t>(offset),
                      .size = static_cast<std::uint64_t>(length),
                      .mode = static_cast<std::uint32_t>(mode)});
  }
  call.record_change(*file.inode);
  call.invalidate_other_clients(*file.inode);
  call.reply_result(call.inode_request(RequestKind::kStat, *file.inode), 0);
}

/// While recording, a copy goes through memory, so that the record has the bytes that were written.
/// It may be short, because a record is bounded; programs continue with the rest. Returns the bytes
/// copied, or a negative errno.
ssize_t copy_recorded(Recording& recording,
                      const OpenFile& from,
                      off_t from_offset,
                      const OpenFile& to,
                      ByteRange range) {
  constexpr std::size_t kCopyBytesMax = 16U << 20U;
  static_assert(kCopyBytesMax <= kRecordDataBytesMax);
  std::string bytes(std::min<std::size_t>(range.size, kCopyBytesMax), '\0');
  const auto got =
      read_all(from.descriptor.get(), bytes.data(), range_of(from_offset, bytes.size()));
  if (!got) return -got.error();
  bytes.resize(*got);
  return write_recorded(recording, to, std::move(bytes), static_cast<off_t>(range.offset));
}

// NOLINTNEXTLINE(readability-function-size): libfuse defines the parameters
void copy_range(fuse_req_t request,
                fuse_ino_t,
                off_t from_offset,
                fuse_file_info* from_info,
                fuse_ino_t,
                off_t to_offset,
                fuse_file_info* to_info,
                std::size_t size,
                int flags) {
  const Call call(request);
  const OpenFile& from = Call::open_file(from_info);
  const OpenFile& to = Call::open_file(to_info);
  Faults& faults = call.file_system().faults;
  const int fault = faults.read_error(from.inode->id(), range_of(from_offset, size));
  if (fault != 0) return call.fail(fault);
  const auto check = faults.check_write(
      to.inode->id(), range_of(to_offset, std::max<std::size_t>(size, 1)), call.user());
  if (check.error_number != 0) return call.fail(check.error_number);
  const auto inode_lock = lock_for_write(call, *to.inode);
  ssize_t copied = 0;
  ByteRange range = range_of(to_offset, 0);
  {
    Recording recording(call.file_system().recorder.get());
    range.size = std::min<std::size_t>(size, check.bytes);
    if (recording.is_enabled()) {
      copied = copy_recorded(recording, from, from_offset, to, range);
    } else {
      copied = ::copy_file_range(from.descriptor.get(), &from_offset, to.descriptor.get(),
                                 &to_offset, range.size, static_cast<unsigned>(flags));
      if (copied < 0) copied = -errno;
    }
  }
  if (copied < 0) return call.fail(static_cast<int>(-copied));
  range.size = static_cast<std::uint64_t>(copied);
  call.record_change(*to.inode);
  if (const int result = sync_if_required(call, to, 0); result != 0) return call.fail(result);
  call.reply(write_request(call, to, range, 0),
             [request, copied] { fuse_reply_write(request, static_cast<std::size_t>(copied)); });
}

void seek(fuse_req_t request, fuse_ino_t, off_t offset, int whence, fuse_file_info* info) {
  const Call call(request);
  const off_t result = ::lseek(Call::open_file(info).descriptor.get(), offset, whence);
  if (result < 0) return call.fail(errno);
  fuse_reply_lseek(request, result);
}

}  // namespace

void add_data_operations(fuse_lowlevel_ops& operations) {
  operations.read = read;
  operations.write_buf = write;
  operations.fsync = sync;
  operations.fallocate = allocate;
  operations.copy_file_range = copy_range;
  operations.lseek = seek;
}

}  // namespace forebay::emufs

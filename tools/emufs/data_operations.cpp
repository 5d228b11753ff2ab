// SPDX-License-Identifier: Apache-2.0
// Operations on the bytes of files. The backing file is read or written at once, so that the order
// of requests is that of their arrival; the answer waits for the servers that hold the bytes.
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

Outcome<std::size_t> read_all(int file, char* into, ByteRange range) {
  std::size_t done = 0;
  while (done < range.size) {
    const auto at = static_cast<off_t>(range.offset + done);
    const ssize_t got = ::pread(file, into + done, range.size - done, at);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fails(errno);
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  return done;
}

/// Reads in the order of writes, and one write after another. The inode stays until the order ends,
/// which is after the answer.
template <class Lock>
struct Order {
  std::shared_ptr<Inode> inode;
  Lock lock;
};

/// None where nobody can tell.
template <class Lock>
Order<Lock> in_order(const Call& call, Inode& inode) {
  if (!call.file_system().has_shared_caches()) return {};
  return {inode.shared_from_this(), Lock(inode.order())};
}

using ReadOrder = std::shared_lock<std::shared_mutex>;
using WriteOrder = std::unique_lock<std::shared_mutex>;

/// With several clients always: where a file ends is nobody else's matter while one appends.
Order<WriteOrder> write_order(const Call& call, Inode& inode) {
  if (!call.file_system().has_several_clients()) return {};
  return {inode.shared_from_this(), WriteOrder(inode.order())};
}

/// One client's kernel knows where a file ends; one of several knows where it ended when it last
/// asked. The kernel's writing back of mapped pages is at offsets of its own.
bool appends(const Call& call, const fuse_file_info& info) {
  return (info.flags & O_APPEND) != 0 && info.writepage == 0 &&
         call.file_system().has_several_clients();
}

Outcome<off_t> end_of(const OpenFile& file) {
  struct stat now{};
  if (::fstat(file.descriptor.get(), &now) != 0) return fails(errno);
  return now.st_size;
}

void read(fuse_req_t request, fuse_ino_t, std::size_t size, off_t offset, fuse_file_info* info) {
  const Call call(request);
  FileSystem& file_system = call.file_system();
  const OpenFile& file = Call::open_file(info);
  const ByteRange range = range_of(offset, size);
  const int fault = file_system.faults.on_read(file.inode->id(), range);
  if (fault != 0) return call.fail(fault);
  const auto order = in_order<ReadOrder>(call, *file.inode);
  auto buffer = file_system.buffers.take(std::max<std::size_t>(size, 1));
  const auto got = read_all(file.descriptor.get(), buffer.get(), range);
  if (!got) return call.fail(got.error());
  // Past the end of the file the kernel keeps zeros of the whole range: another client's write
  // there must take them away, so the lock covers them, too. Only bytes that are there cost.
  auto cost = call.on_bytes(RequestKind::kRead, *file.inode, {range.offset, *got});
  if (file_system.has_shared_caches()) cost.locked_bytes = size;
  call.answer(cost, [request, got = *got, buffer = std::move(buffer)] {
    fuse_reply_buf(request, buffer.get(), got);
  });
}

/// What comes through a pipe must be in memory to be recorded.
ssize_t into_memory(fuse_bufvec& bytes, std::string& memory) {
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
  recording.keep({.kind = RecordKind::kWrite,
                  .file = file.inode->id(),
                  .offset = static_cast<std::uint64_t>(offset),
                  .data = std::move(memory)});
  return written;
}

ssize_t write_backing(const Call& call, const OpenFile& file, fuse_bufvec& bytes, off_t offset) {
  Recording recording(call.file_system().recorder.get());
  if (!recording.is_on()) return copy_to_file(bytes, file.descriptor.get(), offset);
  std::string memory;
  const ssize_t taken = into_memory(bytes, memory);
  if (taken < 0) return taken;
  memory.resize(static_cast<std::size_t>(taken));
  return write_recorded(recording, file, std::move(memory), offset);
}

/// After a write that is to be safe when it returns, by its descriptor's flags (O_DSYNC, which is
/// part of O_SYNC) or its own (RWF_DSYNC). The errno, or 0.
int make_safe(const Call& call, const OpenFile& file, int flags) {
  const int descriptor = file.descriptor.get();
  const int opened_with = ::fcntl(descriptor, F_GETFL);
  const int all = opened_with | flags;
  if ((all & O_DSYNC) == 0) return 0;
  if (const int bad = call.file_system().faults.on_sync(file.inode->id()); bad != 0) return bad;
  Recording recording(call.file_system().recorder.get());
  // The backing file has synced by the flags that it was opened with.
  const bool synced = (opened_with & O_DSYNC) != 0;
  const bool kept = call.file_system().settings.syncing == Syncing::kKept;
  if (kept && !synced && ::fdatasync(descriptor) != 0) return errno;
  recording.keep({.kind = (all & O_SYNC) == O_SYNC ? RecordKind::kFsync : RecordKind::kFdatasync,
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
  const auto order = write_order(call, *file.inode);
  if (appends(call, *info)) {
    const auto end = end_of(file);
    if (!end) return call.fail(end.error());
    offset = *end;
  }
  const ByteRange range = range_of(offset, fuse_buf_size(bytes));
  const auto verdict = call.file_system().faults.on_write(file.inode->id(), range, call.user());
  if (verdict.error_number != 0) return call.fail(verdict.error_number);
  bytes->buf[0].size = verdict.bytes;
  const ssize_t written = write_backing(call, file, *bytes, offset);
  if (written < 0) return call.fail(static_cast<int>(-written));
  call.note_change(*file.inode);
  if (const int result = make_safe(call, file, info->flags); result != 0) return call.fail(result);
  if (const int result = without_set_user_id(call, *file.inode); result != 0) {
    return call.fail(result);
  }
  const auto count = static_cast<std::size_t>(written);
  call.answer(call.on_bytes(RequestKind::kWrite, *file.inode, {range.offset, count}),
              [request, count] { fuse_reply_write(request, count); });
}

void sync(fuse_req_t request, fuse_ino_t, int data_only, fuse_file_info* info) {
  const Call call(request);
  const OpenFile& file = Call::open_file(info);
  if (const int bad = call.file_system().faults.on_sync(file.inode->id()); bad != 0)
    return call.fail(bad);
  Recording recording(call.file_system().recorder.get());
  int result = 0;
  if (call.file_system().settings.syncing == Syncing::kKept) {
    const int descriptor = file.descriptor.get();
    result = data_only != 0 ? ::fdatasync(descriptor) : ::fsync(descriptor);
  }
  if (result != 0) return call.fail(errno);
  recording.keep({.kind = data_only != 0 ? RecordKind::kFdatasync : RecordKind::kFsync,
                  .file = file.inode->id()});
  call.result(recording.failure());
}

// NOLINTNEXTLINE(readability-function-size): libfuse says what the parameters are
void allocate(
    fuse_req_t request, fuse_ino_t, int mode, off_t offset, off_t length, fuse_file_info* info) {
  Call call(request);
  const OpenFile& file = Call::open_file(info);
  {
    Recording recording(call.file_system().recorder.get());
    if (::fallocate(file.descriptor.get(), mode, offset, length) != 0) return call.fail(errno);
    recording.keep({.kind = RecordKind::kFallocate,
                    .file = file.inode->id(),
                    .offset = static_cast<std::uint64_t>(offset),
                    .size = static_cast<std::uint64_t>(length),
                    .mode = static_cast<std::uint32_t>(mode)});
  }
  call.note_change(*file.inode);
  call.forget_pages_of_others(*file.inode);
  call.answer_result(call.on_inode(RequestKind::kStat, *file.inode), 0);
}

/// While somebody records, a copy goes through memory: what is recorded is what was written. It is
/// cut short (programs go on with the rest), as a record holds so much and no more. The bytes
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

// NOLINTNEXTLINE(readability-function-size): libfuse says what the parameters are
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
  const int fault = faults.on_read(from.inode->id(), range_of(from_offset, size));
  if (fault != 0) return call.fail(fault);
  const auto verdict = faults.on_write(
      to.inode->id(), range_of(to_offset, std::max<std::size_t>(size, 1)), call.user());
  if (verdict.error_number != 0) return call.fail(verdict.error_number);
  const auto order = write_order(call, *to.inode);
  ssize_t copied = 0;
  ByteRange range = range_of(to_offset, 0);
  {
    Recording recording(call.file_system().recorder.get());
    range.size = std::min<std::size_t>(size, verdict.bytes);
    if (recording.is_on()) {
      copied = copy_recorded(recording, from, from_offset, to, range);
    } else {
      copied = ::copy_file_range(from.descriptor.get(), &from_offset, to.descriptor.get(),
                                 &to_offset, range.size, static_cast<unsigned>(flags));
      if (copied < 0) copied = -errno;
    }
  }
  if (copied < 0) return call.fail(static_cast<int>(-copied));
  range.size = static_cast<std::uint64_t>(copied);
  call.note_change(*to.inode);
  if (const int result = make_safe(call, to, 0); result != 0) return call.fail(result);
  call.answer(call.on_bytes(RequestKind::kWrite, *to.inode, range),
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

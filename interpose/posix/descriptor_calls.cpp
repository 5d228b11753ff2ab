// SPDX-License-Identifier: Apache-2.0
// Wrappers of calls on descriptors: the real call, then a record. A thread may be cancelled in the
// real call, so nothing here needs to be undone after it.
#undef _FORTIFY_SOURCE
#include <cstdarg>

#include <aio.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "interpose/posix/real.hpp"
#include "interpose/posix/recorder.hpp"
#include "trace/trace_record.hpp"

namespace forebay::interpose {

namespace {

using Open = int (*)(const char*, int, ...);
using OpenAt = int (*)(int, const char*, int, ...);
using Open2 = int (*)(const char*, int);
using OpenAt2 = int (*)(int, const char*, int);
using Creat = int (*)(const char*, mode_t);
using Read = ssize_t (*)(int, void*, size_t);
using ReadChk = ssize_t (*)(int, void*, size_t, size_t);
using Pread = ssize_t (*)(int, void*, size_t, off_t);
using PreadChk = ssize_t (*)(int, void*, size_t, off_t, size_t);
using Readv = ssize_t (*)(int, const iovec*, int);
using Preadv = ssize_t (*)(int, const iovec*, int, off_t);
using Preadv2 = ssize_t (*)(int, const iovec*, int, off_t, int);
using Seek = off_t (*)(int, off_t, int);
using Close = int (*)(int);
using CloseRange = int (*)(unsigned, unsigned, int);
using Dup = int (*)(int);
using Dup2 = int (*)(int, int);
using Dup3 = int (*)(int, int, int);
using Control = int (*)(int, int, ...);
using SendFile = ssize_t (*)(int, int, off_t*, size_t);
using CopyRange = ssize_t (*)(int, off_t*, int, off_t*, size_t, unsigned);
using CloseFrom = void (*)(int);
using Map = void* (*)(void*, size_t, int, int, int, off_t);
template <class Block>
using ReadLater = int (*)(Block*);
template <class Block>
using ListLater = int (*)(int, Block* const*, int, sigevent*);

/// Whether open() has a mode.
bool has_mode(int flags) { return (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE; }

/// A call that opens a file with these flags.
template <class Call>
int open_with(int flags, Call call) {
  const std::uint64_t begin = now_ns();
  const int descriptor = call();
  const int access = flags & O_ACCMODE;
  if (access == O_WRONLY || (flags & (O_PATH | O_DIRECTORY | O_DIRECT)) != 0)
    forget_descriptor(descriptor);
  else
    add_descriptor(descriptor, access == O_RDONLY ? Position::kTracked : Position::kUnknown);
  record_open(descriptor, begin);
  return descriptor;
}

/// A read at the position of the descriptor.
template <class Call>
ssize_t read_here(int descriptor, Call call) {
  const FileNumber file = file_of(descriptor);
  if (file == kNoFile) return call();
  const std::uint64_t begin = now_ns();
  const ssize_t size = call();
  record_read(descriptor, file, begin, size);
  return size;
}

/// A read at an offset.
template <class Call>
ssize_t read_at(int descriptor, off_t offset, Call call) {
  const FileNumber file = file_of(descriptor);
  if (file == kNoFile) return call();
  const std::uint64_t begin = now_ns();
  const ssize_t size = call();
  if (offset >= 0)
    record_read_at(descriptor, file, begin, size, static_cast<std::uint64_t>(offset));
  else
    record_read(descriptor, file, begin, size);  // preadv2() at the position
  return size;
}

/// A transfer in the kernel, from the position or from *offset, which it moves.
template <class Call>
ssize_t transfer(int descriptor, const off_t* offset, Call call) {
  const FileNumber file = file_of(descriptor);
  if (file == kNoFile) return call();
  const std::uint64_t begin = now_ns();
  const ssize_t size = call();
  if (size <= 0) return size;
  if (offset == nullptr)
    record_read(descriptor, file, begin, size);
  else  // a valid address, as the call has succeeded
    record_read_at(descriptor, file, begin, size, static_cast<std::uint64_t>(*offset - size));
  return size;
}

off_t sought(int descriptor, off_t offset) noexcept {
  const FileNumber file = file_of(descriptor);
  if (offset >= 0 && file != kNoFile) set_position(file, static_cast<std::uint64_t>(offset));
  return offset;
}

template <class Block>
void record_later(const Block& request) noexcept {
  record_request(request.aio_fildes, static_cast<std::uint64_t>(request.aio_offset),
                 request.aio_nbytes, 0);
}

[[gnu::constructor]] void start() noexcept { start_recording(); }

}  // namespace

#define FOREBAY_OPEN(name)                                                                   \
  FOREBAY_REAL(Open, name)                                                                   \
  FOREBAY_WRAPPER int name(const char* path, int flags, ...) {                               \
    if (!has_mode(flags)) return open_with(flags, [&] { return real_##name(path, flags); }); \
    va_list arguments;                                                                       \
    va_start(arguments, flags);                                                              \
    const mode_t mode = va_arg(arguments, mode_t);                                           \
    va_end(arguments);                                                                       \
    return open_with(flags, [&] { return real_##name(path, flags, mode); });                 \
  }
#define FOREBAY_OPENAT(name)                                                            \
  FOREBAY_REAL(OpenAt, name)                                                            \
  FOREBAY_WRAPPER int name(int directory, const char* path, int flags, ...) {           \
    if (!has_mode(flags))                                                               \
      return open_with(flags, [&] { return real_##name(directory, path, flags); });     \
    va_list arguments;                                                                  \
    va_start(arguments, flags);                                                         \
    const mode_t mode = va_arg(arguments, mode_t);                                      \
    va_end(arguments);                                                                  \
    return open_with(flags, [&] { return real_##name(directory, path, flags, mode); }); \
  }
FOREBAY_OPEN(open)
FOREBAY_OPEN(open64)
FOREBAY_OPENAT(openat)
FOREBAY_OPENAT(openat64)

#define FOREBAY_OPEN_2(name)                                           \
  FOREBAY_REAL(Open2, name)                                            \
  FOREBAY_WRAPPER int name(const char* path, int flags) {              \
    return open_with(flags, [&] { return real_##name(path, flags); }); \
  }
#define FOREBAY_OPENAT_2(name)                                                    \
  FOREBAY_REAL(OpenAt2, name)                                                     \
  FOREBAY_WRAPPER int name(int directory, const char* path, int flags) {          \
    return open_with(flags, [&] { return real_##name(directory, path, flags); }); \
  }
FOREBAY_OPEN_2(__open_2)
FOREBAY_OPEN_2(__open64_2)
FOREBAY_OPENAT_2(__openat_2)
FOREBAY_OPENAT_2(__openat64_2)

#define FOREBAY_CREAT(name)                                              \
  FOREBAY_REAL(Creat, name)                                              \
  FOREBAY_WRAPPER int name(const char* path, mode_t mode) {              \
    return open_with(O_WRONLY, [&] { return real_##name(path, mode); }); \
  }
FOREBAY_CREAT(creat)
FOREBAY_CREAT(creat64)

#define FOREBAY_READ(name)                                                              \
  FOREBAY_REAL(Read, name)                                                              \
  FOREBAY_WRAPPER ssize_t name(int descriptor, void* into, size_t bytes) {              \
    return read_here(descriptor, [&] { return real_##name(descriptor, into, bytes); }); \
  }
FOREBAY_READ(read)
FOREBAY_READ(__read)

#define FOREBAY_PREAD(name)                                                              \
  FOREBAY_REAL(Pread, name)                                                              \
  FOREBAY_WRAPPER ssize_t name(int descriptor, void* into, size_t bytes, off_t offset) { \
    return read_at(descriptor, offset,                                                   \
                   [&] { return real_##name(descriptor, into, bytes, offset); });        \
  }
FOREBAY_PREAD(pread)
FOREBAY_PREAD(pread64)
FOREBAY_PREAD(__pread64)

FOREBAY_REAL(ReadChk, __read_chk)
FOREBAY_WRAPPER ssize_t __read_chk(int descriptor, void* into, size_t bytes, size_t room) {
  return read_here(descriptor, [&] { return real___read_chk(descriptor, into, bytes, room); });
}

#define FOREBAY_PREAD_CHK(name)                                                         \
  FOREBAY_REAL(PreadChk, name)                                                          \
  FOREBAY_WRAPPER ssize_t name(int descriptor, void* into, size_t bytes, off_t offset,  \
                               size_t room) {                                           \
    return read_at(descriptor, offset,                                                  \
                   [&] { return real_##name(descriptor, into, bytes, offset, room); }); \
  }
FOREBAY_PREAD_CHK(__pread_chk)
FOREBAY_PREAD_CHK(__pread64_chk)

FOREBAY_REAL(Readv, readv)
FOREBAY_WRAPPER ssize_t readv(int descriptor, const iovec* parts, int count) {
  return read_here(descriptor, [&] { return real_readv(descriptor, parts, count); });
}

#define FOREBAY_PREADV(name)                                                                  \
  FOREBAY_REAL(Preadv, name)                                                                  \
  FOREBAY_WRAPPER ssize_t name(int descriptor, const iovec* parts, int count, off_t offset) { \
    return read_at(descriptor, offset,                                                        \
                   [&] { return real_##name(descriptor, parts, count, offset); });            \
  }
FOREBAY_PREADV(preadv)
FOREBAY_PREADV(preadv64)

#define FOREBAY_PREADV2(name)                                                               \
  FOREBAY_REAL(Preadv2, name)                                                               \
  FOREBAY_WRAPPER ssize_t name(int descriptor, const iovec* parts, int count, off_t offset, \
                               int flags) {                                                 \
    return read_at(descriptor, offset,                                                      \
                   [&] { return real_##name(descriptor, parts, count, offset, flags); });   \
  }
FOREBAY_PREADV2(preadv2)
FOREBAY_PREADV2(preadv64v2)

#define FOREBAY_SEEK(name)                                                        \
  FOREBAY_REAL(Seek, name)                                                        \
  FOREBAY_WRAPPER off_t name(int descriptor, off_t offset, int whence) noexcept { \
    return sought(descriptor, real_##name(descriptor, offset, whence));           \
  }
FOREBAY_SEEK(lseek)
FOREBAY_SEEK(lseek64)

// Removed before the call: afterwards the number may belong to another thread's file.
FOREBAY_REAL(Close, close)
FOREBAY_WRAPPER int close(int descriptor) {
  forget_descriptor(descriptor);
  return real_close(descriptor);
}

FOREBAY_REAL(CloseRange, close_range)
FOREBAY_WRAPPER int close_range(unsigned first, unsigned last, int flags) noexcept {
  constexpr int kOnlyMarked = 4;  // CLOSE_RANGE_CLOEXEC
  if ((flags & kOnlyMarked) == 0) remove_descriptors(first, last);
  return real_close_range(first, last, flags);
}

FOREBAY_REAL(CloseFrom, closefrom)
FOREBAY_WRAPPER void closefrom(int first) noexcept {
  remove_descriptors(first > 0 ? static_cast<unsigned>(first) : 0, ~0U);
  real_closefrom(first);
}

FOREBAY_REAL(Dup, dup)
FOREBAY_WRAPPER int dup(int descriptor) noexcept {
  const int copy = real_dup(descriptor);
  copy_descriptor(descriptor, copy);
  return copy;
}

FOREBAY_REAL(Dup2, dup2)
FOREBAY_WRAPPER int dup2(int descriptor, int wanted) noexcept {
  const int copy = real_dup2(descriptor, wanted);
  copy_descriptor(descriptor, copy);
  return copy;
}

FOREBAY_REAL(Dup3, dup3)
FOREBAY_WRAPPER int dup3(int descriptor, int wanted, int flags) noexcept {
  const int copy = real_dup3(descriptor, wanted, flags);
  copy_descriptor(descriptor, copy);
  return copy;
}

// The third argument, if there is one, has the size of a pointer at most.
#define FOREBAY_CONTROL(name)                                                                  \
  FOREBAY_REAL(Control, name)                                                                  \
  FOREBAY_WRAPPER int name(int descriptor, int command, ...) {                                 \
    va_list arguments;                                                                         \
    va_start(arguments, command);                                                              \
    void* const argument = va_arg(arguments, void*);                                           \
    va_end(arguments);                                                                         \
    const int result = real_##name(descriptor, command, argument);                             \
    if (command == F_DUPFD || command == F_DUPFD_CLOEXEC) copy_descriptor(descriptor, result); \
    const bool is_direct = (reinterpret_cast<std::uintptr_t>(argument) & O_DIRECT) != 0;       \
    if (command == F_SETFL && result == 0 && is_direct) forget_descriptor(descriptor);         \
    return result;                                                                             \
  }
FOREBAY_CONTROL(fcntl)
FOREBAY_CONTROL(fcntl64)

#define FOREBAY_SENDFILE(name)                                                           \
  FOREBAY_REAL(SendFile, name)                                                           \
  FOREBAY_WRAPPER ssize_t name(int to, int from, off_t* offset, size_t bytes) noexcept { \
    return transfer(from, offset, [&] { return real_##name(to, from, offset, bytes); }); \
  }
FOREBAY_SENDFILE(sendfile)
FOREBAY_SENDFILE(sendfile64)

#define FOREBAY_COPY(name)                                                                      \
  FOREBAY_REAL(CopyRange, name)                                                                 \
  FOREBAY_WRAPPER ssize_t name(int from, off_t* offset, int to, off_t* to_offset, size_t bytes, \
                               unsigned flags) {                                                \
    return transfer(from, offset,                                                               \
                    [&] { return real_##name(from, offset, to, to_offset, bytes, flags); });    \
  }
FOREBAY_COPY(copy_file_range)
FOREBAY_COPY(splice)

// Allocators call it before main(), when dlsym() could allocate.
#define FOREBAY_MMAP(name)                                                                       \
  FOREBAY_REAL(Map, name)                                                                        \
  FOREBAY_WRAPPER void* name(void* wanted, size_t bytes, int access, int flags, int descriptor,  \
                             off_t offset) noexcept {                                            \
    if (!real_##name.is_resolved())                                                              \
      return reinterpret_cast<void*>(                                                            \
          ::syscall(SYS_mmap, wanted, bytes, access, flags, descriptor, offset));                \
    void* const mapped = real_##name(wanted, bytes, access, flags, descriptor, offset);          \
    if (mapped != MAP_FAILED && (access & PROT_READ) != 0 && (flags & MAP_ANONYMOUS) == 0)       \
      record_request(descriptor, static_cast<std::uint64_t>(offset), bytes, trace::kFlagMapped); \
    return mapped;                                                                               \
  }
FOREBAY_MMAP(mmap)
FOREBAY_MMAP(mmap64)

// Recorded first: the memory of a request may be that of another one when the call returns.
#define FOREBAY_AIO(name, list_name, block)                                                  \
  FOREBAY_REAL(ReadLater<block>, name)                                                       \
  FOREBAY_WRAPPER int name(block* request) noexcept {                                        \
    record_later(*request);                                                                  \
    return real_##name(request);                                                             \
  }                                                                                          \
  FOREBAY_REAL(ListLater<block>, list_name)                                                  \
  FOREBAY_WRAPPER int list_name(int mode, block* const* list, int count,                     \
                                sigevent* event) noexcept {                                  \
    for (int i = 0; i < count && (mode == LIO_WAIT || mode == LIO_NOWAIT); ++i) {            \
      if (list[i] != nullptr && list[i]->aio_lio_opcode == LIO_READ) record_later(*list[i]); \
    }                                                                                        \
    return real_##list_name(mode, list, count, event);                                       \
  }
FOREBAY_AIO(aio_read, lio_listio, aiocb)
FOREBAY_AIO(aio_read64, lio_listio64, aiocb64)

}  // namespace forebay::interpose

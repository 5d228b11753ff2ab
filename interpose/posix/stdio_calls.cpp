// SPDX-License-Identifier: Apache-2.0
// Wrappers of stdio. Its buffer is filled by calls inside libc that no library can wrap. So calls
// that the buffer cannot serve are recorded, with the bytes that the kernel has read. The others
// cost a comparison.
#undef _FORTIFY_SOURCE
#include <cerrno>
#include <cstdio>
#include <cstring>

#include <fcntl.h>

#include "interpose/posix/real.hpp"
#include "interpose/posix/recorder.hpp"

namespace forebay::interpose {

namespace {

using OpenStream = FILE* (*)(const char*, const char*);
using OpenDescriptor = FILE* (*)(int, const char*);
using ReopenStream = FILE* (*)(const char*, const char*, FILE*);
using CloseStream = int (*)(FILE*);
using ReadStream = size_t (*)(void*, size_t, size_t, FILE*);
using ReadStreamChk = size_t (*)(void*, size_t, size_t, size_t, FILE*);
using ReadCharacter = int (*)(FILE*);
using ReadLine = char* (*)(char*, int, FILE*);
using ReadLineChk = char* (*)(char*, size_t, int, FILE*);
using ReadNextLine = ssize_t (*)(char**, size_t*, FILE*);
using ReadDelimited = ssize_t (*)(char**, size_t*, int, FILE*);
using SeekStream = int (*)(FILE*, long, int);
template <class Place>
using SetPosition = int (*)(FILE*, const Place*);
using Rewind = void (*)(FILE*);

/// The descriptor of a stream if it is recorded, else -1. fileno() sets errno for others.
int descriptor_of(FILE* stream) noexcept {
  if (stream == nullptr || !is_recording()) return -1;
  const int kept = errno;
  const int descriptor = ::fileno(stream);
  errno = kept;
  return file_of(descriptor) != kNoFile ? descriptor : -1;
}

/// stdio moves the position of the descriptor in its own calls.
FILE* opened(FILE* stream, const char* mode) noexcept {
  if (stream == nullptr) return stream;
  if (mode[0] == 'r' || std::strchr(mode, '+') != nullptr)
    add_descriptor(::fileno(stream), Position::kUnknown);
  else
    forget_descriptor(::fileno(stream));
  return stream;
}

/// Bytes that are in the buffer.
size_t buffered(const FILE* stream) noexcept {
  const bool is_filled = stream != nullptr && stream->_IO_read_ptr < stream->_IO_read_end;
  return is_filled ? static_cast<size_t>(stream->_IO_read_end - stream->_IO_read_ptr) : 0;
}

/// Whether the buffer has at least one of these bytes and all of them, up to a delimiter.
bool has_line(const FILE* stream, int delimiter, size_t room) noexcept {
  const size_t bytes = buffered(stream);
  if (bytes == 0) return false;
  return bytes >= room || std::memchr(stream->_IO_read_ptr, delimiter, bytes) != nullptr;
}

/// Bytes of the last read into the buffer.
ssize_t buffer_size(const FILE* stream) noexcept {
  return stream->_IO_read_end - stream->_IO_read_base;
}

/// A call that reads more than is in the buffer. `size_of(result)`: what the kernel has read.
template <class Call, class SizeOf>
[[gnu::noinline]] auto read_stream(FILE* stream, Call call, SizeOf size_of) {
  const int descriptor = descriptor_of(stream);
  if (descriptor < 0 || ::feof_unlocked(stream) != 0) return call();
  const std::uint64_t begin = now_ns();
  const auto result = call();
  record_read(descriptor, file_of(descriptor), begin, size_of(result));
  return result;
}

/// A call that reads a line or a character.
template <class Call>
auto read_piece(FILE* stream, Call call) {
  return read_stream(stream, call, [stream](auto) { return buffer_size(stream); });
}

/// A call that reads items. It bypasses the buffer if they are longer.
template <class Call>
size_t read_items(FILE* stream, size_t size, size_t count, Call call) {
  const size_t before = buffered(stream);
  size_t bytes = 0;
  if (!__builtin_mul_overflow(size, count, &bytes) && bytes <= before) return call();
  return read_stream(stream, call, [=](size_t items) {
    return static_cast<ssize_t>(items * size + buffered(stream) - before);
  });
}

/// A call that moves the position. It fills the buffer where the position is outside of it.
template <class Call>
auto seek_stream(FILE* stream, Call call) {
  const int descriptor = descriptor_of(stream);
  if (descriptor < 0) return call();
  const off_t before = stream->_offset;
  const std::uint64_t begin = now_ns();
  const auto record = [&] {
    const ssize_t size = buffer_size(stream);
    const off_t end = stream->_offset;
    if (end != before && end >= size && size > 0)
      record_read_at(descriptor, file_of(descriptor), begin, size,
                     static_cast<std::uint64_t>(end - size));
  };
  if constexpr (std::is_void_v<decltype(call())>) {
    call();
    record();
  } else {
    const auto result = call();
    record();
    return result;
  }
}

}  // namespace

#define FOREBAY_FOPEN(name)                                           \
  FOREBAY_REAL(OpenStream, name)                                      \
  FOREBAY_WRAPPER FILE* name(const char* path, const char* mode) {    \
    const std::uint64_t begin = now_ns();                             \
    FILE* const stream = opened(real_##name(path, mode), mode);       \
    if (stream != nullptr) record_open(descriptor_of(stream), begin); \
    return stream;                                                    \
  }
FOREBAY_FOPEN(fopen)
FOREBAY_FOPEN(fopen64)

FOREBAY_REAL(OpenDescriptor, fdopen)
FOREBAY_WRAPPER FILE* fdopen(int descriptor, const char* mode) noexcept {
  FILE* const stream = real_fdopen(descriptor, mode);
  if (stream != nullptr) use_kernel_position(descriptor);
  return stream;
}

// They close the old descriptor, also if they fail.
#define FOREBAY_FREOPEN(name)                                                    \
  FOREBAY_REAL(ReopenStream, name)                                               \
  FOREBAY_WRAPPER FILE* name(const char* path, const char* mode, FILE* stream) { \
    forget_descriptor(descriptor_of(stream));                                    \
    return opened(real_##name(path, mode, stream), mode);                        \
  }
FOREBAY_FREOPEN(freopen)
FOREBAY_FREOPEN(freopen64)

FOREBAY_REAL(CloseStream, fclose)
FOREBAY_WRAPPER int fclose(FILE* stream) {
  forget_descriptor(descriptor_of(stream));
  return real_fclose(stream);
}

#define FOREBAY_FREAD(name)                                                          \
  FOREBAY_REAL(ReadStream, name)                                                     \
  FOREBAY_WRAPPER size_t name(void* into, size_t size, size_t count, FILE* stream) { \
    return read_items(stream, size, count,                                           \
                      [=] { return real_##name(into, size, count, stream); });       \
  }
FOREBAY_FREAD(fread)
FOREBAY_FREAD(fread_unlocked)

#define FOREBAY_FREAD_CHK(name)                                                                   \
  FOREBAY_REAL(ReadStreamChk, name)                                                               \
  FOREBAY_WRAPPER size_t name(void* into, size_t room, size_t size, size_t count, FILE* stream) { \
    return read_items(stream, size, count,                                                        \
                      [=] { return real_##name(into, room, size, count, stream); });              \
  }
FOREBAY_FREAD_CHK(__fread_chk)
FOREBAY_FREAD_CHK(__fread_unlocked_chk)

#define FOREBAY_FGETC(name)                                         \
  FOREBAY_REAL(ReadCharacter, name)                                 \
  FOREBAY_WRAPPER int name(FILE* stream) {                          \
    if (buffered(stream) > 0) return real_##name(stream);           \
    return read_piece(stream, [=] { return real_##name(stream); }); \
  }
FOREBAY_FGETC(fgetc)
FOREBAY_FGETC(getc)
FOREBAY_FGETC(_IO_getc)
FOREBAY_FGETC(fgetc_unlocked)
FOREBAY_FGETC(getc_unlocked)
FOREBAY_FGETC(__uflow)
FOREBAY_FGETC(__underflow)

#define FOREBAY_FGETS(name)                                                                   \
  FOREBAY_REAL(ReadLine, name)                                                                \
  FOREBAY_WRAPPER char* name(char* into, int room, FILE* stream) {                            \
    const auto call = [=] { return real_##name(into, room, stream); };                        \
    const bool is_there = room <= 1 || has_line(stream, '\n', static_cast<size_t>(room - 1)); \
    return is_there ? call() : read_piece(stream, call);                                      \
  }
FOREBAY_FGETS(fgets)
FOREBAY_FGETS(fgets_unlocked)

#define FOREBAY_FGETS_CHK(name)                                                               \
  FOREBAY_REAL(ReadLineChk, name)                                                             \
  FOREBAY_WRAPPER char* name(char* into, size_t size, int room, FILE* stream) {               \
    const auto call = [=] { return real_##name(into, size, room, stream); };                  \
    const bool is_there = room <= 1 || has_line(stream, '\n', static_cast<size_t>(room - 1)); \
    return is_there ? call() : read_piece(stream, call);                                      \
  }
FOREBAY_FGETS_CHK(__fgets_chk)
FOREBAY_FGETS_CHK(__fgets_unlocked_chk)

#define FOREBAY_GETDELIM(name)                                                           \
  FOREBAY_REAL(ReadDelimited, name)                                                      \
  FOREBAY_WRAPPER ssize_t name(char** line, size_t* room, int delimiter, FILE* stream) { \
    const auto call = [=] { return real_##name(line, room, delimiter, stream); };        \
    return has_line(stream, delimiter, SIZE_MAX) ? call() : read_piece(stream, call);    \
  }
FOREBAY_GETDELIM(getdelim)
FOREBAY_GETDELIM(__getdelim)

FOREBAY_REAL(ReadNextLine, getline)
FOREBAY_WRAPPER ssize_t getline(char** line, size_t* room, FILE* stream) {
  const auto call = [=] { return real_getline(line, room, stream); };
  return has_line(stream, '\n', SIZE_MAX) ? call() : read_piece(stream, call);
}

#define FOREBAY_FSEEK(name)                                                          \
  FOREBAY_REAL(SeekStream, name)                                                     \
  FOREBAY_WRAPPER int name(FILE* stream, long offset, int whence) {                  \
    return seek_stream(stream, [=] { return real_##name(stream, offset, whence); }); \
  }
FOREBAY_FSEEK(fseek)
FOREBAY_FSEEK(fseeko)
FOREBAY_FSEEK(fseeko64)

#define FOREBAY_FSETPOS(name, place)                                     \
  FOREBAY_REAL(SetPosition<place>, name)                                 \
  FOREBAY_WRAPPER int name(FILE* stream, const place* to) {              \
    return seek_stream(stream, [=] { return real_##name(stream, to); }); \
  }
FOREBAY_FSETPOS(fsetpos, fpos_t)
FOREBAY_FSETPOS(fsetpos64, fpos64_t)

FOREBAY_REAL(Rewind, rewind)
FOREBAY_WRAPPER void rewind(FILE* stream) {
  seek_stream(stream, [&] { real_rewind(stream); });
}

}  // namespace forebay::interpose

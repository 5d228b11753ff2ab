// SPDX-License-Identifier: Apache-2.0
// Wrappers of stdio. Its buffer is filled by calls inside libc that no library can wrap, so reads
// are recorded as the program makes them.
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
using ReopenStream = FILE* (*)(const char*, const char*, FILE*);
using CloseStream = int (*)(FILE*);
using ReadStream = size_t (*)(void*, size_t, size_t, FILE*);
using ReadStreamChk = size_t (*)(void*, size_t, size_t, size_t, FILE*);
using ReadLine = char* (*)(char*, int, FILE*);
using ReadNextLine = ssize_t (*)(char**, size_t*, FILE*);
using ReadDelimited = ssize_t (*)(char**, size_t*, int, FILE*);

/// stdio moves the position of the descriptor in its own calls.
FILE* opened(FILE* stream, const char* mode) noexcept {
  const bool is_read = mode[0] == 'r' || std::strchr(mode, '+') != nullptr;
  if (stream != nullptr && is_read) add_descriptor(::fileno(stream), Position::kUnknown);
  return stream;
}

/// A call that reads from a stream; `size_of(result)` is what it has read.
template <class Call, class SizeOf>
auto read_stream(FILE* stream, Call call, SizeOf size_of) {
  if (stream == nullptr || !is_recording()) return call();
  const int kept = errno;  // these set it for streams without a file or a position
  const int descriptor = ::fileno(stream);
  const FileNumber file = file_of(descriptor);
  const std::uint64_t begin = now_ns();
  const off_t offset = file != kNoFile ? ::ftello(stream) : -1;
  errno = kept;
  if (file == kNoFile) return call();
  const auto result = call();
  if (offset >= 0)
    record_read_at(descriptor, file, begin, size_of(result), static_cast<std::uint64_t>(offset));
  return result;
}

}  // namespace

#define FOREBAY_FOPEN(name)                                        \
  FOREBAY_REAL(OpenStream, name)                                   \
  FOREBAY_WRAPPER FILE* name(const char* path, const char* mode) { \
    return opened(real_##name(path, mode), mode);                  \
  }
FOREBAY_FOPEN(fopen)
FOREBAY_FOPEN(fopen64)

#define FOREBAY_FREOPEN(name)                                                    \
  FOREBAY_REAL(ReopenStream, name)                                               \
  FOREBAY_WRAPPER FILE* name(const char* path, const char* mode, FILE* stream) { \
    return opened(real_##name(path, mode, stream), mode);                        \
  }
FOREBAY_FREOPEN(freopen)
FOREBAY_FREOPEN(freopen64)

FOREBAY_REAL(CloseStream, fclose)
FOREBAY_WRAPPER int fclose(FILE* stream) {
  const int kept = errno;
  const int descriptor = is_recording() && stream != nullptr ? ::fileno(stream) : -1;
  errno = kept;
  if (descriptor >= 0)
    remove_descriptors(static_cast<unsigned>(descriptor), static_cast<unsigned>(descriptor));
  return real_fclose(stream);
}

#define FOREBAY_FREAD(name)                                                          \
  FOREBAY_REAL(ReadStream, name)                                                     \
  FOREBAY_WRAPPER size_t name(void* into, size_t size, size_t count, FILE* stream) { \
    return read_stream(                                                              \
        stream, [&] { return real_##name(into, size, count, stream); },              \
        [&](size_t items) { return static_cast<ssize_t>(items * size); });           \
  }
FOREBAY_FREAD(fread)
FOREBAY_FREAD(fread_unlocked)

#define FOREBAY_FREAD_CHK(name)                                                                   \
  FOREBAY_REAL(ReadStreamChk, name)                                                               \
  FOREBAY_WRAPPER size_t name(void* into, size_t room, size_t size, size_t count, FILE* stream) { \
    return read_stream(                                                                           \
        stream, [&] { return real_##name(into, room, size, count, stream); },                     \
        [&](size_t items) { return static_cast<ssize_t>(items * size); });                        \
  }
FOREBAY_FREAD_CHK(__fread_chk)
FOREBAY_FREAD_CHK(__fread_unlocked_chk)

#define FOREBAY_FGETS(name)                                                     \
  FOREBAY_REAL(ReadLine, name)                                                  \
  FOREBAY_WRAPPER char* name(char* into, int room, FILE* stream) {              \
    return read_stream(                                                         \
        stream, [&] { return real_##name(into, room, stream); },                \
        [](const char* line) {                                                  \
          return line != nullptr ? static_cast<ssize_t>(std::strlen(line)) : 0; \
        });                                                                     \
  }
FOREBAY_FGETS(fgets)
FOREBAY_FGETS(fgets_unlocked)

#define FOREBAY_GETDELIM(name)                                                           \
  FOREBAY_REAL(ReadDelimited, name)                                                      \
  FOREBAY_WRAPPER ssize_t name(char** line, size_t* room, int delimiter, FILE* stream) { \
    return read_stream(                                                                  \
        stream, [&] { return real_##name(line, room, delimiter, stream); },              \
        [](ssize_t bytes) { return bytes; });                                            \
  }
FOREBAY_GETDELIM(getdelim)
FOREBAY_GETDELIM(__getdelim)

FOREBAY_REAL(ReadNextLine, getline)
FOREBAY_WRAPPER ssize_t getline(char** line, size_t* room, FILE* stream) {
  return read_stream(
      stream, [&] { return real_getline(line, room, stream); },
      [](ssize_t bytes) { return bytes; });
}

}  // namespace forebay::interpose

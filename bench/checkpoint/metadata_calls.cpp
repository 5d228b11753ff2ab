// SPDX-License-Identifier: Apache-2.0
// These functions interpose those of the C library, which they call. Only paths and descriptors
// pass through; nothing here allocates or locks.
#include "bench/checkpoint/metadata_calls.hpp"

#include <atomic>
#include <cstdarg>
#include <cstdio>

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "storage/ring_backend.hpp"

struct aiocb;

namespace {

std::atomic<std::uint64_t> calls{0};

/// Counts a call and returns the next function of this name.
template <class Function>
Function* counted(const char* name) noexcept {
  calls.fetch_add(1, std::memory_order_relaxed);
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

/// The mode, if one is passed.
mode_t mode_of(int flags, va_list list) noexcept {
  const bool has_mode = (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
  return has_mode ? static_cast<mode_t>(va_arg(list, unsigned)) : 0;
}

using Open = int(const char*, int, mode_t);
using OpenAt = int(int, const char*, int, mode_t);
using OnePath = int(const char*);
using TwoPaths = int(const char*, const char*);
using TwoPathsAt = int(int, const char*, int, const char*);
using PathMode = int(const char*, mode_t);
using PathSize = int(const char*, off_t);
using OneFile = int(int);
using FileSize = int(int, off_t);
using RangeFunction = int(int, off_t, off_t);
using ModeRangeFunction = int(int, int, off_t, off_t);

}  // namespace

namespace forebay::bench::checkpoint {

std::uint64_t metadata_calls() noexcept {
  return calls.load(std::memory_order_relaxed) + storage::ring_syncs_and_allocations();
}

}  // namespace forebay::bench::checkpoint

// NOLINTBEGIN(readability-identifier-naming,cert-dcl50-cpp)
extern "C" {

int open(const char* path, int flags, ...) {
  va_list list;
  va_start(list, flags);
  const mode_t mode = mode_of(flags, list);
  va_end(list);
  return counted<Open>("open")(path, flags, mode);
}

int open64(const char* path, int flags, ...) {
  va_list list;
  va_start(list, flags);
  const mode_t mode = mode_of(flags, list);
  va_end(list);
  return counted<Open>("open64")(path, flags, mode);
}

int openat(int directory, const char* path, int flags, ...) {
  va_list list;
  va_start(list, flags);
  const mode_t mode = mode_of(flags, list);
  va_end(list);
  return counted<OpenAt>("openat")(directory, path, flags, mode);
}

int openat64(int directory, const char* path, int flags, ...) {
  va_list list;
  va_start(list, flags);
  const mode_t mode = mode_of(flags, list);
  va_end(list);
  return counted<OpenAt>("openat64")(directory, path, flags, mode);
}

// Fortified builds of libraries call these for an open that creates no file.
int __open_2(const char* path, int flags) { return counted<Open>("open")(path, flags, 0); }
int __open64_2(const char* path, int flags) { return counted<Open>("open64")(path, flags, 0); }

int creat(const char* path, mode_t mode) { return counted<PathMode>("creat")(path, mode); }
int creat64(const char* path, mode_t mode) { return counted<PathMode>("creat64")(path, mode); }
int mkdir(const char* path, mode_t mode) noexcept { return counted<PathMode>("mkdir")(path, mode); }
int mkdirat(int directory, const char* path, mode_t mode) noexcept {
  return counted<int(int, const char*, mode_t)>("mkdirat")(directory, path, mode);
}
int link(const char* from, const char* to) noexcept { return counted<TwoPaths>("link")(from, to); }
int linkat(
    int from_directory, const char* from, int to_directory, const char* to, int flags) noexcept {
  using LinkAt = int(int, const char*, int, const char*, int);
  return counted<LinkAt>("linkat")(from_directory, from, to_directory, to, flags);
}
int unlink(const char* path) noexcept { return counted<OnePath>("unlink")(path); }
int unlinkat(int directory, const char* path, int flags) noexcept {
  return counted<int(int, const char*, int)>("unlinkat")(directory, path, flags);
}
int rmdir(const char* path) noexcept { return counted<OnePath>("rmdir")(path); }
int remove(const char* path) noexcept { return counted<OnePath>("remove")(path); }
int rename(const char* from, const char* to) noexcept {
  return counted<TwoPaths>("rename")(from, to);
}
int renameat(int from_directory, const char* from, int to_directory, const char* to) noexcept {
  return counted<TwoPathsAt>("renameat")(from_directory, from, to_directory, to);
}
int renameat2(int from_directory,
              const char* from,
              int to_directory,
              const char* to,
              unsigned flags) noexcept {
  using RenameAt2 = int(int, const char*, int, const char*, unsigned);
  return counted<RenameAt2>("renameat2")(from_directory, from, to_directory, to, flags);
}
int truncate(const char* path, off_t size) noexcept {
  return counted<PathSize>("truncate")(path, size);
}
int truncate64(const char* path, off_t size) noexcept {
  return counted<PathSize>("truncate64")(path, size);
}
int ftruncate(int file, off_t size) noexcept { return counted<FileSize>("ftruncate")(file, size); }
int ftruncate64(int file, off_t size) noexcept {
  return counted<FileSize>("ftruncate64")(file, size);
}
int posix_fallocate(int file, off_t offset, off_t size) {
  return counted<RangeFunction>("posix_fallocate")(file, offset, size);
}
int posix_fallocate64(int file, off_t offset, off_t size) {
  return counted<RangeFunction>("posix_fallocate64")(file, offset, size);
}
int fallocate(int file, int mode, off_t offset, off_t size) {
  return counted<ModeRangeFunction>("fallocate")(file, mode, offset, size);
}
int fallocate64(int file, int mode, off_t offset, off_t size) {
  return counted<ModeRangeFunction>("fallocate64")(file, mode, offset, size);
}
int fsync(int file) { return counted<OneFile>("fsync")(file); }
int fdatasync(int file) { return counted<OneFile>("fdatasync")(file); }
int syncfs(int file) noexcept { return counted<OneFile>("syncfs")(file); }
int aio_fsync(int operation, aiocb* request) noexcept {
  return counted<int(int, aiocb*)>("aio_fsync")(operation, request);
}

}  // extern "C"
// NOLINTEND(readability-identifier-naming,cert-dcl50-cpp)

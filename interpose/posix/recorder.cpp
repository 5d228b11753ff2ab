// SPDX-License-Identifier: Apache-2.0
// A file is announced to the agent when it is read for the first time, so opening costs nothing but
// a number. A child of fork() announces again.
#include "interpose/posix/recorder.hpp"

#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "interpose/posix/process_part.hpp"
#include "interpose/posix/shared_mapping.hpp"

namespace forebay::interpose {

namespace {

using trace::RunMemory;
using trace::RunOpen;

constexpr unsigned kDescriptors = 65'536;
constexpr std::uint32_t kFiles = 65'536;
/// A call that took longer has waited for storage.
constexpr std::uint64_t kWaitNs = 500'000;

/// Whether the opening of a file has waited for storage.
enum class Wait : std::uint8_t { kNo, kYes };

enum class Announcement : std::uint8_t { kNone, kDone, kRefused };

/// An open file. Members change without a lock: a wrong value costs a useless prediction.
struct OpenFile {
  std::atomic<std::uint64_t> position;
  std::atomic<std::uint32_t> descriptors;
  std::atomic<std::uint32_t> generation;  ///< of the process that announced it
  std::atomic<Announcement> announcement;
  std::atomic<Position> how;
};

constinit std::array<std::atomic<FileNumber>, kDescriptors> files_by_descriptor{};
constinit std::array<OpenFile, kFiles> open_files{};
constinit std::atomic<std::uint32_t> next_file{1};
constinit std::atomic<std::uint32_t> shared_end{1};       // files before it have unknown positions
constinit std::atomic<FileNumber> spare_number{kNoFile};  // closed; the agent has never had it
constinit std::atomic<std::uint32_t> descriptor_end{0};   // above all in files_by_descriptor
constinit std::atomic<bool> has_waited{false};            // for storage, in a read

/// Files of which nothing is read ahead.
bool is_excluded(const char* path, std::size_t length) noexcept {
  const auto begins_with = [&](const char* text) {
    const std::size_t bytes = std::strlen(text);
    return length >= bytes && std::memcmp(path, text, bytes) == 0;
  };
  if (path[0] != '/' || begins_with("/proc/") || begins_with("/sys/") || begins_with("/dev/"))
    return true;
  constexpr char kDeleted[] = " (deleted)";
  const std::size_t suffix = sizeof kDeleted - 1;
  return length >= suffix && std::memcmp(path + length - suffix, kDeleted, suffix) == 0;
}

/// Fills in what the kernel states about a file. False if nothing is recorded of it.
bool describe(int descriptor, RunOpen& open) noexcept {
  struct statx found{};
  PathBuffer path;
  // What the kernel has cached: asking a server again would cost a round trip.
  const bool is_known = ::statx(descriptor, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC,
                                STATX_TYPE | STATX_INO | STATX_SIZE | STATX_MTIME, &found) == 0;
  if (!is_known || !S_ISREG(found.stx_mode)) return false;
  const std::size_t length = read_link_of(descriptor, path);
  if (length == 0 || length > RunOpen::kPathMax || is_excluded(path.data(), length)) return false;
  open.device = ::makedev(found.stx_dev_major, found.stx_dev_minor);
  open.inode = found.stx_ino;
  open.size_bytes = found.stx_size;
  open.modified_ns =
      static_cast<std::uint64_t>(found.stx_mtime.tv_sec) * 1'000'000'000U + found.stx_mtime.tv_nsec;
  open.path_bytes = static_cast<std::uint16_t>(length);
  std::memcpy(open.path.data(), path.data(), length);
  return true;
}

/// Whether the first byte can be read. The kernel reads the set, and refuses the operation.
bool is_readable(const char* text) noexcept {
  const auto at = reinterpret_cast<std::uintptr_t>(text) / 8 * 8;
  return at != 0 && (::syscall(SYS_rt_sigprocmask, ~0, at, nullptr, 8) == 0 || errno != EFAULT);
}

Announcement announce(RunMemory& shared, const RunOpen& open) noexcept {
  const std::uint32_t part = own_part_number();
  if (part >= RunMemory::kProcesses) return Announcement::kRefused;  // recording ends meanwhile
  const bool has_number = open.file != kNoFile || open.kind == trace::RunOpenKind::kLibrary;
  const bool is_sent = has_number && shared.opens.push([&](RunOpen& entry) {
    std::memcpy(&entry, &open, offsetof(RunOpen, path) + open.path_bytes);
    entry.process = part;
  });
  if (is_sent) return Announcement::kDone;
  shared.processes[part].lost_opens.fetch_add(1, std::memory_order_relaxed);
  return Announcement::kRefused;
}

Announcement announce(RunMemory& shared, int descriptor, FileNumber file, Wait wait) noexcept {
  RunOpen open;
  if (!describe(descriptor, open) || open.size_bytes == 0) return Announcement::kRefused;
  open.file = file;
  open.has_waited = wait == Wait::kYes;
  return announce(shared, open);
}

/// Whether the agent has the file.
bool is_announced(RunMemory& shared,
                  int descriptor,
                  FileNumber number,
                  Wait wait = Wait::kNo) noexcept {
  OpenFile& file = open_files[number];
  const std::uint32_t now = current_generation();
  if (file.generation.exchange(now, std::memory_order_relaxed) != now)
    file.announcement.store(announce(shared, descriptor, number, wait), std::memory_order_release);
  return file.announcement.load(std::memory_order_acquire) == Announcement::kDone;
}

/// Whether the agent has the file already.
bool is_known(const OpenFile& file) noexcept {
  return file.generation.load(std::memory_order_relaxed) == current_generation() &&
         file.announcement.load(std::memory_order_acquire) == Announcement::kDone;
}

void remove_descriptor(unsigned descriptor) noexcept {
  const FileNumber file = files_by_descriptor[descriptor].exchange(kNoFile);
  if (file == kNoFile) return;
  if (open_files[file].descriptors.fetch_sub(1, std::memory_order_relaxed) != 1) return;
  if (is_known(open_files[file]))
    record_call({.begin_ns = now_ns(), .file = file, .operation = trace::TraceOperation::kClose});
  else
    spare_number.store(file, std::memory_order_relaxed);
}

void set_descriptor(int descriptor, FileNumber file) noexcept {
  if (descriptor < 0 || static_cast<unsigned>(descriptor) >= kDescriptors) return;
  remove_descriptor(static_cast<unsigned>(descriptor));
  if (file == kNoFile) return;
  open_files[file].descriptors.fetch_add(1, std::memory_order_relaxed);
  raise_to(descriptor_end, static_cast<unsigned>(descriptor) + 1);
  files_by_descriptor[static_cast<unsigned>(descriptor)].store(file, std::memory_order_release);
}

/// Programs that do not wait for storage need no libraries ahead. Those of a child of fork() are
/// those of its parent, and another thread may have held the lock of the dynamic linker.
[[gnu::destructor]] void end_recording() noexcept {
  const bool is_wanted = has_waited.load(std::memory_order_relaxed) && has_own_memory();
  if (is_wanted && current_generation() == kFirstGeneration) record_libraries();
  stop_recording();
}

}  // namespace

void share_positions() noexcept {
  const std::uint32_t end = next_file.load(std::memory_order_relaxed);
  for (std::uint32_t file = shared_end.exchange(end); file < end; ++file)
    open_files[file].how.store(Position::kUnknown, std::memory_order_relaxed);
}

FileNumber new_file() noexcept {
  const FileNumber spare = spare_number.exchange(kNoFile, std::memory_order_relaxed);
  if (spare != kNoFile) return spare;
  std::uint32_t number = next_file.load(std::memory_order_relaxed);
  do {
    if (number >= kFiles) number = kNoFile;
  } while (number != kNoFile && !next_file.compare_exchange_weak(number, number + 1));
  return static_cast<FileNumber>(number);
}

void add_descriptor(int descriptor, Position position) noexcept {
  if (descriptor < 0 || !has_own_memory()) return;
  const bool has_place = static_cast<unsigned>(descriptor) < kDescriptors;
  const FileNumber number = has_place ? new_file() : kNoFile;
  if (number != kNoFile) {
    OpenFile& file = open_files[number];
    file.position.store(0, std::memory_order_relaxed);
    file.how.store(position, std::memory_order_relaxed);
    file.generation.store(0, std::memory_order_relaxed);
    if (number < shared_end.load(std::memory_order_relaxed)) shared_end.store(number);
  } else {
    announce_file({});  // counted as lost
  }
  set_descriptor(descriptor, number);
}

void copy_descriptor(int descriptor, int copy) noexcept {
  const FileNumber file = file_of(descriptor);
  if (copy < 0 || copy == descriptor || (file == kNoFile && file_of(copy) == kNoFile)) return;
  if (has_own_memory()) set_descriptor(copy, file);
}

void remove_descriptors(unsigned first, unsigned last) noexcept {
  if (!has_own_memory()) return;
  const unsigned end = descriptor_end.load(std::memory_order_relaxed);
  for (unsigned one = first; one <= last && one < end; ++one)
    remove_descriptor(one);
}

void forget_descriptor(int descriptor) noexcept {
  if (file_of(descriptor) != kNoFile)
    remove_descriptors(static_cast<unsigned>(descriptor), static_cast<unsigned>(descriptor));
}

FileNumber file_of(int descriptor) noexcept {
  if (!is_recording() || descriptor < 0 || static_cast<unsigned>(descriptor) >= kDescriptors)
    return kNoFile;
  return files_by_descriptor[static_cast<unsigned>(descriptor)].load(std::memory_order_relaxed);
}

void use_kernel_position(int descriptor) noexcept {
  if (const FileNumber file = file_of(descriptor); file != kNoFile)
    open_files[file].how.store(Position::kUnknown, std::memory_order_relaxed);
}

void set_position(FileNumber file, std::uint64_t offset) noexcept {
  open_files[file].position.store(offset, std::memory_order_relaxed);
}

std::uint64_t now_ns() noexcept {
  struct timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000U +
         static_cast<std::uint64_t>(now.tv_nsec);
}

void record_open(int descriptor, std::uint64_t begin_ns) noexcept {
  const FileNumber file = file_of(descriptor);
  if (file == kNoFile || now_ns() - begin_ns < kWaitNs) return;
  const ErrnoGuard guard;
  has_waited.store(true, std::memory_order_relaxed);
  RunMemory* const shared = attached();
  if (shared != nullptr && is_announced(*shared, descriptor, file, Wait::kYes)) wake_agent(*shared);
}

void record_read_at(int descriptor,
                    FileNumber file,
                    std::uint64_t begin_ns,
                    ssize_t size,
                    std::uint64_t offset) noexcept {
  if (size <= 0) return;
  const ErrnoGuard guard;
  const std::uint64_t took = now_ns() - begin_ns;
  if (took > kWaitNs) has_waited.store(true, std::memory_order_relaxed);
  RunMemory* const shared = attached();
  if (shared == nullptr || !is_announced(*shared, descriptor, file)) return;
  push(*shared, {.offset = offset,
                 .size = static_cast<std::uint64_t>(size),
                 .begin_ns = begin_ns,
                 .duration_ns = took < UINT32_MAX ? static_cast<std::uint32_t>(took) : UINT32_MAX,
                 .file = file,
                 .operation = trace::TraceOperation::kRead});
}

void record_read(int descriptor, FileNumber file, std::uint64_t begin_ns, ssize_t size) noexcept {
  if (size <= 0) return;
  const auto bytes = static_cast<std::uint64_t>(size);
  OpenFile& open = open_files[file];
  if (open.how.load(std::memory_order_relaxed) == Position::kTracked) {
    const std::uint64_t offset = open.position.fetch_add(bytes, std::memory_order_relaxed);
    return record_read_at(descriptor, file, begin_ns, size, offset);
  }
  const ErrnoGuard guard;
  // Terminals and others that the agent does not have cost no system call.
  RunMemory* const shared = attached();
  if (shared == nullptr || !is_announced(*shared, descriptor, file)) return;
  const auto end = ::syscall(SYS_lseek, descriptor, 0, SEEK_CUR);
  if (end < size) return;
  record_read_at(descriptor, file, begin_ns, size, static_cast<std::uint64_t>(end) - bytes);
}

void record_request(int descriptor,
                    std::uint64_t offset,
                    std::uint64_t size,
                    std::uint8_t flags) noexcept {
  const FileNumber file = file_of(descriptor);
  if (file == kNoFile || size == 0) return;
  const ErrnoGuard guard;
  RunMemory* const shared = attached();
  if (shared == nullptr || !is_announced(*shared, descriptor, file)) return;
  push(*shared, {.offset = offset,
                 .size = size,
                 .begin_ns = now_ns(),
                 .file = file,
                 .operation = trace::TraceOperation::kRead,
                 .flags = static_cast<std::uint8_t>(flags | trace::kFlagTimeUnknown)});
}

void record_program(int directory, const char* path) noexcept {
  RunMemory* const shared = joined_memory();
  if (!is_recording() || shared == nullptr) return;
  const ErrnoGuard guard;
  share_positions();
  if (!is_readable(path)) return;
  PathBuffer base;
  if (directory == kSearched && std::strchr(path, '/') != nullptr) directory = AT_FDCWD;
  const bool is_complete = path[0] == '/' || directory == kSearched;
  std::size_t length = is_complete ? 0 : read_link_of(directory, base);
  while (length > 0 && path[0] == '.' && path[1] == '/')
    path += 2;
  const std::size_t more = ::strnlen(path, RunOpen::kPathMax);
  if (length > 0 && more > 0 && length < base.size()) base[length++] = '/';
  if (length + more > RunOpen::kPathMax) length = 0;  // as given
  std::memcpy(base.data() + length, path, more);
  length += more;
  shared->opens.push([&](RunOpen& open) {
    open.process = 0;
    open.file = 0;
    open.kind = trace::RunOpenKind::kProgram;
    open.path_bytes = static_cast<std::uint16_t>(length);
    std::memcpy(open.path.data(), base.data(), length);
  });
}

bool describe_file(const char* path, RunOpen& open) noexcept {
  const ErrnoGuard guard;
  const int descriptor = attached() != nullptr ? open_file(path, O_PATH | O_CLOEXEC) : -1;
  if (descriptor < 0) return false;
  const bool is_described = describe(descriptor, open);
  close_file(descriptor);
  return is_described;
}

void announce_file(const RunOpen& open) noexcept {
  const ErrnoGuard guard;
  RunMemory* const shared = attached();
  if (shared == nullptr) return;
  OpenFile& file = open_files[open.file];
  file.generation.store(current_generation(), std::memory_order_relaxed);
  file.announcement.store(announce(*shared, open), std::memory_order_release);
}

void record_call(const trace::TraceRecord& record) noexcept {
  RunMemory* const shared = joined_memory();
  if (!is_recording() || shared == nullptr) return;
  if (!is_known(open_files[record.file])) return;
  const ErrnoGuard guard;
  push(*shared, record);
}

}  // namespace forebay::interpose

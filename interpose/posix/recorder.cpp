// SPDX-License-Identifier: Apache-2.0
// A file is announced to the agent when it is read for the first time, so opening costs nothing but
// a number. After fork(), the child is a process of its own: it attaches again and announces again.
#include "interpose/posix/recorder.hpp"

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "trace/run_memory.hpp"

namespace forebay::interpose {

namespace {

using trace::RunAgentState;
using trace::RunMemory;
using trace::RunOpen;
using trace::RunPartState;
using trace::RunRing;

constexpr unsigned kDescriptors = 65'536;
constexpr std::uint32_t kFiles = 65'536;
constexpr std::uint32_t kNoPart = UINT32_MAX;

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

constinit std::atomic<RunMemory*> memory{nullptr};
constinit std::atomic<std::uint32_t> own_part{kNoPart};
constinit std::atomic<std::uint32_t> generation{1};  // grows with each fork()
constinit std::atomic<bool> is_attaching{false};
constinit std::atomic<bool> is_off{true};
constinit std::atomic<pid_t> own_pid{0};
constinit std::array<char, 64> memory_path{};
constinit pthread_key_t ring_key{};

__thread RunRing* own_ring [[gnu::tls_model("initial-exec")]] = nullptr;
__thread std::uint32_t ring_generation [[gnu::tls_model("initial-exec")]] = 0;

/// Restores errno at the end.
class ErrnoGuard {
 public:
  ErrnoGuard() noexcept : kept_(errno) {}
  ~ErrnoGuard() { errno = kept_; }
  ErrnoGuard(const ErrnoGuard&) = delete;
  ErrnoGuard& operator=(const ErrnoGuard&) = delete;

 private:
  const int kept_;
};

// System calls without the functions that this library wraps.

int open_file(const char* path, int flags) noexcept {
  return static_cast<int>(::syscall(SYS_openat, AT_FDCWD, path, flags, 0));
}

void close_file(int descriptor) noexcept { ::syscall(SYS_close, descriptor); }

void wake_agent(RunMemory& shared) noexcept {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (shared.doorbell.load(std::memory_order_relaxed) == 0) return;
  if (shared.doorbell.exchange(0, std::memory_order_relaxed) == 0) return;
  ::syscall(SYS_futex, &shared.doorbell, FUTEX_WAKE, 1, nullptr, nullptr, 0);
}

RunMemory* map_memory() noexcept {
  const int descriptor = open_file(memory_path.data(), O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  if (descriptor < 0) return nullptr;
  struct stat found{};
  void* mapped = MAP_FAILED;
  const bool is_owned = ::fstat(descriptor, &found) == 0 && S_ISREG(found.st_mode) &&
                        (found.st_uid == ::geteuid() || found.st_uid == 0);
  if (is_owned && found.st_size >= static_cast<off_t>(sizeof(RunMemory)))
    mapped = ::mmap(nullptr, sizeof(RunMemory), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  close_file(descriptor);
  if (mapped == MAP_FAILED) return nullptr;
  auto* const shared = static_cast<RunMemory*>(mapped);
  if (shared->magic == RunMemory::kMagic && shared->version == RunMemory::kVersion) return shared;
  ::munmap(mapped, sizeof(RunMemory));
  return nullptr;
}

void raise_to(std::atomic<std::uint32_t>& maximum, std::uint32_t value) noexcept {
  std::uint32_t now = maximum.load(std::memory_order_relaxed);
  while (now < value && !maximum.compare_exchange_weak(now, value))
    ;
}

std::uint32_t read_command_line(char* into, std::size_t size) noexcept {
  const int descriptor = open_file("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
  const auto length = ::syscall(SYS_read, descriptor, into, size);
  if (descriptor >= 0) close_file(descriptor);
  return length > 0 ? static_cast<std::uint32_t>(length) : 0;
}

/// As launchers of Open MPI, MPICH, PMIx and Slurm state it.
std::uint32_t rank_of_environment() noexcept {
  for (const char* const name : {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID"}) {
    const char* const value = std::getenv(name);
    char* end = nullptr;
    const unsigned long rank = value != nullptr ? std::strtoul(value, &end, 10) : 0;
    if (end != value && rank < trace::RunProcess::kNoRank) return static_cast<std::uint32_t>(rank);
  }
  return trace::RunProcess::kNoRank;
}

std::uint32_t take_process(RunMemory& shared) noexcept {
  for (std::uint32_t i = 0; i < RunMemory::kProcesses; ++i) {
    trace::RunProcess& part = shared.processes[i];
    RunPartState expected = RunPartState::kFree;
    if (!part.state.compare_exchange_strong(expected, RunPartState::kTaken)) continue;
    part.pid = static_cast<std::uint32_t>(::getpid());
    part.rank = rank_of_environment();
    part.lost_opens.store(0, std::memory_order_relaxed);
    part.command_bytes = read_command_line(part.command.data(), part.command.size());
    raise_to(shared.process_end, i + 1);
    part.state.store(RunPartState::kActive, std::memory_order_release);
    return i;
  }
  shared.unrecorded_processes.fetch_add(1, std::memory_order_relaxed);
  return kNoPart;
}

/// The memory, if this process has a part of it. Attaches in the first call.
RunMemory* attached() noexcept {
  if (is_off.load(std::memory_order_relaxed)) return nullptr;
  if (own_part.load(std::memory_order_acquire) != kNoPart)
    return memory.load(std::memory_order_relaxed);
  if (is_attaching.exchange(true)) return nullptr;  // another thread, or a signal handler
  RunMemory* shared = memory.load(std::memory_order_relaxed);
  if (shared == nullptr) shared = map_memory();
  const std::uint32_t part = shared != nullptr ? take_process(*shared) : kNoPart;
  memory.store(shared, std::memory_order_relaxed);
  if (part == kNoPart) is_off.store(true, std::memory_order_relaxed);
  own_part.store(part, std::memory_order_release);
  is_attaching.store(false);
  return part != kNoPart ? shared : nullptr;
}

/// At the end of a thread. Its later calls record nothing.
void end_ring(void* ring) noexcept {
  own_ring = nullptr;
  static_cast<RunRing*>(ring)->state.store(RunPartState::kEnded, std::memory_order_release);
}

RunRing* take_ring(RunMemory& shared) noexcept {
  for (std::uint32_t i = 0; i < RunMemory::kRings; ++i) {
    RunRing& one = shared.rings[i];
    RunPartState expected = RunPartState::kFree;
    if (!one.state.compare_exchange_strong(expected, RunPartState::kTaken)) continue;
    one.process = own_part.load(std::memory_order_relaxed);
    one.thread = static_cast<std::uint32_t>(::syscall(SYS_gettid));
    raise_to(shared.ring_end, i + 1);
    one.state.store(RunPartState::kActive, std::memory_order_release);
    ::pthread_setspecific(ring_key, &one);
    return &one;
  }
  shared.unrecorded_threads.fetch_add(1, std::memory_order_relaxed);
  return nullptr;
}

RunRing* ring_of_this_thread(RunMemory& shared) noexcept {
  const std::uint32_t now = generation.load(std::memory_order_relaxed);
  if (ring_generation == now) return own_ring;
  ring_generation = now;  // first: a thread without a ring searches once
  own_ring = take_ring(shared);
  return own_ring;
}

void push(RunMemory& shared, const trace::TraceRecord& record) noexcept {
  RunRing* const ring = ring_of_this_thread(shared);
  if (ring == nullptr) return;
  ring->ring.push(record);
  wake_agent(shared);
}

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

bool link_of(int descriptor,
             std::array<char, RunOpen::kPathMax + 1>& path,
             std::size_t& length) noexcept {
  char link[32] = "/proc/self/fd/";
  char* at = link + std::strlen(link);
  char digits[12];
  int count = 0;
  do {
    digits[count++] = static_cast<char>('0' + descriptor % 10);
    descriptor /= 10;
  } while (descriptor > 0);
  while (count > 0)
    *at++ = digits[--count];
  *at = 0;
  const ssize_t got = ::readlink(link, path.data(), path.size());
  length = got > 0 ? static_cast<std::size_t>(got) : 0;
  return got > 0 && length <= RunOpen::kPathMax && !is_excluded(path.data(), length);
}

Announcement announce(RunMemory& shared, int descriptor, FileNumber file) noexcept {
  struct statx found{};
  std::array<char, RunOpen::kPathMax + 1> path;
  std::size_t length = 0;
  // What the kernel has cached: asking a server again would cost a round trip.
  const bool is_known = ::statx(descriptor, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC,
                                STATX_TYPE | STATX_INO | STATX_SIZE | STATX_MTIME, &found) == 0;
  const bool is_regular = is_known && S_ISREG(found.stx_mode) && found.stx_size > 0;
  if (!is_regular || !link_of(descriptor, path, length)) return Announcement::kRefused;
  const std::uint32_t part = own_part.load(std::memory_order_relaxed);
  const bool is_sent = shared.opens.push([&](RunOpen& open) {
    open.process = part;
    open.file = file;
    open.device = ::makedev(found.stx_dev_major, found.stx_dev_minor);
    open.inode = found.stx_ino;
    open.size_bytes = found.stx_size;
    open.modified_ns = static_cast<std::uint64_t>(found.stx_mtime.tv_sec) * 1'000'000'000U +
                       found.stx_mtime.tv_nsec;
    open.kind = trace::RunOpenKind::kFile;
    open.path_bytes = static_cast<std::uint16_t>(length);
    std::memcpy(open.path.data(), path.data(), length);
  });
  if (is_sent) return Announcement::kDone;
  shared.processes[part].lost_opens.fetch_add(1, std::memory_order_relaxed);
  return Announcement::kRefused;
}

/// Whether the agent has the file.
bool is_announced(RunMemory& shared, int descriptor, FileNumber number) noexcept {
  OpenFile& file = open_files[number];
  const std::uint32_t now = generation.load(std::memory_order_relaxed);
  if (file.generation.exchange(now, std::memory_order_relaxed) != now)
    file.announcement.store(announce(shared, descriptor, number), std::memory_order_release);
  return file.announcement.load(std::memory_order_acquire) == Announcement::kDone;
}

/// The last descriptor of a file is about to be closed.
void record_close(FileNumber file) noexcept {
  RunMemory* const shared = memory.load(std::memory_order_relaxed);
  const bool is_known =
      open_files[file].generation.load(std::memory_order_relaxed) ==
          generation.load(std::memory_order_relaxed) &&
      open_files[file].announcement.load(std::memory_order_relaxed) == Announcement::kDone;
  if (shared == nullptr || !is_known) return;
  const ErrnoGuard guard;
  push(*shared, {.begin_ns = now_ns(), .file = file, .operation = trace::TraceOperation::kClose});
}

void remove_descriptor(unsigned descriptor) noexcept {
  const FileNumber file = files_by_descriptor[descriptor].exchange(kNoFile);
  if (file == kNoFile) return;
  if (open_files[file].descriptors.fetch_sub(1, std::memory_order_relaxed) == 1) record_close(file);
}

/// False in a child of vfork(), which uses the memory of its parent and has its own descriptors.
bool has_own_memory() noexcept {
  return is_recording() && ::getpid() == own_pid.load(std::memory_order_relaxed);
}

void set_descriptor(int descriptor, FileNumber file) noexcept {
  if (descriptor < 0 || static_cast<unsigned>(descriptor) >= kDescriptors) return;
  remove_descriptor(static_cast<unsigned>(descriptor));
  if (file == kNoFile) return;
  open_files[file].descriptors.fetch_add(1, std::memory_order_relaxed);
  files_by_descriptor[static_cast<unsigned>(descriptor)].store(file, std::memory_order_release);
}

/// Parent and child share the positions of all files that are open now.
void share_positions() noexcept {
  const std::uint32_t end = next_file.load(std::memory_order_relaxed);
  for (std::uint32_t file = 1; file < end && file < kFiles; ++file)
    open_files[file].how.store(Position::kUnknown, std::memory_order_relaxed);
}

void begin_child() noexcept {
  own_pid.store(::getpid(), std::memory_order_relaxed);
  generation.fetch_add(1, std::memory_order_relaxed);
  own_part.store(kNoPart, std::memory_order_relaxed);
  is_attaching.store(false, std::memory_order_relaxed);
  own_ring = nullptr;
  ::pthread_setspecific(ring_key, nullptr);
}

[[gnu::destructor]] void end_recording() noexcept {
  RunMemory* const shared = memory.load(std::memory_order_relaxed);
  const std::uint32_t part = own_part.exchange(kNoPart);
  is_off.store(true, std::memory_order_relaxed);
  if (shared == nullptr || part == kNoPart) return;
  shared->processes[part].state.store(RunPartState::kEnded, std::memory_order_release);
  wake_agent(*shared);
}

}  // namespace

void start_recording() noexcept {
  const ErrnoGuard guard;
  const char* const path = std::getenv("FOREBAY_RUN_MEMORY");
  const char* const is_disabled = std::getenv("FOREBAY_RUN");
  const bool is_wanted = path != nullptr && std::strlen(path) < memory_path.size() &&
                         (is_disabled == nullptr || std::strcmp(is_disabled, "off") != 0);
  if (!is_wanted || ::pthread_key_create(&ring_key, end_ring) != 0) return;
  std::strcpy(memory_path.data(), path);
  own_pid.store(::getpid(), std::memory_order_relaxed);
  ::pthread_atfork(share_positions, nullptr, begin_child);
  is_off.store(false, std::memory_order_relaxed);
  // At once: the agent may have a profile of this program.
  if (RunMemory* const shared = attached()) wake_agent(*shared);
}

bool is_recording() noexcept { return !is_off.load(std::memory_order_relaxed); }

void add_descriptor(int descriptor, Position position) noexcept {
  if (descriptor < 0 || !has_own_memory()) return;
  std::uint32_t number = next_file.load(std::memory_order_relaxed);
  do {
    if (number >= kFiles) number = kNoFile;
  } while (number != kNoFile && !next_file.compare_exchange_weak(number, number + 1));
  if (number != kNoFile) {
    OpenFile& file = open_files[number];
    file.position.store(0, std::memory_order_relaxed);
    file.how.store(position, std::memory_order_relaxed);
  }
  set_descriptor(descriptor, static_cast<FileNumber>(number));
}

void copy_descriptor(int descriptor, int copy) noexcept {
  if (copy >= 0 && copy != descriptor && has_own_memory())
    set_descriptor(copy, file_of(descriptor));
}

void remove_descriptors(unsigned first, unsigned last) noexcept {
  if (!has_own_memory()) return;
  for (unsigned one = first; one <= last && one < kDescriptors; ++one)
    remove_descriptor(one);
}

FileNumber file_of(int descriptor) noexcept {
  if (descriptor < 0 || static_cast<unsigned>(descriptor) >= kDescriptors) return kNoFile;
  return files_by_descriptor[static_cast<unsigned>(descriptor)].load(std::memory_order_relaxed);
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

void record_read_at(int descriptor,
                    FileNumber file,
                    std::uint64_t begin_ns,
                    ssize_t size,
                    std::uint64_t offset) noexcept {
  if (size <= 0) return;
  const ErrnoGuard guard;
  const std::uint64_t took = now_ns() - begin_ns;
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
  const ErrnoGuard guard;
  const auto bytes = static_cast<std::uint64_t>(size);
  std::uint64_t offset = 0;
  if (open_files[file].how.load(std::memory_order_relaxed) == Position::kTracked) {
    offset = open_files[file].position.fetch_add(bytes, std::memory_order_relaxed);
  } else {
    const auto end = ::syscall(SYS_lseek, descriptor, 0, SEEK_CUR);
    if (end < size) return;
    offset = static_cast<std::uint64_t>(end) - bytes;
  }
  record_read_at(descriptor, file, begin_ns, size, offset);
}

}  // namespace forebay::interpose

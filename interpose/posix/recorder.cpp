// SPDX-License-Identifier: Apache-2.0
// A file is announced to the agent when it is read for the first time, so opening costs nothing but
// a number. After fork(), the child is a process of its own: it attaches again and announces again.
// A system call after the program has restricted them could end it: stop_recording() precedes.
#include "interpose/posix/recorder.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <cstring>

#include <linux/futex.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "interpose/posix/shared_mapping.hpp"

namespace forebay::interpose {

namespace {

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
constinit std::atomic<std::uint32_t> descriptor_end{0};  // above all in files_by_descriptor

constinit std::atomic<RunMemory*> memory{nullptr};
constinit std::atomic<std::uint32_t> own_part{kNoPart};
/// Grows with each fork(). In a page that the kernel empties in a child, since raw system calls do
/// not run handlers of pthread_atfork().
constinit std::atomic<std::uint32_t>* generation = nullptr;
constinit std::uint32_t last_generation = 0;
constinit std::atomic<bool> is_attaching{false};
constinit std::atomic<bool> is_off{true};
constinit std::atomic<pid_t> own_pid{0};
constinit std::array<char, 64> memory_path{};
constinit pthread_key_t ring_key{};

__thread RunRing* own_ring [[gnu::tls_model("initial-exec")]] = nullptr;
__thread std::uint32_t own_ring_number [[gnu::tls_model("initial-exec")]] = 0;
__thread std::uint32_t ring_generation [[gnu::tls_model("initial-exec")]] = 0;

void wake_agent(RunMemory& shared) noexcept {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (shared.doorbell.load(std::memory_order_relaxed) == 0) return;
  if (shared.doorbell.exchange(0, std::memory_order_relaxed) == 0) return;
  ::syscall(SYS_futex, &shared.doorbell, FUTEX_WAKE, 1, nullptr, nullptr, 0);
}

/// Parent and child share the positions of all files that are open now.
void share_positions() noexcept {
  const std::uint32_t end = next_file.load(std::memory_order_relaxed);
  for (std::uint32_t file = 1; file < end && file < kFiles; ++file)
    open_files[file].how.store(Position::kUnknown, std::memory_order_relaxed);
}

/// A process begins, or a child of fork(): it has no part and no ring.
void begin_process() noexcept {
  share_positions();
  own_pid.store(::getpid(), std::memory_order_relaxed);
  own_part.store(kNoPart, std::memory_order_relaxed);
  is_attaching.store(false, std::memory_order_relaxed);
  own_ring = nullptr;
  ::pthread_setspecific(ring_key, nullptr);
  generation->store(++last_generation, std::memory_order_relaxed);
}

/// That of this process; not before start_recording().
std::uint32_t current_generation() noexcept {
  if (generation->load(std::memory_order_relaxed) == 0) begin_process();
  return generation->load(std::memory_order_relaxed);
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

std::uint64_t pid_namespace() noexcept {
  struct stat found{};
  return ::stat("/proc/self/ns/pid", &found) == 0 ? found.st_ino : 0;
}

/// Of programs that this process has executed before.
void end_older_parts(RunMemory& shared, std::uint32_t pid, std::uint64_t in_namespace) noexcept {
  const std::uint32_t end = shared.process_end.load(std::memory_order_relaxed);
  for (std::uint32_t i = 0; i < end && i < RunMemory::kProcesses && in_namespace != 0; ++i) {
    trace::RunProcess& part = shared.processes[i];
    RunPartState expected = RunPartState::kActive;
    if (part.pid == pid && part.pid_namespace == in_namespace)
      part.state.compare_exchange_strong(expected, RunPartState::kEnded);
  }
}

std::uint32_t take_process(RunMemory& shared) noexcept {
  const auto pid = static_cast<std::uint32_t>(::getpid());
  const std::uint64_t in_namespace = pid_namespace();
  end_older_parts(shared, pid, in_namespace);
  for (std::uint32_t i = 0; i < RunMemory::kProcesses; ++i) {
    trace::RunProcess& part = shared.processes[i];
    RunPartState expected = RunPartState::kFree;
    if (!part.state.compare_exchange_strong(expected, RunPartState::kTaken)) continue;
    part.pid = pid;
    part.pid_namespace = in_namespace;
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

void end_part() noexcept {
  RunMemory* const shared = memory.load(std::memory_order_relaxed);
  const std::uint32_t part = own_part.exchange(kNoPart);
  if (shared == nullptr || part == kNoPart) return;
  shared->processes[part].state.store(RunPartState::kEnded, std::memory_order_release);
  wake_agent(*shared);
}

/// The memory, if this process has a part of it. Attaches in the first call.
RunMemory* attached() noexcept {
  if (is_off.load(std::memory_order_relaxed) || current_generation() == 0) return nullptr;
  if (own_part.load(std::memory_order_acquire) != kNoPart)
    return memory.load(std::memory_order_relaxed);
  if (is_attaching.exchange(true)) return nullptr;  // another thread, or a signal handler
  RunMemory* shared = memory.load(std::memory_order_relaxed);
  if (shared == nullptr) shared = map_memory(memory_path.data());
  const std::uint32_t part = shared != nullptr ? take_process(*shared) : kNoPart;
  memory.store(shared, std::memory_order_relaxed);
  if (part == kNoPart) is_off.store(true, std::memory_order_relaxed);
  own_part.store(part);
  if (is_off.load()) end_part();  // also if the process has ended meanwhile
  is_attaching.store(false);
  return own_part.load() != kNoPart ? shared : nullptr;
}

/// At the end of a thread. Its later calls record nothing.
void end_ring(void* ring) noexcept {
  own_ring = nullptr;
  RunMemory* const shared = memory.load(std::memory_order_relaxed);
  if (generation->load(std::memory_order_relaxed) != ring_generation) return;  // of a parent
  static_cast<RunRing*>(ring)->state.store(RunPartState::kEnded, std::memory_order_release);
  shared->ring_users[own_ring_number].store(0, std::memory_order_relaxed);
}

/// Whether a ring may be free: no other living process has used it last.
bool may_take(const RunMemory& shared, std::uint32_t ring, std::uint32_t part) noexcept {
  const std::uint32_t user = shared.ring_users[ring].load(std::memory_order_relaxed);
  return user == 0 || user == part + 1 || user > RunMemory::kProcesses ||
         shared.processes[user - 1].state.load(std::memory_order_relaxed) == RunPartState::kFree;
}

RunRing* take_ring(RunMemory& shared) noexcept {
  const std::uint32_t part = own_part.load(std::memory_order_relaxed);
  for (std::uint32_t i = 0; i < RunMemory::kRings && part != kNoPart; ++i) {
    if (!may_take(shared, i, part)) continue;
    RunRing* const one = map_ring(shared, i);
    if (one == nullptr) break;
    RunPartState expected = RunPartState::kFree;
    if (!one->state.compare_exchange_strong(expected, RunPartState::kTaken)) continue;
    shared.ring_users[i].store(part + 1, std::memory_order_relaxed);
    one->process = part;
    one->thread = static_cast<std::uint32_t>(::syscall(SYS_gettid));
    raise_to(shared.ring_end, i + 1);
    one->state.store(RunPartState::kActive, std::memory_order_release);
    own_ring_number = i;
    ::pthread_setspecific(ring_key, one);
    return one;
  }
  shared.unrecorded_threads.fetch_add(1, std::memory_order_relaxed);
  return nullptr;
}

RunRing* ring_of_this_thread(RunMemory& shared) noexcept {
  const std::uint32_t now = current_generation();
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

Announcement announce(RunMemory& shared, const RunOpen& open) noexcept {
  const std::uint32_t part = own_part.load(std::memory_order_relaxed);
  const bool is_sent = open.file != kNoFile && shared.opens.push([&](RunOpen& entry) {
    std::memcpy(&entry, &open, offsetof(RunOpen, path) + open.path_bytes);
    entry.process = part;
  });
  if (is_sent) return Announcement::kDone;
  shared.processes[part].lost_opens.fetch_add(1, std::memory_order_relaxed);
  return Announcement::kRefused;
}

Announcement announce(RunMemory& shared, int descriptor, FileNumber file) noexcept {
  RunOpen open;
  if (!describe(descriptor, open) || open.size_bytes == 0) return Announcement::kRefused;
  open.file = file;
  return announce(shared, open);
}

/// Whether the agent has the file.
bool is_announced(RunMemory& shared, int descriptor, FileNumber number) noexcept {
  OpenFile& file = open_files[number];
  const std::uint32_t now = current_generation();
  if (file.generation.exchange(now, std::memory_order_relaxed) != now)
    file.announcement.store(announce(shared, descriptor, number), std::memory_order_release);
  return file.announcement.load(std::memory_order_acquire) == Announcement::kDone;
}

void remove_descriptor(unsigned descriptor) noexcept {
  const FileNumber file = files_by_descriptor[descriptor].exchange(kNoFile);
  if (file == kNoFile) return;
  if (open_files[file].descriptors.fetch_sub(1, std::memory_order_relaxed) == 1)
    record_call({.begin_ns = now_ns(), .file = file, .operation = trace::TraceOperation::kClose});
}

/// False in a child of vfork(), which uses the memory of its parent and has its own descriptors.
bool has_own_memory() noexcept {
  return is_recording() && current_generation() != 0 &&
         ::getpid() == own_pid.load(std::memory_order_relaxed);
}

void set_descriptor(int descriptor, FileNumber file) noexcept {
  if (descriptor < 0 || static_cast<unsigned>(descriptor) >= kDescriptors) return;
  remove_descriptor(static_cast<unsigned>(descriptor));
  if (file == kNoFile) return;
  open_files[file].descriptors.fetch_add(1, std::memory_order_relaxed);
  raise_to(descriptor_end, static_cast<unsigned>(descriptor) + 1);
  files_by_descriptor[static_cast<unsigned>(descriptor)].store(file, std::memory_order_release);
}

[[gnu::destructor]] void end_recording() noexcept { stop_recording(); }

/// False if the kernel does not empty it in children (before Linux 4.14).
bool make_generation() noexcept {
  const auto bytes = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  void* const page = reinterpret_cast<void*>(::syscall(
      SYS_mmap, nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  if (page == MAP_FAILED) return false;
  generation = static_cast<std::atomic<std::uint32_t>*>(page);
  return ::madvise(page, bytes, MADV_WIPEONFORK) == 0;
}

}  // namespace

// One for all copies of this library in a process: the first one records.
extern "C" {
[[gnu::visibility("default")]] constinit std::atomic<bool> forebay_run_is_started{false};
}

void start_recording() noexcept {
  const ErrnoGuard guard;
  const char* const path = std::getenv("FOREBAY_RUN_MEMORY");
  const char* const is_disabled = std::getenv("FOREBAY_RUN");
  const bool is_wanted = path != nullptr && std::strlen(path) < memory_path.size() &&
                         (is_disabled == nullptr || std::strcmp(is_disabled, "off") != 0);
  if (!is_wanted || forebay_run_is_started.exchange(true) || !make_generation() ||
      ::pthread_key_create(&ring_key, end_ring) != 0)
    return;
  std::strcpy(memory_path.data(), path);
  begin_process();
  ::pthread_atfork(share_positions, nullptr, begin_process);
  is_off.store(false, std::memory_order_relaxed);
  // At once: the agent may have a profile of this program.
  if (RunMemory* const shared = attached()) wake_agent(*shared);
}

void stop_recording() noexcept {
  const ErrnoGuard guard;
  if (!has_own_memory()) return;
  is_off.store(true);
  end_part();
}

bool is_recording() noexcept { return !is_off.load(std::memory_order_relaxed); }

FileNumber new_file() noexcept {
  std::uint32_t number = next_file.load(std::memory_order_relaxed);
  do {
    if (number >= kFiles) number = kNoFile;
  } while (number != kNoFile && !next_file.compare_exchange_weak(number, number + 1));
  return static_cast<FileNumber>(number);
}

void add_descriptor(int descriptor, Position position) noexcept {
  if (descriptor < 0 || !has_own_memory()) return;
  const FileNumber number = new_file();
  if (number != kNoFile) {
    OpenFile& file = open_files[number];
    file.position.store(0, std::memory_order_relaxed);
    file.how.store(position, std::memory_order_relaxed);
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
  RunMemory* const shared = memory.load(std::memory_order_relaxed);
  if (!is_recording() || shared == nullptr || path == nullptr) return;
  const ErrnoGuard guard;
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
  RunMemory* const shared = memory.load(std::memory_order_relaxed);
  const OpenFile& file = open_files[record.file];
  const bool is_known = file.generation.load(std::memory_order_relaxed) == current_generation() &&
                        file.announcement.load(std::memory_order_acquire) == Announcement::kDone;
  if (shared == nullptr || !is_known) return;
  const ErrnoGuard guard;
  push(*shared, record);
}

}  // namespace forebay::interpose

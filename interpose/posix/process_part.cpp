// SPDX-License-Identifier: Apache-2.0
// After fork(), the child is a process of its own: it attaches again. A system call after the
// program has restricted them could end it: stop_recording() precedes.
#include "interpose/posix/process_part.hpp"

#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>

#include <linux/futex.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/process_namespace.hpp"
#include "interpose/posix/recorder.hpp"
#include "interpose/posix/shared_mapping.hpp"

namespace forebay::interpose {

namespace {

using trace::RunMemory;
using trace::RunPartState;
using trace::RunRing;

constexpr std::uint32_t kNoPart = UINT32_MAX;

constinit std::atomic<RunMemory*> memory{nullptr};
constinit std::atomic<std::uint32_t> own_part{kNoPart};
/// Grows with each fork(). In a page that the kernel empties in a child, since raw system calls do
/// not run handlers of pthread_atfork().
constinit std::atomic<std::uint32_t>* generation = nullptr;
constinit std::uint32_t last_generation = 0;
constinit std::atomic<bool> is_attaching{false};
constinit std::atomic<pid_t> own_pid{0};
constinit std::array<char, 64> memory_path{};
constinit pthread_key_t ring_key{};

__thread RunRing* own_ring [[gnu::tls_model("initial-exec")]] = nullptr;
__thread std::uint32_t own_ring_number [[gnu::tls_model("initial-exec")]] = 0;
__thread std::uint32_t ring_generation [[gnu::tls_model("initial-exec")]] = 0;

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
  const std::uint64_t in_namespace = process_namespace();
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
}

/// At the end of a thread. Its later calls record nothing. The ring may be that of a parent. Once
/// the part has ended, any process may have taken it.
void end_ring(void* ring) noexcept {
  own_ring = nullptr;
  RunMemory* const shared = memory.load(std::memory_order_relaxed);
  const bool is_own = generation->load(std::memory_order_relaxed) == ring_generation;
  if (!is_own || own_part.load() == kNoPart) return;
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

constinit std::atomic<bool> is_off{true};

std::uint32_t current_generation() noexcept {
  if (generation->load(std::memory_order_relaxed) == 0) begin_process();
  return generation->load(std::memory_order_relaxed);
}

bool has_own_memory() noexcept {
  return is_recording() && current_generation() != 0 &&
         ::getpid() == own_pid.load(std::memory_order_relaxed);
}

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

RunMemory* joined_memory() noexcept { return memory.load(std::memory_order_relaxed); }

std::uint32_t own_part_number() noexcept { return own_part.load(std::memory_order_relaxed); }

void wake_agent(RunMemory& shared) noexcept {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (shared.doorbell.load(std::memory_order_relaxed) == 0) return;
  if (shared.doorbell.exchange(0, std::memory_order_relaxed) == 0) return;
  ::syscall(SYS_futex, &shared.doorbell, FUTEX_WAKE, 1, nullptr, nullptr, 0);
}

void push(RunMemory& shared, const trace::TraceRecord& record) noexcept {
  RunRing* const ring = ring_of_this_thread(shared);
  if (ring == nullptr) return;
  ring->ring.push(record);
  wake_agent(shared);
}

void raise_to(std::atomic<std::uint32_t>& maximum, std::uint32_t value) noexcept {
  std::uint32_t now = maximum.load(std::memory_order_relaxed);
  while (now < value && !maximum.compare_exchange_weak(now, value))
    ;
}

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
  attached();  // at once: a child of vfork() cannot, and may execute another program
  // `program < file`: the shell has opened it.
  struct stat input{};
  if (::fstat(STDIN_FILENO, &input) == 0 && S_ISREG(input.st_mode))
    add_descriptor(STDIN_FILENO, Position::kUnknown);
}

void stop_recording() noexcept {
  const ErrnoGuard guard;
  if (!has_own_memory()) return;
  is_off.store(true);
  end_part();
}

}  // namespace forebay::interpose

// SPDX-License-Identifier: Apache-2.0
// What the agent does with memory that processes have damaged, and with processes that die.
#include "tools/run/job_records.hpp"

#include <cstring>
#include <random>
#include <span>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "storage/testing.hpp"
#include "tools/run/foresight.hpp"
#include "tools/run/trace_output.hpp"

namespace forebay::run {
namespace {

using trace::RunMemory;
using trace::RunPartState;

/// The memory as a process has it.
class SharedMemory {
 public:
  explicit SharedMemory(const JobRecords& records) {
    const int file = ::open(records.memory_path().c_str(), O_RDWR | O_CLOEXEC);
    memory_ = static_cast<RunMemory*>(
        ::mmap(nullptr, sizeof(RunMemory), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
    ::close(file);
  }
  ~SharedMemory() { ::munmap(memory_, sizeof(RunMemory)); }
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;
  RunMemory* operator->() const { return memory_; }

  /// Takes a part, as a process that has read a file in one thread.
  void record(std::uint32_t part, const char* command) const {
    trace::RunProcess& process = memory_->processes[part];
    process.pid = 4'000'000;
    process.command_bytes = static_cast<std::uint32_t>(std::strlen(command));
    std::memcpy(process.command.data(), command, process.command_bytes);
    memory_->process_end = part + 1;
    process.state = RunPartState::kActive;
    memory_->opens.push([&](trace::RunOpen& open) {
      open = {};
      open.process = part;
      open.file = 1;
      open.path_bytes = 2;
      open.path = {'/', 'f'};
    });
    trace::RunRing& ring = memory_->rings[part];
    ring.process = part;
    ring.thread = 4'000'000;
    memory_->ring_end = part + 1;
    ring.state = RunPartState::kActive;
    ring.ring.push({.size = 1, .begin_ns = 1, .file = 1});
  }

 private:
  RunMemory* memory_ = nullptr;
};

pid_t dead_process() {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  ::waitpid(child, nullptr, 0);
  return child;
}

std::unique_ptr<Foresight> foresight() { return *Foresight::create({}); }

TEST(JobRecordsTest, part_of_a_process_that_dies_when_it_begins_is_free) {
  const auto observer = foresight();
  const auto records = *JobRecords::create(*observer);
  const SharedMemory memory(*records);
  struct stat own{};
  ASSERT_EQ(::stat("/proc/self/ns/pid", &own), 0);
  memory->process_end = 3;
  for (std::uint32_t i = 0; i < 3; ++i)
    memory->processes[i].state = RunPartState::kTaken;
  memory->processes[0].pid = static_cast<std::uint32_t>(dead_process());
  memory->processes[0].pid_namespace = own.st_ino;
  memory->processes[1].pid = static_cast<std::uint32_t>(::getpid());
  memory->processes[1].pid_namespace = own.st_ino;
  records->poll();
  EXPECT_EQ(memory->processes[0].state, RunPartState::kFree);
  EXPECT_EQ(memory->processes[1].state, RunPartState::kTaken);
  EXPECT_EQ(memory->processes[2].state, RunPartState::kTaken);  // has not stated its pid
}

TEST(JobRecordsTest, program_after_exec_is_a_source_of_its_own) {
  const storage::TemporaryDirectory folder;
  const auto output = *TraceOutput::create(folder / "trace");
  const auto records = *JobRecords::create(*output);
  const SharedMemory memory(*records);
  memory.record(0, "first");
  records->poll();
  memory.record(1, "second");
  memory->processes[0].state = RunPartState::kEnded;
  records->finish();
  const auto document = output->finish();
  EXPECT_EQ(document["sources"], 2);
  EXPECT_EQ(document["records"], 2);
  EXPECT_EQ(document["lost_records"], 0);
}

/// Fills memory with numbers that are often valid.
class Damage {
 public:
  explicit Damage(unsigned seed) : random_(seed) {}
  void fill(std::span<std::byte> bytes) {
    for (std::size_t at = 0; at + 8 <= bytes.size(); at += 8) {
      const std::uint64_t all = random_();
      const std::uint64_t value = all >> std::array<unsigned, 4>{0, 32, 56, 62}[all % 4];
      std::memcpy(&bytes[at], &value, 8);
    }
  }
  std::uint32_t below(std::uint32_t limit) { return static_cast<std::uint32_t>(random_() % limit); }

 private:
  std::mt19937_64 random_;
};

void damage(RunMemory& memory, unsigned seed) {
  constexpr std::uint32_t kRings = 4;
  Damage random(seed);
  random.fill(std::as_writable_bytes(std::span(memory.processes)));
  random.fill({reinterpret_cast<std::byte*>(&memory.opens), sizeof memory.opens});
  if (seed % 2 == 0) memory.opens.initialize();
  for (std::uint32_t i = 0; i < 8; ++i)
    memory.processes[i].state = static_cast<RunPartState>(random.below(5));
  for (std::uint32_t i = 0; i < kRings; ++i) {
    trace::RunRing& ring = memory.rings[i];
    random.fill({reinterpret_cast<std::byte*>(&ring), sizeof ring});
    ring.state = static_cast<RunPartState>(random.below(5));
    ring.process = random.below(10);
  }
  memory.process_end = random.below(2) == 0 ? 8 : UINT32_MAX;
  memory.ring_end = random.below(2) == 0 ? kRings : UINT32_MAX;
}

TEST(JobRecordsTest, damaged_memory_changes_only_what_is_recorded) {
  const storage::TemporaryDirectory folder;
  for (unsigned seed = 0; seed < 40; ++seed) {
    const auto observer = foresight();
    const auto output = *TraceOutput::create(folder / "trace");
    JobObserver& used = seed % 4 < 2 ? static_cast<JobObserver&>(*observer) : *output;
    const auto records = *JobRecords::create(used);
    const SharedMemory memory(*records);
    for (unsigned round = 0; round < 3; ++round) {
      damage(*memory.operator->(), seed * 3 + round);
      records->poll();
    }
    records->finish();
    observer->finish();
    output->finish();
  }
}

}  // namespace
}  // namespace forebay::run

// SPDX-License-Identifier: Apache-2.0
// What the preloaded library of `forebay run` writes into the memory of an agent. The test has the
// memory instead of an agent, and examines it after the end of run_probe.
#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/testing.hpp"
#include "trace/run_memory.hpp"

namespace forebay::trace {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

constexpr unsigned kTimeLimitSeconds = 60;

fs::path build_folder() { return fs::read_symlink("/proc/self/exe").parent_path().parent_path(); }
std::string library() { return (build_folder() / "libexec/forebay/libforebay_run.so").string(); }

/// A read in the memory.
struct Read {
  std::string file;
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
  std::uint8_t flags = 0;

  friend bool operator==(const Read&, const Read&) = default;
  friend void PrintTo(const Read& read, std::ostream* out) {
    *out << read.file << " " << read.offset << " " << read.size << " " << int{read.flags};
  }
};

class Records : public ::testing::Test {
 protected:
  Records() {
    for (const char* const name : {"a", "b"})
      std::ofstream(folder / name) << std::string(100'000, 'x');
    file = make_memory("forebay-run", F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
    void* const mapped =
        ::mmap(nullptr, sizeof(RunMemory), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    memory = static_cast<RunMemory*>(mapped);
    memory->opens.initialize();
    memory->version = RunMemory::kVersion;
    memory->magic = RunMemory::kMagic;
    environment = {{"LD_PRELOAD", library()},
                   {"ASAN_OPTIONS", "verify_asan_link_order=0:detect_leaks=0"},
                   {"FOREBAY_RUN_MEMORY", path_of(file)}};
  }
  ~Records() override {
    ::munmap(memory, sizeof(RunMemory));
    ::close(file);
  }
  Records(const Records&) = delete;
  Records& operator=(const Records&) = delete;

  static int make_memory(const char* name, int seals) {
    const int made = ::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    EXPECT_EQ(::ftruncate(made, sizeof(RunMemory)), 0);
    EXPECT_TRUE(seals == 0 || ::fcntl(made, F_ADD_SEALS, seals) == 0);
    return made;
  }
  static std::string path_of(int descriptor) {
    return "/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(descriptor);
  }

  /// Runs the scenario to its end; `prepare` is called in its process.
  int run(const std::string& scenario, void (*prepare)() = [] {}) {
    const std::string program = (build_folder() / "tests/run_probe").string();
    const std::string directory = folder.path();
    const pid_t child = ::fork();
    if (child == 0) {
      ::alarm(kTimeLimitSeconds);
      for (const auto& [name, value] : environment)
        ::setenv(name.c_str(), value.c_str(), 1);
      prepare();
      if (::chdir(directory.c_str()) == 0)
        ::execl(program.c_str(), program.c_str(), scenario.c_str(), nullptr);
      ::_exit(99);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    collect();
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

  void collect() {
    std::map<std::pair<std::uint32_t, std::uint16_t>, std::string> names;
    for (const RunOpen* open = memory->opens.front(); open != nullptr;
         open = memory->opens.front()) {
      const fs::path path(std::string(open->path.data(), open->path_bytes));
      if (open->kind == RunOpenKind::kProgram) {
        EXPECT_EQ(open->process, 0U);
        programs.push_back(path.parent_path() == folder.path() ? "HERE/" + path.filename().string()
                                                               : path.string());
      } else {
        names[{open->process, open->file}] = path.filename();
      }
      memory->opens.pop();
    }
    for (std::uint32_t i = 0; i < memory->ring_end; ++i) {
      RunRing& ring = memory->rings[i];
      ++rings_of[ring.process];
      const auto content = ring.ring.content();
      for (const auto part : {content.first, content.second}) {
        for (const TraceRecord& record : part) {
          if (record.operation != TraceOperation::kRead) continue;
          const std::string name = names[{ring.process, record.file}];
          reads[ring.process].push_back({name, record.offset, record.size, record.flags});
        }
      }
      ring.ring.release(content);
    }
  }
  std::vector<RunPartState> states() const {
    std::vector<RunPartState> found;
    for (std::uint32_t i = 0; i < memory->process_end; ++i)
      found.push_back(memory->processes[i].state);
    return found;
  }

  const TemporaryDirectory folder;
  int file = -1;
  RunMemory* memory = nullptr;
  std::map<std::string, std::string> environment;
  std::vector<std::string> programs;
  std::map<std::uint32_t, std::vector<Read>> reads;  ///< by process
  std::map<std::uint32_t, std::uint32_t> rings_of;   ///< by process
};

TEST_F(Records, raw_fork_makes_a_process_of_its_own) {
  for (const char* const scenario : {"raw_fork", "raw_clone"}) {
    ASSERT_EQ(run(scenario), 0);
  }
  EXPECT_THAT(states(), ::testing::Each(RunPartState::kEnded));
  ASSERT_EQ(reads.size(), 4U);
  for (const std::uint32_t parent : {0U, 2U}) {
    EXPECT_THAT(reads[parent], ElementsAre(Read{"a", 0, 100}, Read{"a", 5000, 400}));
    EXPECT_THAT(reads[parent + 1], ElementsAre(Read{"a", 100, 200}, Read{"b", 0, 300}));
  }
}

TEST_F(Records, thread_that_ends_in_a_raw_fork_leaves_the_ring_of_its_parent) {
  ASSERT_EQ(run("fork_that_ends_its_thread"), 0);
  EXPECT_EQ(memory->rings[0].state, RunPartState::kActive);
  EXPECT_THAT(reads[0], ElementsAre(Read{"a", 0, 100}, Read{"a", 0, 400}));
}

TEST_F(Records, child_of_vfork_changes_nothing) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "the thread sanitizer makes fork() of vfork()";
#endif
  ASSERT_EQ(run("exit_in_child_of_vfork"), 0);
  EXPECT_THAT(states(), ElementsAre(RunPartState::kEnded));
  EXPECT_THAT(reads[0], ElementsAre(Read{"a", 0, 100}, Read{"a", 100, 200}, Read{"a", 300, 300}));
}

TEST_F(Records, executed_program_ends_the_part_of_the_one_before) {
  ASSERT_EQ(run("execute"), 0);
  EXPECT_THAT(states(), ElementsAre(RunPartState::kEnded, RunPartState::kEnded));
  EXPECT_EQ(memory->processes[0].pid, memory->processes[1].pid);
  EXPECT_EQ(reads.at(0).at(0), (Read{"a", 0, 100}));
  EXPECT_EQ(reads.at(1).at(0).file, "a");
  EXPECT_THAT(programs, ElementsAre("/bin/cat"));
}

TEST_F(Records, every_way_to_execute_names_the_program) {
  ASSERT_EQ(run("execute_all_ways"), 0);
  EXPECT_THAT(programs, ElementsAre("/no/1", "HERE/no-2", "no-3", "HERE/no-4", "HERE/b",
                                    "HERE/no-5", "HERE/no-6", "no-7", "/no/8", "HERE/no-9", "no-10",
                                    "/bin/sh", "/bin/sh"));
}

TEST_F(Records, reused_number_is_not_the_file_before) {
  for (const char* const scenario :
       {"reuse_after_failing_freopen", "reuse_after_fclose", "reuse_after_closefrom",
        "reuse_after_open_to_write", "reuse_after_open_of_path", "reuse_after_creat",
        "reuse_after_fopen_to_write", "duplicate_onto_a_number"}) {
    reads.clear();
    ASSERT_EQ(run(scenario), 0) << scenario;
    ASSERT_EQ(reads.size(), 1U) << scenario;
    EXPECT_THAT(reads.begin()->second, ElementsAre(Read{"a", 0, 300})) << scenario;
  }
}

TEST_F(Records, stdio_is_recorded_as_its_buffer_is_filled) {
  ASSERT_EQ(run("read_lines_and_characters"), 0);
  std::uint64_t end = 0;
  std::size_t count = 0;
  for (const Read& read : reads[0]) {
    EXPECT_EQ(read.file, "a");
    const bool is_sought = read.offset <= 50'000 && read.offset + read.size > 50'000;
    EXPECT_TRUE(count == 2 ? is_sought : read.offset == end || read.offset == 0) << count;
    end = read.offset + read.size;
    ++count;
  }
  EXPECT_EQ(end, 100'000U);
  EXPECT_LE(count, 3 + 2 + 26U);
}

TEST_F(Records, descriptor_of_a_stream_has_the_position_of_the_kernel) {
  ASSERT_EQ(run("mix_stream_and_descriptor"), 0);
  EXPECT_THAT(reads[0],
              ElementsAre(Read{"a", 0, 100}, Read{"a", 100, 4096}, Read{"a", 70'000, 77}));
}

TEST_F(Records, mapped_asynchronous_and_spliced_reads_are_recorded) {
  ASSERT_EQ(run("read_without_read"), 0);
  const Read later{"a", 20'000, 1000, kFlagTimeUnknown};
  EXPECT_THAT(reads[0], ElementsAre(Read{"a", 4096, 8192, kFlagMapped | kFlagTimeUnknown}, later,
                                    later, Read{"a", 30'000, 500}, Read{"a", 0, 600}));
}

TEST_F(Records, each_thread_has_a_ring) {
  ASSERT_EQ(run("many_threads"), 0);
  EXPECT_EQ(rings_of[0], 16U);
  EXPECT_EQ(reads[0].size(), 16U);
  EXPECT_EQ(memory->unrecorded_threads, 0U);
}

TEST_F(Records, ring_of_a_living_process_is_not_taken_by_others) {
  memory->processes[7].state = RunPartState::kActive;
  memory->ring_users[0] = 8;
  memory->ring_users[1] = UINT32_MAX;
  memory->ring_users[2] = 10;  // of a part that is free
  ASSERT_EQ(run("many_threads"), 0);
  EXPECT_EQ(memory->rings[0].state, RunPartState::kFree);
  EXPECT_EQ(memory->rings[1].state, RunPartState::kEnded);
  EXPECT_EQ(memory->rings[2].state, RunPartState::kEnded);
}

TEST_F(Records, thread_that_ends_after_recording_leaves_the_ring_of_others) {
  EXPECT_EQ(run("thread_ends_after_recording"), 0);
}

TEST_F(Records, position_is_asked_for_after_another_program_has_moved_it) {
  for (const char* const scenario :
       {"spawned_program_moves_the_position", "program_after_vfork_moves_the_position"}) {
    reads.clear();
    ASSERT_EQ(run(scenario), 0);
    EXPECT_THAT(reads.begin()->second, ElementsAre(Read{"a", 0, 100}, Read{"a", 300, 300}));
  }
}

TEST_F(Records, numbers_of_files_are_given_again_until_they_are_recorded) {
  ASSERT_EQ(run("opens_more_files_than_numbers"), 0);
  EXPECT_THAT(reads[0], ElementsAre(Read{"a", 0, 100}));
  EXPECT_EQ(memory->processes[0].lost_opens, 0U);
}

TEST_F(Records, files_without_a_number_are_counted) {
  ASSERT_EQ(run("reads_more_files_than_numbers"), 0);
  EXPECT_GE(memory->processes[0].lost_opens, 66U);
}

TEST_F(Records, error_of_the_dynamic_linker_is_kept) {
  EXPECT_EQ(run("failed_dlopen_keeps_its_error"), 0);
}

TEST_F(Records, thread_that_the_dynamic_linker_waits_for_reads) {
  ASSERT_EQ(run("thread_reads_during_dlopen"), 0);
  EXPECT_THAT(reads[0], ElementsAre(Read{"b", 0, 4096}));
}

TEST_F(Records, child_of_fork_waits_for_no_lock_of_its_parent) {
  EXPECT_EQ(run("child_of_fork_ends_without_the_dynamic_linker"), 0);
}

TEST_F(Records, checked_and_64_bit_calls_of_stdio_are_recorded) {
  ASSERT_EQ(run("read_checked_and_64_bit"), 0);
  EXPECT_THAT(reads[0], ElementsAre(Read{"a", 0, 4096}, Read{"a", 49'152, 4096}));
}

TEST_F(Records, process_states_its_pid_namespace) {
  const int code = run("new_pid_namespace");
  struct stat own{};
  ASSERT_EQ(::stat("/proc/self/ns/pid", &own), 0);
  EXPECT_EQ(memory->processes[0].pid_namespace, own.st_ino);
  if (code == 77) GTEST_SKIP() << "pid namespaces are not permitted";
  ASSERT_EQ(code, 0);
  EXPECT_EQ(memory->processes[1].pid, 1U);
  EXPECT_NE(memory->processes[1].pid_namespace, own.st_ino);
}

TEST_F(Records, part_of_that_pid_in_another_namespace_is_not_ended) {
  memory->processes[0].state = RunPartState::kActive;
  memory->processes[0].pid = 1;
  memory->processes[0].pid_namespace = 12345;
  memory->process_end = 1;
  const int code = run("new_pid_namespace");
  EXPECT_EQ(memory->processes[0].state, RunPartState::kActive);
  if (code == 77) GTEST_SKIP() << "pid namespaces are not permitted";
}

TEST_F(Records, two_copies_of_the_library_record_once) {
  const std::string copy = folder / "copy.so";
  fs::copy_file(library(), copy);
  environment["LD_PRELOAD"] = library() + ":" + copy;
  ASSERT_EQ(run("many_threads"), 0);
  EXPECT_THAT(states(), ElementsAre(RunPartState::kEnded));
  EXPECT_EQ(reads[0].size(), 16U);
}

TEST_F(Records, limited_address_space_is_left_alone) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "the thread sanitizer needs all of the address space";
#endif
  ASSERT_EQ(run("many_threads",
                [] {
                  const rlimit limit{.rlim_cur = 1ULL << 50U, .rlim_max = 1ULL << 50U};
                  ::setrlimit(RLIMIT_AS, &limit);
                }),
            0);
  EXPECT_THAT(states(), IsEmpty());
}

TEST_F(Records, memory_that_is_not_that_of_an_agent_is_not_used) {
  const int unsealed = make_memory("forebay-run", 0);
  const int other_name = make_memory("other", F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
  const std::string regular = folder / "regular";
  std::ofstream(regular) << "x";
  fs::resize_file(regular, sizeof(RunMemory));
  const std::string fifo = folder / "fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  for (const std::string& path : {path_of(unsealed), path_of(other_name), regular, fifo}) {
    const int opened = ::open(path.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC);
    static_cast<void>(::pwrite(opened, memory, kRunHeadBytes, 0));
    environment["FOREBAY_RUN_MEMORY"] = path;
    EXPECT_EQ(run("many_threads"), 0) << path;
    std::vector<char> now(kRunHeadBytes);
    if (path != fifo) {
      ASSERT_EQ(::pread(opened, now.data(), now.size(), 0), static_cast<ssize_t>(now.size()));
      EXPECT_EQ(std::memcmp(now.data(), memory, now.size()), 0) << path;
    }
    ::close(opened);
  }
  ::close(unsealed);
  ::close(other_name);
}

}  // namespace
}  // namespace forebay::trace

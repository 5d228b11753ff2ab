// SPDX-License-Identifier: Apache-2.0
// Checks of the measuring code: memory in use is counted, processor time belongs to the thread that
// spent it, and word files have their content.
#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstring>
#include <fstream>
#include <sstream>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/frame/clock.hpp"
#include "bench/frame/file_partition.hpp"
#include "bench/frame/peak_memory.hpp"
#include "bench/frame/word_file.hpp"
#include "bench/frame/work_directory.hpp"

namespace forebay::bench {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMiB = 1U << 20U;

// Two samples that begin after this call include the present memory.
void wait_for_samples(const PeakMemory& peak) {
  const std::uint64_t enough = peak.samples() + 2;
  while (peak.samples() < enough)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

TEST(PeakMemory, includes_memory_that_was_touched_and_freed) {
  const std::uint64_t before = pss_bytes(getpid()).value();
  const auto peak = PeakMemory::start();
  ASSERT_TRUE(peak);
  {
    const std::vector<char> block(96 * kMiB, 'x');
    wait_for_samples(**peak);
    ASSERT_EQ(block.back(), 'x');
  }
  const std::uint64_t peak_bytes = (*peak)->stop();
  EXPECT_GE(peak_bytes, before + 90 * kMiB);
  EXPECT_LT(peak_bytes, before + 1024 * kMiB);  // sanitizers need several times as much
  EXPECT_EQ((*peak)->stop(), peak_bytes);
}

TEST(PeakMemory, ended_process_fails) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) _exit(0);
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  EXPECT_FALSE(PeakMemory::start({child}));
  EXPECT_FALSE(pss_bytes(child));
}

TEST(ThreadTimes, name_the_thread_that_worked) {
  std::atomic<bool> may_end{false};
  std::atomic<bool> worked{false};
  std::thread worker([&] {
    pthread_setname_np(pthread_self(), "worker-of-test");
    while (thread_cpu_seconds() < 0.05) {
    }
    worked = true;
    while (!may_end)
      std::this_thread::yield();
  });
  while (!worked)
    std::this_thread::yield();
  const auto threads = thread_times();
  may_end = true;
  worker.join();
  const auto found = std::find_if(threads.begin(), threads.end(), [](const ThreadTime& one) {
    return one.name == "worker-of-test";
  });
  ASSERT_NE(found, threads.end());
  EXPECT_GE(found->cpu_seconds, 0.05);
  EXPECT_GE(process_cpu_seconds(), 0.05);
}

TEST(ThreadTimes, listed_while_threads_start_and_end) {
  constexpr int kSampleCount = 2000;
  std::atomic<bool> may_end{false};
  std::jthread maker([&] {
    while (!may_end)
      std::thread([] {}).join();
  });
  for (int look = 0; look < kSampleCount; ++look) {
    const auto threads = thread_times();
    EXPECT_TRUE(std::any_of(threads.begin(), threads.end(),
                            [](const ThreadTime& one) { return one.id == gettid(); }));
  }
  may_end = true;
}

class WordFile : public testing::Test {
 protected:
  Result<WorkDirectory> directory_ = WorkDirectory::make(".");
  fs::path path_ = directory_.value().path() / "words";
};

TEST_F(WordFile, every_word_is_its_offset) {
  constexpr std::uint64_t kSize = 5 * kMiB + 8;
  std::vector<std::uint64_t> progress;
  const auto note = [&progress](std::uint64_t done, std::uint64_t) { progress.push_back(done); };
  ASSERT_TRUE(write_word_file(path_, kSize, note));
  EXPECT_THAT(progress, testing::ElementsAre(4 * kMiB, kSize));
  ASSERT_EQ(fs::file_size(path_), kSize);
  std::vector<char> bytes(kSize);
  std::ifstream(path_, std::ios::binary).read(bytes.data(), static_cast<std::streamsize>(kSize));
  EXPECT_EQ(first_mismatched_word(std::as_bytes(std::span(bytes)), 0), std::nullopt);
  std::memset(bytes.data() + 4 * kMiB + 16, 1, 1);
  EXPECT_EQ(first_mismatched_word(std::as_bytes(std::span(bytes)), 0), 4 * kMiB + 16);
  EXPECT_EQ(first_mismatched_word(std::as_bytes(std::span(bytes).first(64)), 8), 8U);
}

TEST_F(WordFile, an_existing_file_is_not_overwritten) {
  std::ofstream(path_) << "mine";
  const Status made = write_word_file(path_, 64);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().error_number(), EEXIST);
  EXPECT_EQ(fs::file_size(path_), 4U);
}

TEST_F(WordFile, too_large_file_fails_before_its_first_byte) {
  const Status made = write_word_file(path_, std::uint64_t{1} << 60U);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().kind(), ErrorClass::kNoSpace);
  EXPECT_THAT(made.error().cause(), testing::HasSubstr("--dir"));
  EXPECT_FALSE(fs::exists(path_));
}

TEST(WorkDirectory, removed_with_its_files) {
  fs::path path;
  {
    const auto directory = WorkDirectory::make(".");
    ASSERT_TRUE(directory);
    path = directory->path();
    std::ofstream(path / "file") << "x";
    ASSERT_TRUE(fs::exists(path / "file"));
  }
  EXPECT_FALSE(fs::exists(path));
}

TEST(WorkDirectory, unmounts_what_is_mounted_in_it) {
  fs::path path;
  {
    const auto directory = WorkDirectory::make(".");
    ASSERT_TRUE(directory);
    path = directory->path();
    const fs::path point = path / "mounted here";
    fs::create_directory(point);
    if (mount("test", point.c_str(), "tmpfs", 0, "size=1m") != 0) GTEST_SKIP() << "no tmpfs";
    std::ofstream(point / "file") << "x";
  }
  EXPECT_FALSE(fs::exists(path));
}

TEST(WorkDirectory, missing_parent_fails) {
  const auto directory = WorkDirectory::make("/no/such/directory");
  ASSERT_FALSE(directory);
  EXPECT_EQ(directory.error().kind(), ErrorClass::kNotFound);
}

/// A process with a work directory, waiting for a signal.
struct RunProcess {
  pid_t process = -1;
  fs::path directory;

  /// Its exit code, or the signal that ended it.
  int terminate(int signal_number) const {
    kill(process, signal_number);
    int status = 0;
    EXPECT_EQ(waitpid(process, &status, 0), process);
    return WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status);
  }
};

// The child sends its directory through a pipe once signals are handled.
RunProcess start_run() {
  int ends[2];
  EXPECT_EQ(pipe(ends), 0);
  RunProcess run{.process = fork()};
  if (run.process == 0) {
    const auto directory = WorkDirectory::make(".");
    if (!directory) _exit(1);
    remove_on_signals(directory->path());
    std::ofstream(directory->path() / "file") << "x";
    const std::string path = directory->path().string();
    if (::write(ends[1], path.data(), path.size()) < 0) _exit(1);
    for (;;)
      pause();
  }
  ::close(ends[1]);
  char path[4096] = {};
  EXPECT_GT(::read(ends[0], path, sizeof(path) - 1), 0);
  ::close(ends[0]);
  run.directory = path;
  EXPECT_TRUE(fs::exists(run.directory / "file"));
  return run;
}

TEST(WorkDirectory, removed_when_the_process_is_terminated) {
  const RunProcess run = start_run();
  EXPECT_EQ(run.terminate(SIGTERM), 128 + SIGTERM);
  EXPECT_FALSE(fs::exists(run.directory));
}

/// Bytes of huge pages in the mapping that begins at `address`, as the kernel reports.
std::uint64_t huge_bytes_at(const void* address) {
  std::ostringstream beginning;
  beginning << std::hex << reinterpret_cast<std::uintptr_t>(address) << '-';
  std::ifstream maps("/proc/self/smaps");
  bool is_there = false;
  for (std::string line; std::getline(maps, line);) {
    if (line.rfind(beginning.str(), 0) == 0) is_there = true;
    if (is_there && line.rfind("AnonHugePages:", 0) == 0)
      return std::stoull(line.substr(line.find(':') + 1)) * 1024;
  }
  return 0;
}

TEST(PrefaultedMemory, prefaulted_and_in_huge_pages_where_available) {
  constexpr std::uint64_t kBytes = 8 * kMiB + 8;
  const auto memory = PrefaultedMemory::make(kBytes);
  ASSERT_TRUE(memory) << memory.error().message();
  const auto bytes = memory->bytes();
  EXPECT_EQ(bytes.size(), kBytes);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(bytes.data()) % (2 * kMiB), 0U);
  std::vector<unsigned char> pages(kBytes / 4096 + 1);
  ASSERT_EQ(::mincore(bytes.data(), kBytes, pages.data()), 0);
  EXPECT_EQ(std::count(pages.begin(), pages.end(), 1), std::ssize(pages));
  std::ifstream setting("/sys/kernel/mm/transparent_hugepage/enabled");
  std::string words;
  std::getline(setting, words);
  if (words.empty() || words.find("[never]") != std::string::npos) return;  // no huge pages
  EXPECT_GT(huge_bytes_at(bytes.data()), 0U);
}

TEST(PrefaultedMemory, allocation_failure_is_an_error_not_an_exception) {
  const auto memory = PrefaultedMemory::make(1ULL << 60U);
  ASSERT_FALSE(memory);
  EXPECT_THAT(memory.error().message(), testing::HasSubstr("1152921504606846976 bytes"));
}

TEST(WorkDirectory, directory_of_a_killed_process_is_removed_by_the_next) {
  const RunProcess killed = start_run();
  const RunProcess living = start_run();
  EXPECT_EQ(killed.terminate(SIGKILL), SIGKILL);
  EXPECT_TRUE(fs::exists(killed.directory));
  const auto next = WorkDirectory::make(".");
  EXPECT_FALSE(fs::exists(killed.directory));
  EXPECT_TRUE(fs::exists(living.directory / "file"));
  EXPECT_TRUE(fs::exists(next->path()));
  living.terminate(SIGTERM);
}

TEST(WorkDirectory, cleanup_waits_for_a_run_that_is_ending) {
  const RunProcess killed = start_run();
  std::thread other([&] { EXPECT_EQ(killed.terminate(SIGKILL), SIGKILL); });
  remove_stale_directories(".");
  other.join();
  EXPECT_FALSE(fs::exists(killed.directory));
}

}  // namespace
}  // namespace forebay::bench

// SPDX-License-Identifier: Apache-2.0
// What the conformance suite cannot see of POSIX AIO: that a descriptor which keeps its thread
// waiting holds up no other, that the end waits for it, and that nobody takes the application's
// signals.
#include "storage/aio_backend.hpp"

#include <array>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

#include "base/descriptor.hpp"
#include "base/sanitizer.hpp"
#include "storage/engine.hpp"
#include "storage/testing.hpp"

namespace forebay::storage {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kPipeTag = 1'000'000;
constexpr std::size_t kFileBytes = 10'000;
constexpr auto kAioPatience = std::chrono::seconds(20);

/// A file whose reads take until somebody writes: the reading end of a pipe.
class PipeFile final : public File {
 public:
  PipeFile() {
    std::array<int, 2> ends{};
    EXPECT_EQ(::pipe(ends.data()), 0);
    reader_ = Descriptor(ends[0]);
    writer_ = Descriptor(ends[1]);
  }
  void feed(char byte) const { EXPECT_EQ(::write(writer_.get(), &byte, 1), 1); }

  const std::string& path() const noexcept override { return path_; }
  FileSystem file_system() const noexcept override { return FileSystem::kOther; }
  Access access() const noexcept override { return Access::kBuffered; }
  std::size_t alignment_bytes() const noexcept override { return 1; }
  int descriptor() const noexcept override { return reader_.get(); }
  Result<std::uint64_t> size() const override { return 1; }
  Result<std::size_t> read_at(std::span<std::byte> /*into*/, std::uint64_t /*offset*/) override {
    return 0;
  }
  Result<std::size_t> write_at(std::span<const std::byte> /*from*/,
                               std::uint64_t /*offset*/) override {
    return 0;
  }
  Status sync() override { return {}; }
  Status allocate(ByteRange /*range*/) override { return {}; }
  Status truncate(std::uint64_t /*size_bytes*/) override { return {}; }
  std::optional<double> cached_fraction(ByteRange /*range*/) const override { return {}; }

 private:
  std::string path_ = "pipe";
  Descriptor reader_;
  Descriptor writer_;
};

std::set<std::string> threads_of_this_process() {
  std::set<std::string> found;
  for (const auto& entry : fs::directory_iterator("/proc/self/task"))
    found.insert(entry.path().filename());
  return found;
}

/// A line of /proc/self/task/THREAD/status without its name; empty if the thread is gone.
std::string status_of(const std::string& thread, const std::string& name) {
  std::ifstream status("/proc/self/task/" + thread + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(name + ":\t")) return line.substr(name.size() + 2);
  }
  return {};
}

std::size_t count_of_waiters() {
  std::size_t count = 0;
  for (const std::string& thread : threads_of_this_process())
    count += status_of(thread, "Name") == "forebay-aio" ? 1 : 0;
  return count;
}

/// The system lists a thread for a moment after it has been joined.
bool all_waiters_end() {
  const auto give_up_at = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (count_of_waiters() > 0) {
    if (std::chrono::steady_clock::now() > give_up_at) return false;
    std::this_thread::yield();
  }
  return true;
}

class AioBackend : public ::testing::Test {
 protected:
  /// A test that failed may have left the pipe unread, and the end waits for it.
  void TearDown() override { pipe_.feed('.'); }

  void make_engine(std::size_t queue_depth) {
    auto backend = make_aio_backend(queue_depth);
    ASSERT_TRUE(backend) << backend.error().message();
    engine_.emplace(std::move(*backend), EngineOptions{.queue_depth = queue_depth});
  }
  void read_pipe() {
    const Operation read = read_operation(pipe_, 0, pipe_byte_, kPipeTag);
    ASSERT_EQ(engine_->submit({&read, 1}), 1U);
  }
  std::unique_ptr<File> make_file(const std::string& name) {
    write_pattern_file(folder_ / name, kFileBytes);
    return must_open(folder_ / name);
  }
  /// The tag of the next completion, which must have succeeded.
  std::uint64_t next_tag() {
    std::array<Completion, 1> one;
    const TimePoint deadline = SteadyClock::shared().now() + kAioPatience;
    const std::size_t count = engine_->wait(one, deadline);
    EXPECT_EQ(count, 1U) << "in time";
    if (count == 0) return UINT64_MAX;
    EXPECT_TRUE(one[0].bytes) << one[0].bytes.error().message();
    return one[0].tag;
  }

  TemporaryFolder folder_;
  PipeFile pipe_;
  std::array<std::byte, 1> pipe_byte_{};
  std::optional<Engine> engine_;
};

TEST_F(AioBackend, file_that_keeps_waiting_holds_up_no_other) {
  if (kThreadSanitizer) GTEST_SKIP() << "the thread sanitizer bears one thread of glibc only";
  make_engine(8);
  read_pipe();
  const auto file = make_file("data");
  std::vector<std::byte> memory(kFileBytes);
  for (std::uint64_t round = 0; round < 5; ++round) {
    const Operation read = read_operation(*file, 0, memory, round);
    ASSERT_EQ(engine_->submit({&read, 1}), 1U);
    EXPECT_EQ(next_tag(), round);
  }
  pipe_.feed('x');
  EXPECT_EQ(next_tag(), kPipeTag);
  EXPECT_EQ(pipe_byte_[0], std::byte{'x'});
}

TEST_F(AioBackend, more_files_than_threads_are_all_read) {
  constexpr std::size_t kFiles = 30;
  constexpr std::size_t kReadsOfEach = 2;
  make_engine(kFiles * kReadsOfEach);
  std::vector<std::unique_ptr<File>> files;
  std::vector<std::vector<std::byte>> memory;
  std::vector<Operation> reads;
  for (std::size_t i = 0; i < kFiles * kReadsOfEach; ++i) {
    if (i < kFiles) files.push_back(make_file("data" + std::to_string(i)));
    memory.emplace_back(kFileBytes - i);
  }
  for (std::size_t i = 0; i < memory.size(); ++i)
    reads.push_back(read_operation(*files[i % kFiles], i, memory[i], i));
  for (int round = 0; round < 10; ++round) {
    ASSERT_EQ(engine_->submit(reads), reads.size());
    std::set<std::uint64_t> tags;
    while (tags.size() < reads.size() && !HasFailure())
      tags.insert(next_tag());
    ASSERT_EQ(tags.size(), reads.size());
  }
  for (std::size_t i = 0; i < memory.size(); ++i)
    EXPECT_EQ(matching_pattern(memory[i], i), memory[i].size()) << "read " << i;
  EXPECT_LE(count_of_waiters(), 20U);
  engine_.reset();
  EXPECT_TRUE(all_waiters_end());
}

TEST_F(AioBackend, end_waits_until_memory_is_left_alone) {
  make_engine(2);
  read_pipe();
  std::jthread writer([this] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    pipe_.feed('y');
  });
  engine_.reset();
  EXPECT_EQ(pipe_byte_[0], std::byte{'y'});
}

TEST_F(AioBackend, none_of_its_threads_takes_signals) {
  const std::set<std::string> before = threads_of_this_process();
  make_engine(2);
  read_pipe();
  int seen = 0;
  for (const std::string& thread : threads_of_this_process()) {
    if (before.contains(thread)) continue;
    const std::string blocked = status_of(thread, "SigBlk");
    if (blocked.empty()) continue;  // it has ended
    ++seen;
    for (const int signal : {SIGINT, SIGTERM, SIGUSR1, SIGALRM, SIGCHLD}) {
      const std::uint64_t bit = std::uint64_t{1} << static_cast<unsigned>(signal - 1);
      EXPECT_NE(std::stoull(blocked, nullptr, 16) & bit, 0U) << "signal " << signal;
    }
  }
  EXPECT_GE(seen, 1);  // ours, and glibc's unless an earlier test has left one
  pipe_.feed('z');
  EXPECT_EQ(next_tag(), kPipeTag);
}

}  // namespace
}  // namespace forebay::storage

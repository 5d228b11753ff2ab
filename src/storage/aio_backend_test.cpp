// SPDX-License-Identifier: Apache-2.0
// Properties of POSIX AIO that the conformance suite cannot check. A descriptor that keeps its
// thread waiting blocks no other, the destructor waits for it, and no thread takes the
// application's signals.
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
constexpr auto kAioTimeout = std::chrono::seconds(20);

/// A file whose reads block until a byte is written: the reading end of a pipe.
class PipeFile final : public File {
 public:
  PipeFile() {
    std::array<int, 2> ends{};
    EXPECT_EQ(::pipe(ends.data()), 0);
    reader_ = Descriptor(ends[0]);
    writer_ = Descriptor(ends[1]);
  }
  void write_byte(char byte) const { EXPECT_EQ(::write(writer_.get(), &byte, 1), 1); }

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

std::set<std::string> process_threads() {
  std::set<std::string> found;
  for (const auto& entry : fs::directory_iterator("/proc/self/task"))
    found.insert(entry.path().filename());
  return found;
}

/// A line of /proc/self/task/THREAD/status without its name; empty if the thread has ended.
std::string status_of(const std::string& thread, const std::string& name) {
  std::ifstream status("/proc/self/task/" + thread + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(name + ":\t")) return line.substr(name.size() + 2);
  }
  return {};
}

std::size_t waiter_thread_count() {
  std::size_t count = 0;
  for (const std::string& thread : process_threads())
    count += status_of(thread, "Name") == "forebay-aio" ? 1 : 0;
  return count;
}

/// The system lists a thread for a moment after it was joined.
bool wait_for_waiters_to_end() {
  const auto give_up_at = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (waiter_thread_count() > 0) {
    if (std::chrono::steady_clock::now() > give_up_at) return false;
    std::this_thread::yield();
  }
  return true;
}

class AioBackend : public ::testing::Test {
 protected:
  /// A failed test may have left the pipe unread, and the destructor waits for it.
  void TearDown() override { pipe_.write_byte('.'); }

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
    write_pattern_file(directory_ / name, kFileBytes);
    return must_open(directory_ / name);
  }
  /// The tag of the next completion, which must have succeeded.
  std::uint64_t next_tag() {
    std::array<Completion, 1> one;
    const TimePoint deadline = SteadyClock::shared().now() + kAioTimeout;
    const std::size_t count = engine_->wait(one, deadline);
    EXPECT_EQ(count, 1U) << "in time";
    if (count == 0) return UINT64_MAX;
    EXPECT_TRUE(one[0].bytes) << one[0].bytes.error().message();
    return one[0].tag;
  }

  TemporaryDirectory directory_;
  PipeFile pipe_;
  std::array<std::byte, 1> pipe_byte_{};
  std::optional<Engine> engine_;
};

TEST_F(AioBackend, waiting_file_does_not_delay_others) {
  if (kThreadSanitizer) GTEST_SKIP() << "the thread sanitizer supports only one thread of glibc";
  make_engine(8);
  read_pipe();
  const auto file = make_file("data");
  std::vector<std::byte> memory(kFileBytes);
  for (std::uint64_t round = 0; round < 5; ++round) {
    const Operation read = read_operation(*file, 0, memory, round);
    ASSERT_EQ(engine_->submit({&read, 1}), 1U);
    EXPECT_EQ(next_tag(), round);
  }
  pipe_.write_byte('x');
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
  EXPECT_LE(waiter_thread_count(), 20U);
  engine_.reset();
  EXPECT_TRUE(wait_for_waiters_to_end());
}

TEST_F(AioBackend, destructor_waits_for_operations_in_flight) {
  make_engine(2);
  read_pipe();
  std::jthread writer([this] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    pipe_.write_byte('y');
  });
  engine_.reset();
  EXPECT_EQ(pipe_byte_[0], std::byte{'y'});
}

TEST_F(AioBackend, all_threads_block_signals) {
  const std::set<std::string> before = process_threads();
  make_engine(2);
  read_pipe();
  int seen = 0;
  for (const std::string& thread : process_threads()) {
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
  pipe_.write_byte('z');
  EXPECT_EQ(next_tag(), kPipeTag);
}

}  // namespace
}  // namespace forebay::storage

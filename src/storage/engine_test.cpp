// SPDX-License-Identifier: Apache-2.0
// Cases that the conformance suite cannot time or arrange: back-off with a manual clock, the end of
// retries, and transfers longer than one system call moves, on a simulated file.
#include "storage/engine.hpp"

#include <cerrno>
#include <map>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include "storage/memory_backend.hpp"
#include "storage/memory_file.hpp"
#include "storage/testing.hpp"

namespace forebay::storage {
namespace {

using ::testing::HasSubstr;

/// A clock that advances by a fixed step on each call.
class SteppingClock final : public Clock {
 public:
  TimePoint now() const noexcept override { return now_ += std::chrono::microseconds(50); }

 private:
  mutable TimePoint now_{};
};

/// Completes each attempt from a script of results; after its end all attempts succeed in full.
class ScriptedBackend final : public Backend {
 public:
  explicit ScriptedBackend(std::vector<std::int64_t> results) : results_(std::move(results)) {}
  std::string_view name() const noexcept override { return "scripted"; }
  std::size_t capacity() const noexcept override { return 4; }
  bool can_submit(const File& /*file*/) const noexcept override { return true; }
  std::size_t submit(std::span<const Operation> operations) override {
    attempts.insert(attempts.end(), operations.begin(), operations.end());
    waiting_.insert(waiting_.end(), operations.begin(), operations.end());
    return operations.size();
  }
  std::size_t wait(std::span<RawCompletion> completions, Deadline /*deadline*/) override {
    if (waiting_.empty()) return 0;
    const Operation operation = waiting_.front();
    waiting_.erase(waiting_.begin());
    const bool scripted = next_ < results_.size();
    completions[0] = {operation.tag, scripted ? results_[next_++]
                                              : static_cast<std::int64_t>(operation.memory.size())};
    return 1;
  }
  void wake() noexcept override {}
  Status watch(int /*descriptor*/) override { return {}; }
  bool consume_watch_event() noexcept override { return false; }

  std::vector<Operation> attempts;

 private:
  std::vector<std::int64_t> results_;
  std::size_t next_ = 0;
  std::vector<Operation> waiting_;
};

class EngineTest : public ::testing::Test {
 protected:
  /// Runs one read of 1000 bytes at offset 50 against a script.
  Completion read_with(std::vector<std::int64_t> results) {
    auto scripted = std::make_unique<ScriptedBackend>(std::move(results));
    backend_ = scripted.get();
    engine_.emplace(std::move(scripted), EngineOptions{.clock = &clock_});
    const Operation read = read_operation(file_, 50, memory_, 7);
    EXPECT_EQ(engine_->submit({&read, 1}), 1U);
    std::array<Completion, 1> completions;
    EXPECT_EQ(engine_->wait(completions, std::nullopt), 1U);
    return completions[0];
  }

  SteppingClock clock_;
  MemoryFile file_{"data", pattern(2000)};
  std::vector<std::byte> memory_ = std::vector<std::byte>(1000);
  ScriptedBackend* backend_ = nullptr;
  std::optional<Engine> engine_;
};

TEST_F(EngineTest, short_transfer_is_resumed) {
  EXPECT_EQ(*read_with({300, -EINTR, 200}).bytes, 1000U);
  ASSERT_EQ(backend_->attempts.size(), 4U);
  EXPECT_EQ(backend_->attempts[1].offset_bytes, 350U);
  EXPECT_EQ(backend_->attempts[1].memory.data(), memory_.data() + 300);
  EXPECT_EQ(backend_->attempts[1].memory.size(), 700U);
  EXPECT_EQ(backend_->attempts[2].offset_bytes, 350U);
  EXPECT_EQ(backend_->attempts[3].offset_bytes, 550U);
}

TEST_F(EngineTest, wake_is_not_lost_to_a_resumed_transfer) {
  auto scripted = std::make_unique<ScriptedBackend>(std::vector<std::int64_t>{300});
  engine_.emplace(std::move(scripted), EngineOptions{.clock = &clock_});
  const Operation read = read_operation(file_, 50, memory_, 7);
  EXPECT_EQ(engine_->submit({&read, 1}), 1U);
  engine_->wake();
  std::array<Completion, 1> completions;
  EXPECT_EQ(engine_->wait(completions, std::nullopt), 0U);
  EXPECT_EQ(engine_->wait(completions, std::nullopt), 1U);
  EXPECT_EQ(*completions[0].bytes, 1000U);
}

TEST_F(EngineTest, zero_bytes_read_are_the_end_of_the_file) {
  EXPECT_EQ(*read_with({300, 0}).bytes, 300U);
  EXPECT_EQ(*read_with({0}).bytes, 0U);
}

TEST_F(EngineTest, error_after_a_partial_transfer_names_its_offset) {
  const Completion completion = read_with({300, -EIO});
  EXPECT_EQ(completion.tag, 7U);
  ASSERT_FALSE(completion.bytes);
  EXPECT_EQ(completion.bytes.error().message(),
            "read data at offset 350: Input/output error (EIO)");
}

TEST_F(EngineTest, eagain_is_retried_and_backoff_is_reset) {
  EXPECT_EQ(*read_with({-EAGAIN, -EAGAIN, 300, -EAGAIN}).bytes, 1000U);
  EXPECT_EQ(backend_->attempts.size(), 5U);
}

TEST_F(EngineTest, permanent_eagain_becomes_an_error) {
  const Completion completion = read_with(std::vector<std::int64_t>(1000, -EAGAIN));
  ASSERT_FALSE(completion.bytes);
  EXPECT_EQ(completion.bytes.error().error_number(), EAGAIN);
  EXPECT_THAT(completion.bytes.error().message(), HasSubstr("retries exceeded"));
  // 100 us, doubled until 5 s are over: the limit is reached in few attempts.
  EXPECT_GT(backend_->attempts.size(), 10U);
  EXPECT_LT(backend_->attempts.size(), 20U);
}

TEST_F(EngineTest, stop_retries_fails_operations_that_wait_for_a_retry) {
  SteadyClock real;
  engine_.emplace(std::make_unique<ScriptedBackend>(std::vector<std::int64_t>(1000, -EAGAIN)),
                  EngineOptions{.retry_first_us = std::chrono::hours(1),
                                .retry_total_us_max = std::chrono::hours(9),
                                .clock = &real});
  const Operation read = read_operation(file_, 0, memory_, 7);
  engine_->submit({&read, 1});
  std::array<Completion, 2> completions;
  EXPECT_EQ(engine_->wait(completions, kDoNotBlock), 0U);
  EXPECT_EQ(engine_->in_flight(), 1U);
  engine_->stop_retries();
  ASSERT_EQ(engine_->wait(completions, std::nullopt), 1U);
  EXPECT_EQ(completions[0].bytes.error().error_number(), EAGAIN);
  EXPECT_EQ(engine_->in_flight(), 0U);
  engine_->submit({&read, 1});
  ASSERT_EQ(engine_->wait(completions, std::nullopt), 1U);
  EXPECT_FALSE(completions[0].bytes);
}

TEST_F(EngineTest, write_of_zero_bytes_is_an_error_and_ends) {
  engine_.emplace(std::make_unique<ScriptedBackend>(std::vector<std::int64_t>{10, 0}));
  const Operation write = write_operation(file_, 5, memory_, 1);
  engine_->submit({&write, 1});
  std::array<Completion, 1> completions;
  ASSERT_EQ(engine_->wait(completions, std::nullopt), 1U);
  ASSERT_FALSE(completions[0].bytes);
  EXPECT_EQ(completions[0].bytes.error().offset_bytes(), 15U);
}

TEST_F(EngineTest, completions_keep_the_order_of_the_backend) {
  auto held = std::make_unique<MemoryBackend>(8);
  MemoryBackend& control = *held;
  engine_.emplace(std::move(held));
  control.hold();
  const std::span<std::byte> into(memory_);
  const std::array<Operation, 3> reads{read_operation(file_, 0, into.first(10), 1),
                                       read_operation(file_, 0, into.first(10), 2),
                                       read_operation(file_, 0, into.first(10), 3)};
  EXPECT_EQ(engine_->submit(reads), 3U);
  EXPECT_EQ(control.held_count(), 3U);
  std::array<Completion, 3> completions;
  EXPECT_EQ(engine_->wait(completions, kDoNotBlock), 0U);
  EXPECT_TRUE(control.release(2));
  EXPECT_TRUE(control.release(0));
  EXPECT_FALSE(control.release(5));
  ASSERT_EQ(engine_->wait(completions, std::nullopt), 2U);
  EXPECT_EQ(completions[0].tag, 3U);
  EXPECT_EQ(completions[1].tag, 1U);
  control.release_all();
  ASSERT_EQ(engine_->wait(completions, std::nullopt), 1U);
  EXPECT_EQ(completions[0].tag, 2U);
}

/// Simulates a long file: moves all requested bytes and touches no memory.
class FakeFile final : public File {
 public:
  struct Properties {
    FileSystem file_system = FileSystem::kMemory;
    Access access = Access::kBuffered;
    std::size_t alignment_bytes = 1;
  };
  FakeFile() = default;
  explicit FakeFile(const Properties& properties) : properties_(properties) {}
  const std::string& path() const noexcept override { return path_; }
  FileSystem file_system() const noexcept override { return properties_.file_system; }
  Access access() const noexcept override { return properties_.access; }
  std::size_t alignment_bytes() const noexcept override { return properties_.alignment_bytes; }
  int descriptor() const noexcept override { return -1; }
  Result<std::uint64_t> size() const override { return kAll; }
  Result<std::size_t> read_at(std::span<std::byte> into, std::uint64_t offset_bytes) override {
    moved.push_back({offset_bytes, into.size()});
    return into.size();
  }
  Result<std::size_t> write_at(std::span<const std::byte> from,
                               std::uint64_t offset_bytes) override {
    moved.push_back({offset_bytes, from.size()});
    return from.size();
  }
  Status sync() override { return {}; }
  Status allocate(ByteRange /*range*/) override { return {}; }
  Status truncate(std::uint64_t /*size_bytes*/) override { return {}; }
  std::optional<double> cached_fraction(ByteRange /*range*/) const override { return 1; }

  std::vector<ByteRange> moved;

 private:
  const Properties properties_;
  std::string path_ = "simulated";
};

struct WriteOutcome {
  Completion completion;
  std::vector<Operation> attempts;
};

/// Outcome of a write of 2048 bytes at offset 4096, of which the first attempt fails.
WriteOutcome write_to(FakeFile& file, std::vector<std::int64_t> results) {
  auto scripted = std::make_unique<ScriptedBackend>(std::move(results));
  const ScriptedBackend& backend = *scripted;
  Engine engine(std::move(scripted));
  std::vector<std::byte> memory(2048);
  const Operation write = write_operation(file, 4096, memory, 1);
  engine.submit({&write, 1});
  std::array<Completion, 1> completions;
  EXPECT_EQ(engine.wait(completions, std::nullopt), 1U);
  return {completions[0], backend.attempts};
}

TEST(EngineOnFuse, failed_direct_write_is_halved_until_one_block_fails) {
  FakeFile file({FileSystem::kFuse, Access::kDirect, 512});
  // Room for 1536 of 2048 bytes.
  const WriteOutcome full = write_to(file, {-EIO, 1024, -EIO, 512, -EDQUOT});
  ASSERT_FALSE(full.completion.bytes);
  EXPECT_EQ(full.completion.bytes.error().error_number(), EDQUOT);
  EXPECT_EQ(full.completion.bytes.error().offset_bytes(), 4096 + 1536U);
  std::vector<ByteRange> tried;
  for (const Operation& one : full.attempts)
    tried.push_back({one.offset_bytes, one.memory.size()});
  const std::vector<ByteRange> halves{
      {4096, 2048}, {4096, 1024}, {5120, 1024}, {5120, 512}, {5632, 512}};
  EXPECT_EQ(tried, halves);
}

TEST(EngineOnFuse, error_of_a_single_block_is_final) {
  FakeFile file({FileSystem::kFuse, Access::kDirect, 512});
  const WriteOutcome bad = write_to(file, {-EIO, -EIO, -EIO});
  ASSERT_FALSE(bad.completion.bytes);
  EXPECT_EQ(bad.completion.bytes.error().error_number(), EIO);
  EXPECT_EQ(bad.completion.bytes.error().offset_bytes(), 4096U);
  EXPECT_EQ(bad.attempts.size(), 3U);
}

TEST(EngineOnFuse, transient_error_is_overcome_by_smaller_writes) {
  FakeFile file({FileSystem::kFuse, Access::kDirect, 512});
  const WriteOutcome good = write_to(file, {-EIO, -EINTR, 1024, 1024});
  ASSERT_TRUE(good.completion.bytes);
  EXPECT_EQ(*good.completion.bytes, 2048U);
}

TEST(EngineOnFuse, other_errors_are_not_retried) {
  FakeFile buffered({FileSystem::kFuse, Access::kBuffered, 1});
  FakeFile elsewhere({FileSystem::kExt, Access::kDirect, 512});
  for (FakeFile* const file : {&buffered, &elsewhere}) {
    const WriteOutcome bad = write_to(*file, {-EIO});
    ASSERT_FALSE(bad.completion.bytes);
    EXPECT_EQ(bad.completion.bytes.error().error_number(), EIO);
    EXPECT_EQ(bad.attempts.size(), 1U);
  }
}

TEST(EngineLongTransfer, transfer_over_the_limit_of_one_call_is_split_without_gaps) {
  constexpr std::uint64_t kSize = 5_GiB;
  constexpr std::uint64_t kOffset = 3_GiB + 1;
  void* const nothing =
      ::mmap(nullptr, kSize, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(nothing, MAP_FAILED);
  const std::span<std::byte> memory(static_cast<std::byte*>(nothing), kSize);
  Engine engine(std::make_unique<MemoryBackend>(4));
  for (const OperationKind kind : {OperationKind::kRead, OperationKind::kWrite}) {
    FakeFile file;
    const Operation operation{
        .kind = kind, .file = &file, .offset_bytes = kOffset, .memory = memory, .tag = 1};
    engine.submit({&operation, 1});
    std::array<Completion, 1> completions;
    ASSERT_EQ(engine.wait(completions, std::nullopt), 1U);
    EXPECT_EQ(*completions[0].bytes, kSize);
    EXPECT_EQ(file.moved, (std::vector<ByteRange>{
                              {kOffset, kTransferBytesMax},
                              {kOffset + kTransferBytesMax, kTransferBytesMax},
                              {kOffset + 2 * kTransferBytesMax, kSize - 2 * kTransferBytesMax}}));
  }
  ::munmap(nothing, kSize);
}

}  // namespace
}  // namespace forebay::storage

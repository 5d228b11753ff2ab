// SPDX-License-Identifier: Apache-2.0
// TracedFile: the same results as the plain file, and a record for each read, write and sync.
#include "trace/traced_file.hpp"

#include <chrono>

#include <gtest/gtest.h>

#include "base/testing.hpp"
#include "storage/faulty.hpp"
#include "storage/memory_file.hpp"
#include "storage/testing.hpp"
#include "trace/trace_reader.hpp"

namespace forebay::trace {
namespace {

using namespace std::chrono_literals;

/// Advances by 1 µs at each call.
class SteppingClock final : public Clock {
 public:
  explicit SteppingClock(TimePoint start) : now_(start) {}
  TimePoint now() const noexcept override { return now_ += 1us; }

 private:
  mutable TimePoint now_;
};

class TracedFileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto trace = storage::must_open(path(), {.intent = storage::Intent::kCreate});
    recorder_ = TraceRecorder::start(std::move(trace), {}).value();
  }
  std::string path() const { return directory_ / "run.trace"; }
  TracedFile trace(std::unique_ptr<storage::File> file) {
    return {std::move(file), {recorder_, recorder_->add_file({.path = "data"}), clock_}};
  }
  std::vector<TraceRecord> stop() {
    EXPECT_TRUE(recorder_->stop());
    auto reader = TraceReader::open(storage::must_open(path())).value();
    std::vector<TraceRecord> all;
    while (const auto block = reader.next().value())
      if (const auto* records = std::get_if<RecordsBlock>(&*block))
        all.insert(all.end(), records->records.begin(), records->records.end());
    return all;
  }

  const TemporaryDirectory directory_;
  const SteppingClock clock_{SteadyClock::shared().now() + 1h};
  std::shared_ptr<TraceRecorder> recorder_;
};

TEST_F(TracedFileTest, reads_writes_and_syncs_are_recorded_with_their_results) {
  auto inner = std::make_unique<storage::FaultyFile>(
      std::make_unique<storage::MemoryFile>("data", storage::pattern(1000)),
      storage::FileFaults{.bad_offset = 10});
  TracedFile file = trace(std::move(inner));
  std::vector<std::byte> bytes(100);
  EXPECT_EQ(file.read_at(bytes, 500).value(), 100U);
  EXPECT_EQ(storage::matching_pattern(bytes, 500), 100U);
  EXPECT_EQ(file.read_at(bytes, 950).value(), 50U);
  EXPECT_EQ(file.read_at(bytes, 2000).value(), 0U);
  EXPECT_EQ(error_class(file.read_at(bytes, 0)), ErrorClass::kIo);
  EXPECT_EQ(file.write_at(bytes, 990).value(), 100U);
  EXPECT_EQ(error_class(file.write_at(bytes, 1)), ErrorClass::kIo);
  EXPECT_TRUE(file.sync());
  EXPECT_EQ(file.size().value(), 1090U);

  const auto records = stop();
  ASSERT_EQ(records.size(), 7U);
  const std::uint64_t first_ns = records.front().begin_ns;
  auto expect = [&, i = std::size_t{0}](TraceRecord record) mutable {
    record.file = 0;
    record.begin_ns = first_ns + 2000 * i;
    record.duration_ns = 1000;
    EXPECT_EQ(records[i], record) << i;
    ++i;
  };
  expect({.offset = 500, .size = 100});
  expect({.offset = 950, .size = 50});
  expect({.offset = 2000, .size = 0});
  expect({.offset = 0, .size = 100, .flags = kFlagFailed});
  expect({.offset = 990, .size = 100, .operation = TraceOperation::kWrite});
  expect({.offset = 1, .size = 100, .operation = TraceOperation::kWrite, .flags = kFlagFailed});
  expect({.operation = TraceOperation::kSync});
}

TEST_F(TracedFileTest, all_other_calls_are_passed_on) {
  const std::string data = directory_ / "data";
  storage::write_pattern_file(data, 100'000);
  const auto plain = storage::must_open(data);
  TracedFile file = trace(storage::must_open(data, {.intent = storage::Intent::kWrite}));
  EXPECT_EQ(file.path(), data);
  EXPECT_EQ(file.descriptor(), -1);
  EXPECT_EQ(file.access(), plain->access());
  EXPECT_EQ(file.file_system(), plain->file_system());
  EXPECT_EQ(file.alignment_bytes(), plain->alignment_bytes());
  EXPECT_EQ(file.cached_fraction({0, 100'000}).has_value(),
            plain->cached_fraction({0, 100'000}).has_value());
  EXPECT_EQ(file.free_bytes().has_value(), plain->free_bytes().has_value());
  EXPECT_TRUE(file.truncate(50'000));
  EXPECT_EQ(plain->size().value(), 50'000U);
  const auto allows = [](const Status& status) {
    return status.has_value() || status.error().kind() == ErrorClass::kUnsupported;
  };
  EXPECT_TRUE(allows(file.allocate({0, 60'000})));
  EXPECT_TRUE(allows(file.reserve({60'000, 10'000})));
  EXPECT_TRUE(allows(file.punch_hole({0, 4096})));
  EXPECT_TRUE(stop().empty());
}

}  // namespace
}  // namespace forebay::trace

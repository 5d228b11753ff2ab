// SPDX-License-Identifier: Apache-2.0
// TraceRecorder: records of several threads, full rings, files added meanwhile, failed writes.
#include "trace/trace_recorder.hpp"

#include <chrono>
#include <map>
#include <thread>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/testing.hpp"
#include "storage/faulty.hpp"
#include "storage/testing.hpp"
#include "trace/trace_reader.hpp"

namespace forebay::trace {
namespace {

using namespace std::chrono_literals;

struct RecordedSource {
  SourceInfo info;
  std::vector<TraceRecord> records;
  std::uint64_t lost = 0;
};

class TraceRecorderTest : public ::testing::Test {
 protected:
  static constexpr std::chrono::milliseconds kNever = 1h;  ///< only stop() empties rings

  std::string path() const { return directory_ / "run.trace"; }
  std::shared_ptr<TraceRecorder> start(std::chrono::milliseconds interval) {
    auto file = storage::must_open(path(), {.intent = storage::Intent::kCreateNew});
    return TraceRecorder::start(std::move(file), {{.host = "h", .process = 4}, interval}).value();
  }
  /// Fails the test for a file number without a block, and for damage.
  std::map<std::uint32_t, RecordedSource> read() {
    std::map<std::uint32_t, RecordedSource> sources;
    auto reader = TraceReader::open(storage::must_open(path())).value();
    while (const auto block = reader.next().value()) {
      if (const auto* source = std::get_if<SourceBlock>(&*block))
        sources[source->number].info = source->info;
      if (const auto* file = std::get_if<FileBlock>(&*block)) paths_.push_back(file->info.path);
      if (const auto* records = std::get_if<RecordsBlock>(&*block)) {
        auto& source = sources.at(records->source);
        source.lost += records->lost_records;
        source.records.insert(source.records.end(), records->records.begin(),
                              records->records.end());
      }
    }
    EXPECT_TRUE(reader.warnings().empty());
    return sources;
  }

  const TemporaryDirectory directory_;
  std::vector<std::string> paths_;  ///< of the files of the trace that read() has read
};

void record_numbers(TraceRecorder& recorder, std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i)
    recorder.record({.offset = i});
}

void expect_numbers(const std::vector<TraceRecord>& records, std::uint64_t count) {
  ASSERT_EQ(records.size(), count);
  for (std::uint64_t i = 0; i < count; ++i)
    ASSERT_EQ(records[i].offset, i);
}

TEST_F(TraceRecorderTest, call_is_recorded_with_its_times) {
  const auto recorder = start(kNever);
  const std::uint16_t file = recorder->add_file({.path = "data"});
  const TimePoint now = SteadyClock::shared().now();
  recorder->record({.offset = 5,
                    .size = 6,
                    .begin = now,
                    .end = now + 7us,
                    .file = file,
                    .operation = TraceOperation::kWrite,
                    .flags = kFlagMapped});
  recorder->record({.begin = now - 1h, .end = now + 1h});
  recorder->record({.offset = UINT64_MAX, .size = 3, .begin = now, .end = now - 1s});
  ASSERT_TRUE(recorder->stop());
  const auto sources = read();
  ASSERT_EQ(sources.size(), 1U);
  EXPECT_EQ(
      sources.at(0).info,
      (SourceInfo{.host = "h", .process = 4, .thread = static_cast<std::uint64_t>(::gettid())}));
  EXPECT_EQ(paths_, std::vector<std::string>{"data"});
  const auto& records = sources.at(0).records;
  ASSERT_EQ(records.size(), 3U);
  EXPECT_EQ(records[0], (TraceRecord{.offset = 5,
                                     .size = 6,
                                     .begin_ns = records[0].begin_ns,
                                     .duration_ns = 7000,
                                     .file = file,
                                     .operation = TraceOperation::kWrite,
                                     .flags = kFlagMapped}));
  EXPECT_EQ(records[1], (TraceRecord{.begin_ns = 0, .duration_ns = UINT32_MAX}));
  EXPECT_EQ(records[2],
            (TraceRecord{.size = 3, .begin_ns = records[0].begin_ns, .flags = kFlagOffsetUnknown}));
}

TEST_F(TraceRecorderTest, records_that_exceed_a_full_ring_are_counted) {
  const auto recorder = start(kNever);
  record_numbers(*recorder, TraceRing::kRecords + 904);
  ASSERT_TRUE(recorder->stop());
  const auto sources = read();
  expect_numbers(sources.at(0).records, TraceRing::kRecords);
  EXPECT_EQ(sources.at(0).lost, 904U);
  EXPECT_EQ(recorder->lost_records(), 904U);
}

TEST_F(TraceRecorderTest, several_threads_record_at_the_same_time) {
  constexpr int kThreads = 8;
  constexpr std::uint64_t kCalls = 20'000;
  const auto recorder = start(1ms);
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i)
    threads.emplace_back([&] {
      for (std::uint64_t call = 0; call < kCalls; ++call) {
        // A record may be written at once, so its file must be in the trace before it.
        const bool is_new = call % 1000 == 0;
        const std::uint16_t file = is_new ? recorder->add_file({}) : kFileUnknown;
        recorder->record({.offset = call, .file = file});
      }
    });
  for (std::thread& thread : threads)
    thread.join();
  ASSERT_TRUE(recorder->stop());
  const auto sources = read();
  ASSERT_EQ(sources.size(), std::size_t{kThreads});
  std::uint64_t lost = 0;
  for (const auto& [number, source] : sources) {
    EXPECT_EQ(source.records.size() + source.lost, kCalls);
    EXPECT_TRUE(std::ranges::is_sorted(source.records, std::less<>(), &TraceRecord::offset));
    lost += source.lost;
  }
  EXPECT_EQ(recorder->lost_records(), lost);
  EXPECT_EQ(paths_.size(), kThreads * kCalls / 1000);
}

TEST_F(TraceRecorderTest, thousand_short_threads_are_thousand_sources) {
  const auto recorder = start(1ms);
  for (std::uint64_t i = 0; i < 1000; ++i)
    std::thread([&] { record_numbers(*recorder, i % 3); }).join();
  ASSERT_TRUE(recorder->stop());
  const auto sources = read();
  // Each third thread records nothing.
  ASSERT_EQ(sources.size(), 666U);
  for (const auto& [number, source] : sources)
    expect_numbers(source.records, number % 2 + 1);
}

TEST_F(TraceRecorderTest, thread_records_for_two_recorders_in_turn) {
  const auto first = start(kNever);
  const TemporaryDirectory other;
  const auto second =
      TraceRecorder::start(
          storage::must_open(other / "trace", {.intent = storage::Intent::kCreate}), {})
          .value();
  for (std::uint64_t i = 0; i < 10; ++i) {
    first->record({.offset = i});
    second->record({.offset = i + 100});
  }
  ASSERT_TRUE(first->stop());
  ASSERT_TRUE(second->stop());
  expect_numbers(read().at(0).records, 10);
}

TEST_F(TraceRecorderTest, calls_after_stop_have_no_effect) {
  const auto recorder = start(kNever);
  record_numbers(*recorder, 3);
  ASSERT_TRUE(recorder->stop());
  record_numbers(*recorder, 10'000);
  ASSERT_TRUE(recorder->stop());
  expect_numbers(read().at(0).records, 3);
}

/// Records when its thread destroys it.
struct LateRecord {
  ~LateRecord() { recorder->record({}); }
  TraceRecorder* recorder = nullptr;
};

TEST_F(TraceRecorderTest, call_while_a_thread_ends_is_counted_as_lost) {
  const auto recorder = start(kNever);
  std::thread([&] {
    thread_local LateRecord late;
    late.recorder = recorder.get();
    record_numbers(*recorder, 2);
  }).join();
  ASSERT_TRUE(recorder->stop());
  const auto sources = read();
  ASSERT_EQ(sources.size(), 1U);
  expect_numbers(sources.at(0).records, 2);
  EXPECT_EQ(recorder->lost_records(), 1U);
}

TEST_F(TraceRecorderTest, files_beyond_the_limit_have_no_number) {
  const auto recorder = start(kNever);
  for (std::uint32_t i = 0; i < kFilesMax; ++i)
    ASSERT_EQ(recorder->add_file({}), i);
  EXPECT_EQ(recorder->add_file({}), kFileUnknown);
  ASSERT_TRUE(recorder->stop());
  read();
  EXPECT_EQ(paths_.size(), kFilesMax);
}

TEST_F(TraceRecorderTest, failed_write_is_returned_by_stop) {
  auto file = std::make_unique<storage::FaultyFile>(
      storage::must_open(path(), {.intent = storage::Intent::kCreate}),
      storage::FileFaults{.bad_offset = 100});
  const auto recorder = TraceRecorder::start(std::move(file), {{}, kNever}).value();
  record_numbers(*recorder, 3);
  EXPECT_EQ(error_class(recorder->stop()), ErrorClass::kIo);
  EXPECT_EQ(error_class(recorder->stop()), ErrorClass::kIo);
  EXPECT_TRUE(read().empty());
}

TEST_F(TraceRecorderTest, child_of_fork_records_nothing) {
  auto recorder = start(kNever);
  record_numbers(*recorder, 3);
  const pid_t child = ::fork();
  if (child == 0) {
    record_numbers(*recorder, 10);
    const bool is_refused = error_class(recorder->stop()) == ErrorClass::kClosed &&
                            recorder->add_file({}) == kFileUnknown;
    recorder.reset();
    ::_exit(is_refused ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  ASSERT_TRUE(recorder->stop());
  expect_numbers(read().at(0).records, 3);
}

}  // namespace
}  // namespace forebay::trace

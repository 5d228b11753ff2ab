// SPDX-License-Identifier: Apache-2.0
// Files of a dataset, written by one or two writers: bytes reach their offsets, errors reach their
// callers and stop nothing else, and no writer truncates bytes of another.
#include "write/async_file_writer.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <future>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "format/data_header.hpp"
#include "storage/testing.hpp"
#include "stream/testing.hpp"

namespace forebay::write {
namespace {

using format::DataFileName;
using storage::AlignedMemory;
using storage::fill_pattern;
using storage::matching_pattern;
using stream::is_ok;
using stream::StreamConfig;
using stream::StreamFixture;

constexpr auto kTimeout = std::chrono::seconds(60);
constexpr std::uint64_t kPage = format::kPageBytes;
constexpr format::DatasetId kDataset{std::byte{7}, std::byte{1}};
constexpr DataFileName kFirst{.group = 1, .file = 0};

/// A result that arrives on another thread.
template <class T>
class Completion {
 public:
  auto callback() {
    return [promise = promise_](T value) { promise->set_value(std::move(value)); };
  }
  bool is_ready() const { return future_.wait_for(std::chrono::seconds(0)) == kReady; }
  T wait() {
    if (future_.wait_for(kTimeout) != kReady) {
      ADD_FAILURE() << "no result";
      std::abort();
    }
    return future_.get();
  }

 private:
  static constexpr auto kReady = std::future_status::ready;
  std::shared_ptr<std::promise<T>> promise_ = std::make_shared<std::promise<T>>();
  std::future<T> future_ = promise_->get_future();
};
using OpenedFile = Result<std::shared_ptr<DataFile>>;

Error cancelled_error() {
  return Error({.kind = ErrorClass::kCancelled, .operation = "write", .cause = "the end"});
}

/// A writer, with calls that wait for their results.
class FileWriterFixture {
 public:
  explicit FileWriterFixture(StreamFixture& fixture,
                             Access access,
                             std::uint64_t request_bytes = 64_KiB)
      : file_writer(stream::must(AsyncFileWriter::start({.directory = fixture / "",
                                                         .dataset = kDataset,
                                                         .queues = &fixture.queues(),
                                                         .request_bytes = request_bytes}))),
        access_(access) {}

  OpenedFile create(DataFileName name, std::uint64_t expected_bytes = 0) {
    Completion<OpenedFile> completion;
    file_writer->create(name, expected_bytes, access_, completion.callback());
    return completion.wait();
  }
  OpenedFile open(DataFileName name) {
    Completion<OpenedFile> completion;
    file_writer->open(name, access_, completion.callback());
    return completion.wait();
  }
  Status write(const std::shared_ptr<DataFile>& file, std::uint64_t at, std::uint64_t size) {
    const AlignedMemory memory(size);
    fill_pattern(memory.bytes(), at);
    Completion<Status> completion;
    file_writer->write(file, at, memory.bytes(), completion.callback());
    return completion.wait();
  }
  Status sync(const std::shared_ptr<DataFile>& file) {
    Completion<Status> completion;
    file_writer->sync(file, completion.callback());
    return completion.wait();
  }
  Status seal(const std::shared_ptr<DataFile>& file, std::uint64_t end) {
    Completion<Status> completion;
    file_writer->seal(file, end, completion.callback());
    return completion.wait();
  }
  Status sync_directory() {
    Completion<Status> completion;
    file_writer->sync_directory(completion.callback());
    return completion.wait();
  }
  Status recycle(DataFileName name) {
    Completion<Status> completion;
    file_writer->recycle(name, completion.callback());
    return completion.wait();
  }
  Status remove(DataFileName name) {
    Completion<Status> completion;
    file_writer->remove(name, completion.callback());
    return completion.wait();
  }

  std::unique_ptr<AsyncFileWriter> file_writer;

 private:
  Access access_;
};

/// Whether the file has its own header, and the pattern from there to `end`.
::testing::AssertionResult is_written(const std::string& path,
                                      DataFileName name,
                                      std::uint64_t end) {
  const auto content = content_of(path);
  if (content.size() != end)
    return ::testing::AssertionFailure() << path << " has " << content.size() << " bytes";
  const auto header = format::decode_header(std::span(content).first(kPage), path);
  if (!header) return ::testing::AssertionFailure() << header.error().message();
  if (header->name != name || header->dataset != kDataset)
    return ::testing::AssertionFailure() << path << " has another header";
  const std::size_t right = matching_pattern(std::span(content).subspan(kPage), kPage);
  if (right == end - kPage) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << path << ": wrong at " << kPage + right;
}

class AsyncFileWriterTest : public stream::StreamTest {
 protected:
  FileWriterFixture make() { return FileWriterFixture(fixture, GetParam().access); }
  std::string path(DataFileName name = kFirst) { return fixture / to_string(name); }
};
INSTANTIATE_TEST_SUITE_P(Ways,
                         AsyncFileWriterTest,
                         ::testing::ValuesIn(stream::all_configs()),
                         stream::config_name);

TEST_P(AsyncFileWriterTest, writes_in_any_order_reach_their_offsets) {
  FileWriterFixture writer = make();
  const std::uint64_t end = kPage + 3_MiB;
  const auto file = stream::must(writer.create(kFirst, end));
  const AlignedMemory memory(3_MiB);
  fill_pattern(memory.bytes(), kPage);
  std::vector<std::uint64_t> cuts{0, 4_KiB, 68_KiB, 1_MiB, 1_MiB, 2_MiB + 12_KiB, 3_MiB};
  std::vector<Completion<Status>> completions(cuts.size() - 1);
  for (std::size_t i = cuts.size() - 1; i-- > 0;) {
    const auto piece = memory.bytes().subspan(cuts[i], cuts[i + 1] - cuts[i]);
    writer.file_writer->write(file, kPage + cuts[i], piece, completions[i].callback());
  }
  EXPECT_TRUE(is_ok(writer.sync(file)));
  for (auto& completion : completions) {
    EXPECT_TRUE(completion.is_ready()) << "a sync completes after earlier writes";
    EXPECT_TRUE(is_ok(completion.wait()));
  }
  EXPECT_TRUE(is_ok(writer.seal(file, end)));
  EXPECT_TRUE(is_ok(writer.sync_directory()));
  EXPECT_TRUE(is_written(path(), kFirst, end));
}

TEST_P(AsyncFileWriterTest, two_writers_share_file_and_only_seal_truncates) {
  FileWriterFixture owner = make();
  StreamFixture other_site(GetParam());  // a writer of another process has its own queues
  const std::uint64_t half = 512_KiB;
  const auto owner_file = stream::must(owner.create(kFirst, 8_MiB));
  FileWriterFixture other(other_site, GetParam().access);
  other.file_writer = stream::must(AsyncFileWriter::start({.directory = fixture / "",
                                                           .dataset = kDataset,
                                                           .queues = &other_site.queues(),
                                                           .request_bytes = 64_KiB}));
  auto other_file = stream::must(other.open(kFirst));
  EXPECT_TRUE(is_ok(other.write(other_file, kPage + half, half)));
  EXPECT_TRUE(is_ok(owner.write(owner_file, kPage, half)));
  EXPECT_TRUE(is_ok(owner.sync(owner_file)));
  EXPECT_TRUE(is_ok(other.sync(other_file)));
  other_file.reset();
  other.file_writer.reset();
  EXPECT_EQ(std::filesystem::file_size(path()), 8_MiB) << "the reserved space is still there";
  EXPECT_TRUE(is_ok(owner.seal(owner_file, kPage + 2 * half)));
  EXPECT_TRUE(is_written(path(), kFirst, kPage + 2 * half));
}

TEST_P(AsyncFileWriterTest, two_writers_of_one_process_share_file_state) {
  FileWriterFixture owner = make();
  FileWriterFixture other = make();
  const auto owner_file = stream::must(owner.create(kFirst, 1_MiB));
  const auto other_file = stream::must(other.open(kFirst));
  EXPECT_TRUE(is_ok(other.write(other_file, kPage + 64_KiB, 64_KiB)));
  EXPECT_TRUE(is_ok(owner.write(owner_file, kPage, 64_KiB)));
  owner.file_writer.reset();
  EXPECT_TRUE(is_ok(other.seal(other_file, kPage + 128_KiB)));
  EXPECT_TRUE(is_written(path(), kFirst, kPage + 128_KiB));
}

TEST_P(AsyncFileWriterTest, recycled_file_keeps_bytes_except_header) {
  FileWriterFixture writer = make();
  auto file = stream::must(writer.create(kFirst, 1_MiB));
  EXPECT_TRUE(is_ok(writer.write(file, kPage, 1_MiB - kPage)));
  EXPECT_TRUE(is_ok(writer.seal(file, 1_MiB)));
  struct stat before{};
  ASSERT_EQ(::stat(path().c_str(), &before), 0);
  file.reset();
  EXPECT_TRUE(is_ok(writer.recycle(kFirst)));
  EXPECT_FALSE(std::filesystem::exists(path()));
  const DataFileName second{.group = 2, .file = 3};
  file = stream::must(writer.create(second, 64_KiB));
  struct stat after{};
  ASSERT_EQ(::stat(path(second).c_str(), &after), 0);
  EXPECT_EQ(before.st_ino, after.st_ino);
  EXPECT_TRUE(is_written(path(second), second, 1_MiB));
  EXPECT_TRUE(is_ok(writer.seal(file, 128_KiB)));
  EXPECT_TRUE(is_written(path(second), second, 128_KiB));
}

TEST_P(AsyncFileWriterTest, leftover_file_of_lost_step_is_replaced) {
  FileWriterFixture writer = make();
  storage::write_pattern_file(path(), 100'000);
  const auto file = stream::must(writer.create(kFirst, 0));
  EXPECT_EQ(std::filesystem::file_size(path()), kPage);
}

TEST_P(AsyncFileWriterTest, releasing_file_after_write_loses_nothing) {
  FileWriterFixture writer = make();
  const AlignedMemory memory(1_MiB);
  fill_pattern(memory.bytes(), kPage);
  Completion<Status> completion;
  {
    const auto file = stream::must(writer.create(kFirst));
    writer.file_writer->write(file, kPage, memory.bytes(), completion.callback());
  }
  EXPECT_TRUE(is_ok(completion.wait()));
  EXPECT_TRUE(is_written(path(), kFirst, kPage + 1_MiB));
}

TEST_P(AsyncFileWriterTest, stop_fails_pending_operations_with_reason) {
  FileWriterFixture writer = make();
  auto file = stream::must(writer.create(kFirst));
  const AlignedMemory memory(64_KiB);
  fixture.gate.close();
  std::vector<Completion<Status>> completions(200);
  for (auto& completion : completions)
    writer.file_writer->write(file, kPage, memory.bytes(), completion.callback());
  Completion<Status> sync;
  writer.file_writer->sync(file, sync.callback());
  auto ended = std::async(std::launch::async, [&] { writer.file_writer->stop(cancelled_error()); });
  bool has_begun_to_end = false;
  while (!has_begun_to_end) {
    Completion<OpenedFile> late;
    writer.file_writer->open(kFirst, {}, late.callback());
    has_begun_to_end = !late.wait();
  }
  fixture.gate.open();
  ended.get();
  std::size_t refused = 0;
  for (auto& completion : completions) {
    const Status status = completion.wait();
    if (status) continue;
    EXPECT_EQ(status.error().kind(), ErrorClass::kCancelled) << status.error().message();
    ++refused;
  }
  EXPECT_GT(refused, 0U);
  EXPECT_FALSE(sync.wait());
  EXPECT_FALSE(writer.sync(file)) << "after stop()";
  EXPECT_FALSE(writer.write(file, kPage, 4_KiB));
}

StreamConfig failing_at(std::uint64_t offset, int error_number) {
  StreamConfig config{"", BackendChoice::kThreads, Access::kBuffered};
  config.faults = storage::FaultPlan{.bad_offsets = {offset}, .bad_error_number = error_number};
  return config;
}

TEST(AsyncFileWriter, failed_write_is_reported_and_stops_no_other) {
  for (const int error_number : {ENOSPC, EDQUOT, EIO}) {
    StreamFixture fixture(failing_at(kPage + 100'000, error_number));
    FileWriterFixture writer(fixture, Access::kBuffered);
    const auto file = stream::must(writer.create(kFirst));
    EXPECT_TRUE(is_ok(writer.write(file, kPage, 64_KiB)));
    const Status failed = writer.write(file, kPage + 64_KiB, 256_KiB);
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().error_number(), error_number);
    EXPECT_TRUE(failed.error().path().ends_with(to_string(kFirst))) << failed.error().message();
    EXPECT_TRUE(is_ok(writer.write(file, kPage + 320_KiB, 64_KiB)));
    EXPECT_TRUE(is_ok(writer.sync(file)));
    EXPECT_TRUE(is_ok(writer.remove(kFirst)));
  }
}

TEST(AsyncFileWriter, lost_bytes_fail_all_later_operations_on_the_file) {
  StreamFixture fixture({"", BackendChoice::kThreads, Access::kBuffered});
  FileWriterFixture owner(fixture, Access::kBuffered);
  FileWriterFixture other(fixture, Access::kBuffered);
  const auto owner_file = stream::must(owner.create(kFirst));
  const auto other_file = stream::must(other.open(kFirst));
  EXPECT_TRUE(is_ok(owner.write(owner_file, kPage, 64_KiB)));
  EXPECT_TRUE(is_ok(other.write(other_file, kPage + 64_KiB, 64_KiB)));
  fixture.gate.fail_syncs();
  const Status lost = owner.sync(owner_file);
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().error_number(), EIO);
  fixture.gate.stop_failing_syncs();
  EXPECT_FALSE(other.sync(other_file));
  EXPECT_FALSE(owner.sync(owner_file));
  EXPECT_FALSE(owner.write(owner_file, kPage, 4_KiB));
  EXPECT_TRUE(is_ok(owner.recycle(kFirst)));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(fixture / ""), {}), 0)
      << "the file is not kept for another step";
  const auto next = stream::must(owner.create({.group = 2, .file = 0}));
  EXPECT_TRUE(is_ok(owner.write(next, kPage, 64_KiB))) << "other files still work";
  EXPECT_TRUE(is_ok(owner.sync(next)));
}

TEST(AsyncFileWriter, create_in_readonly_directory_returns_error_with_path) {
  StreamFixture fixture({"", BackendChoice::kThreads, Access::kBuffered});
  const auto file_writer = stream::must(AsyncFileWriter::start(
      {.directory = "/sys", .dataset = kDataset, .queues = &fixture.queues()}));
  Completion<OpenedFile> completion;
  file_writer->create(kFirst, 0, {}, completion.callback());
  const auto file = completion.wait();
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().kind(), ErrorClass::kPermission) << file.error().message();
  EXPECT_EQ(file.error().path(), "/sys/data-000001.00000");
}

TEST(AsyncFileWriter, open_refuses_missing_and_foreign_files) {
  StreamFixture fixture({"", BackendChoice::kThreads, Access::kBuffered});
  FileWriterFixture writer(fixture, Access::kBuffered);
  EXPECT_EQ(writer.open(kFirst).error().kind(), ErrorClass::kNotFound);
  EXPECT_FALSE(std::filesystem::exists(fixture / to_string(kFirst)));
  ASSERT_TRUE(writer.create({.group = 3, .file = 0}));
  std::filesystem::rename(fixture / to_string(DataFileName{.group = 3, .file = 0}),
                          fixture / to_string(kFirst));
  EXPECT_EQ(writer.open(kFirst).error().kind(), ErrorClass::kDamage);
}

TEST(AsyncFileWriter, reservation_leaves_half_of_free_space) {
  StreamFixture fixture({"", BackendChoice::kThreads, Access::kBuffered});
  FileWriterFixture writer(fixture, Access::kBuffered);
  const std::uint64_t free_bytes = std::filesystem::space(fixture / "").available;
  ASSERT_TRUE(writer.create(kFirst, free_bytes / 3 * 2));
  EXPECT_LT(std::filesystem::file_size(fixture / to_string(kFirst)), 1_MiB);
  const DataFileName second{.group = 2, .file = 0};
  ASSERT_TRUE(writer.create(second, 2_MiB));
  EXPECT_EQ(std::filesystem::file_size(fixture / to_string(second)), 2_MiB);
}

TEST(AsyncFileWriter, punch_hole_returns_space) {
  StreamFixture fixture({"", BackendChoice::kThreads, Access::kBuffered});
  FileWriterFixture writer(fixture, Access::kBuffered);
  const auto file = stream::must(writer.create(kFirst, 0));
  EXPECT_TRUE(is_ok(writer.write(file, kPage, 1_MiB)));
  EXPECT_TRUE(is_ok(writer.sync(file)));
  const auto blocks = [&] {
    struct stat facts{};
    EXPECT_EQ(::stat((fixture / to_string(kFirst)).c_str(), &facts), 0);
    return facts.st_blocks;
  };
  const auto before = blocks();
  writer.file_writer->punch_hole(file, {{kPage, 256_KiB}, {512_KiB, 256_KiB}});
  std::promise<void> punched;
  writer.file_writer->run_blocking([&punched] { punched.set_value(); });
  ASSERT_EQ(punched.get_future().wait_for(kTimeout), std::future_status::ready);
  if (blocks() == before) GTEST_SKIP() << "the file system cannot punch holes";
  EXPECT_EQ(before - blocks(), static_cast<blkcnt_t>(512_KiB / 512));
  EXPECT_EQ(std::filesystem::file_size(fixture / to_string(kFirst)), kPage + 1_MiB);
}

TEST(AsyncFileWriter, misaligned_direct_write_is_refused) {
  StreamFixture fixture({"", BackendChoice::kThreads, Access::kDirect});
  if (const std::string reason = fixture.unavailable_reason(); !reason.empty())
    GTEST_SKIP() << reason;
  FileWriterFixture writer(fixture, Access::kDirect);
  const auto file = stream::must(writer.create(kFirst));
  const Status written = writer.write(file, kPage + 1, 4_KiB);
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().kind(), ErrorClass::kInvalidArgument);
}

TEST(AsyncFileWriter, stalled_device_does_not_delay_names) {
  StreamFixture fixture({"", BackendChoice::kThreads, Access::kBuffered});
  FileWriterFixture writer(fixture, Access::kBuffered);
  const auto file = stream::must(writer.create(kFirst));
  const AlignedMemory memory(1_MiB);
  fixture.gate.close();
  Completion<Status> written;
  writer.file_writer->write(file, kPage, memory.bytes(), written.callback());
  EXPECT_TRUE(writer.create({.group = 2, .file = 0}, 1_MiB));
  EXPECT_TRUE(is_ok(writer.sync_directory()));
  EXPECT_FALSE(written.is_ready());
  fixture.gate.open();
  EXPECT_TRUE(is_ok(written.wait()));
}

TEST(AsyncFileWriter, blocking_tasks_run_in_order_before_background_creates) {
  StreamFixture fixture({"", BackendChoice::kThreads, Access::kBuffered});
  FileWriterFixture writer(fixture, Access::kBuffered);
  std::promise<void> go;
  writer.file_writer->run_blocking([gone = go.get_future().share()] { gone.wait(); });
  std::vector<int> order;
  Completion<OpenedFile> ahead;
  writer.file_writer->create(kFirst, 0, {}, [&, tell = ahead.callback()](OpenedFile file) {
    order.push_back(3);
    tell(std::move(file));
  });
  writer.file_writer->run_blocking([&] { order.push_back(1); });
  writer.file_writer->run_blocking([&] { order.push_back(2); });
  go.set_value();
  EXPECT_TRUE(ahead.wait());
  EXPECT_EQ(order, (std::vector{1, 2, 3}));
}

// A file that was created after its removal once stayed, with all its reserved space.
TEST(AsyncFileWriter, remove_before_create_completes_leaves_no_file) {
  StreamFixture fixture({"", BackendChoice::kThreads, Access::kBuffered});
  FileWriterFixture writer(fixture, Access::kBuffered);
  std::promise<void> go;
  writer.file_writer->run_blocking([gone = go.get_future().share()] { gone.wait(); });
  Completion<OpenedFile> made;
  writer.file_writer->create(kFirst, 1_MiB, {}, made.callback());
  Completion<Status> removed;
  writer.file_writer->remove(kFirst, removed.callback());
  go.set_value();
  EXPECT_TRUE(made.wait());
  EXPECT_TRUE(is_ok(removed.wait()));
  EXPECT_FALSE(std::filesystem::exists(fixture / to_string(kFirst)));
}

TEST(AsyncFileWriter, truncate_after_stop_returns_space) {
  StreamFixture fixture({"", BackendChoice::kThreads, Access::kBuffered});
  FileWriterFixture writer(fixture, Access::kBuffered);
  const auto file = stream::must(writer.create(kFirst, 1_MiB));
  EXPECT_TRUE(is_ok(writer.write(file, kPage, kPage)));
  ASSERT_EQ(std::filesystem::file_size(fixture / to_string(kFirst)), 1_MiB);
  std::promise<void> go;
  writer.file_writer->run_blocking([gone = go.get_future().share()] { gone.wait(); });
  writer.file_writer->truncate(file, 2 * kPage);
  std::thread end([&] { writer.file_writer->stop(cancelled_error()); });
  go.set_value();
  end.join();
  EXPECT_TRUE(is_written(fixture / to_string(kFirst), kFirst, 2 * kPage));
}

}  // namespace
}  // namespace forebay::write

// SPDX-License-Identifier: Apache-2.0
// Errors of storage reach every caller: the first error, with path and offset, from every call, and
// permanently. No incomplete file exists under a name that is published when complete.
#include <forebay/output_stream.hpp>

#include <cerrno>
#include <csignal>
#include <filesystem>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "stream/testing.hpp"

namespace forebay::stream {
namespace {

constexpr std::uint64_t kBad = 5 * kBuffer + 4096;

/// A disk with one bad place.
StreamConfig with_bad_offset(StreamConfig config, int error_number) {
  config.faults = FaultPlan{.bad_offsets = {kBad}, .bad_error_number = error_number};
  return config;
}

class StreamErrorTest : public ::testing::TestWithParam<StreamConfig> {};

/// Writes over the bad place until the stream fails.
Error error_of(OutputStream& out, const OutputFile& file) {
  Status status;
  for (std::uint64_t at = 0; status && at < 100 * kBuffer; at += kBuffer)
    status = submit_pattern(out, file, {at, kBuffer});
  if (status) status = out.drain();
  EXPECT_FALSE(status);
  return status ? Error({.cause = "none"}) : status.error();
}

TEST_P(StreamErrorTest, first_error_is_permanent_with_path_and_offset) {
  StreamFixture fixture(with_bad_offset(GetParam(), EIO));
  if (const auto reason = fixture.unavailable_reason(); !reason.empty()) GTEST_SKIP() << reason;
  OutputStream out = fixture.make_stream({.tuning = {.request_bytes = 4_KiB}});
  const OutputFile file = must(out.create(fixture / "data"));
  const Error error = error_of(out, file);
  EXPECT_EQ(error.kind(), ErrorClass::kIo);
  EXPECT_EQ(error.path(), fixture / "data");
  EXPECT_EQ(error.offset_bytes(), kBad);
  for (const auto& again : {out.drain(), out.sync(), file.drain(), file.sync(), file.publish(),
                            out.write(file, 0, pattern(10))}) {
    ASSERT_FALSE(again);
    EXPECT_EQ(again.error().message(), error.message());
  }
  EXPECT_EQ(error_class(out.acquire()), ErrorClass::kIo);
  EXPECT_EQ(error_class(out.try_acquire()), ErrorClass::kIo);
  EXPECT_EQ(error_class(out.acquire_async().wait()), ErrorClass::kIo);
  EXPECT_EQ(error_class(out.create(fixture / "other")), ErrorClass::kIo);
}

TEST_P(StreamErrorTest, a_full_disk_and_a_full_quota_are_no_space) {
  for (const int error_number : {ENOSPC, EDQUOT}) {
    StreamFixture fixture(with_bad_offset(GetParam(), error_number));
    if (const auto reason = fixture.unavailable_reason(); !reason.empty()) GTEST_SKIP() << reason;
    OutputStream out = fixture.make_stream();
    const OutputFile file = must(out.create(fixture / "data"));
    const Error error = error_of(out, file);
    EXPECT_EQ(error.kind(), ErrorClass::kNoSpace) << error.message();
    EXPECT_EQ(error.error_number(), error_number);
  }
}

TEST_P(StreamErrorTest, buffers_in_flight_at_a_failure_are_returned) {
  StreamFixture fixture(with_bad_offset(GetParam(), EIO));
  if (const auto reason = fixture.unavailable_reason(); !reason.empty()) GTEST_SKIP() << reason;
  const auto core = fixture.make_core({.buffers = 4});
  {
    OutputStream out = StreamCore::make_handle(core);
    const OutputFile file = must(out.create(fixture / "data"));
    EXPECT_EQ(error_of(out, file).kind(), ErrorClass::kIo);
  }
  EXPECT_TRUE(core->is_stopped());
}

TEST_P(StreamErrorTest, failed_stream_does_not_affect_another) {
  StreamFixture fixture(with_bad_offset(GetParam(), EIO));
  if (const auto reason = fixture.unavailable_reason(); !reason.empty()) GTEST_SKIP() << reason;
  OutputStream bad = fixture.make_stream();
  OutputStream good = fixture.make_stream();
  const OutputFile here = must(bad.create(fixture / "bad"));
  const OutputFile there = must(good.create(fixture / "good"));
  EXPECT_TRUE(is_ok(submit_all(good, there, {0, 4 * kBuffer})));
  EXPECT_EQ(error_of(bad, here).kind(), ErrorClass::kIo);
  EXPECT_TRUE(is_ok(submit_all(good, there, {4 * kBuffer, kBuffer})));
  EXPECT_TRUE(is_ok(good.drain()));
  EXPECT_TRUE(is_pattern(fixture / "good", 5 * kBuffer));
}

TEST_P(StreamErrorTest, unreported_error_is_logged) {
  class Lines final : public LogSink {
   public:
    void write(LogLevel level, std::string_view line) noexcept override {
      if (level == LogLevel::kWarning) lines.emplace_back(line);
    }
    std::vector<std::string> lines;
  };
  StreamFixture fixture(with_bad_offset(GetParam(), EIO));
  if (const auto reason = fixture.unavailable_reason(); !reason.empty()) GTEST_SKIP() << reason;
  Lines log;
  {
    const StreamPlan plan{.access = GetParam().access, .buffer_bytes = kBuffer, .buffers = 8};
    auto core = StreamCore::make(
        {.plan = plan_stream(plan).value(),
         .queues = std::shared_ptr<DeviceQueues>(&fixture.queues(), [](DeviceQueues*) {}),
         .executor = &fixture.loop,
         .log = &log});
    OutputStream out = StreamCore::make_handle(must(std::move(core)));
    fixture.gate.close();
    const OutputFile file = must(out.create(fixture / "data"));
    EXPECT_TRUE(is_ok(submit_all(out, file, {0, 8 * kBuffer})));
    fixture.gate.open();
  }
  ASSERT_EQ(log.lines.size(), 1U);
  EXPECT_NE(log.lines[0].find("Input/output error"), std::string::npos) << log.lines[0];
}

INSTANTIATE_TEST_SUITE_P(All,
                         StreamErrorTest,
                         ::testing::ValuesIn(fault_free_configs()),
                         config_name);

class PublicationTest : public StreamTest {};

TEST_P(PublicationTest, published_file_is_complete_or_absent) {
  OutputStream out = fixture.make_stream();
  const OutputFileOptions options{.visibility = FileVisibility::kOnPublish};
  {
    const OutputFile file = must(out.create(fixture / "data", options));
    EXPECT_TRUE(is_ok(submit_all(out, file, {0, 200'001})));
    EXPECT_TRUE(is_ok(file.drain()));
    EXPECT_FALSE(std::filesystem::exists(fixture / "data"));
    EXPECT_TRUE(is_ok(file.publish()));
    EXPECT_TRUE(is_pattern(fixture / "data", 200'001));
    EXPECT_TRUE(temporary_files_of(fixture / "data").empty());
    EXPECT_EQ(error_class(file.publish()), ErrorClass::kClosed);
  }
  EXPECT_TRUE(is_ok(out.drain()));
  EXPECT_TRUE(is_pattern(fixture / "data", 200'001));
}

TEST_P(PublicationTest, unpublished_file_leaves_the_existing_one) {
  storage::write_pattern_file(fixture / "data", 1000);
  {
    OutputStream out = fixture.make_stream();
    const OutputFile file =
        must(out.create(fixture / "data", {.visibility = FileVisibility::kOnPublish}));
    EXPECT_TRUE(is_ok(submit_all(out, file, {0, 200'001})));
    EXPECT_TRUE(is_ok(out.drain()));
  }
  EXPECT_TRUE(is_pattern(fixture / "data", 1000));
  EXPECT_TRUE(temporary_files_of(fixture / "data").empty());
}

TEST_P(PublicationTest, unreferenced_file_is_closed_once_written) {
  OutputStream out = fixture.make_stream();
  const std::size_t before = open_descriptor_count();
  must(out.create(fixture / "first"));
  EXPECT_TRUE(is_ok(out.drain()));
  const std::size_t once = open_descriptor_count();
  for (int i = 0; i < 20; ++i) {
    const OutputFile file = must(out.create(fixture / ("data" + std::to_string(i))));
    EXPECT_TRUE(is_ok(submit_all(out, file, {0, 1000})));
    EXPECT_TRUE(i % 5 != 4 || is_ok(out.drain()));
  }
  EXPECT_TRUE(is_ok(out.drain()));
  EXPECT_LE(open_descriptor_count(), once);
  EXPECT_GE(once, before);
  for (int i = 0; i < 20; ++i)
    EXPECT_TRUE(is_pattern(fixture / ("data" + std::to_string(i)), 1000));
}

TEST_P(PublicationTest, failed_create_does_not_change_the_stream) {
  OutputStream out = fixture.make_stream();
  EXPECT_EQ(error_class(out.create(fixture / "no/such/directory")), ErrorClass::kNotFound);
  EXPECT_EQ(error_class(out.create(fixture / ".")), ErrorClass::kInvalidArgument);
  EXPECT_EQ(error_class(out.create(fixture / "data", {.visibility = FileVisibility::kOnPublish,
                                                      .existing_content = ExistingContent::kKeep})),
            ErrorClass::kInvalidArgument);
  const OutputFile file = must(out.create(fixture / "data"));
  const auto twice = out.create(fixture / "data");
  ASSERT_EQ(error_class(twice), ErrorClass::kInvalidArgument);
  EXPECT_TRUE(message_contains(twice.error(), "writing it already"));
  EXPECT_TRUE(is_ok(submit_all(out, file, {0, 1000})));
  EXPECT_TRUE(is_ok(out.drain()));
}

TEST_P(PublicationTest, handles_of_another_stream_are_refused) {
  OutputStream out = fixture.make_stream();
  OutputStream other = fixture.make_stream();
  const OutputFile file = must(out.create(fixture / "data"));
  const OutputFile far = must(other.create(fixture / "far"));
  EXPECT_EQ(error_class(out.submit(must(other.acquire()), file, 0)), ErrorClass::kInvalidArgument);
  EXPECT_EQ(error_class(out.submit(must(out.acquire()), far, 0)), ErrorClass::kInvalidArgument);
  EXPECT_EQ(error_class(out.write(far, 0, pattern(5))), ErrorClass::kInvalidArgument);
  EXPECT_EQ(error_class(out.acquire_at(far, 0)), ErrorClass::kInvalidArgument);
  auto buffer = must(out.acquire());
  EXPECT_TRUE(is_ok(out.submit(std::move(buffer), file, 0)));
  EXPECT_EQ(error_class(out.submit(std::move(buffer), file, 0)), ErrorClass::kInvalidArgument);
  EXPECT_EQ(error_class(out.submit(must(out.acquire()), file, 0, kBuffer + 1)),
            ErrorClass::kOutOfRange);
  EXPECT_EQ(error_class(out.submit(must(out.acquire()), file, UINT64_MAX - 5, 3)),
            ErrorClass::kOutOfRange);
  EXPECT_TRUE(is_ok(out.drain()));
}

INSTANTIATE_TEST_SUITE_P(All,
                         PublicationTest,
                         ::testing::ValuesIn(fault_free_configs()),
                         config_name);

/// A program that is killed while its stream is being drained.
[[noreturn]] void write_until_killed(const std::string& path, int ready) {
  StreamFixture fixture({"killed", BackendChoice::kThreads, Access::kBuffered});
  OutputStream out = fixture.make_stream();
  const OutputFile file = must(out.create(path, {.visibility = FileVisibility::kOnPublish}));
  EXPECT_TRUE(is_ok(submit_all(out, file, {0, 10 * kBuffer})));
  EXPECT_TRUE(is_ok(out.drain()));
  fixture.gate.close();
  EXPECT_TRUE(is_ok(submit_all(out, file, {0, kBuffer})));
  static_cast<void>(::write(ready, "x", 1));
  static_cast<void>(file.publish());  // storage is blocked: never returns
  ::_exit(1);
}

TEST(Killed, while_draining_leaves_no_file_under_the_name) {
  const storage::TemporaryDirectory directory;
  std::array<int, 2> pipe{};
  ASSERT_EQ(::pipe(pipe.data()), 0);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) write_until_killed(directory / "data", pipe[1]);
  ::close(pipe[1]);
  char byte = 0;
  EXPECT_EQ(::read(pipe[0], &byte, 1), 1);
  ::close(pipe[0]);
  ::kill(child, SIGKILL);
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_FALSE(std::filesystem::exists(directory / "data"));
  EXPECT_EQ(temporary_files_of(directory / "data").size(), 1U);
  // The leftover does not disturb the next program.
  StreamFixture fixture({"next", BackendChoice::kThreads, Access::kBuffered});
  OutputStream out = fixture.make_stream();
  const OutputFile file =
      must(out.create(directory / "data", {.visibility = FileVisibility::kOnPublish}));
  EXPECT_TRUE(is_ok(submit_all(out, file, {0, 1000})));
  EXPECT_TRUE(is_ok(file.publish()));
  EXPECT_TRUE(is_pattern(directory / "data", 1000));
}

}  // namespace
}  // namespace forebay::stream

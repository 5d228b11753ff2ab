// SPDX-License-Identifier: Apache-2.0
// What the world does wrong reaches whoever can handle it, once and for all: the first error, with
// path and offset, from every call; and no half file under a name that promises a whole one.
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
Way broken(Way way, int error_number) {
  way.faults = FaultPlan{.bad_offsets = {kBad}, .bad_error_number = error_number};
  return way;
}

class Trouble : public ::testing::TestWithParam<Way> {};

/// Writes over the bad place until the stream says so.
Error error_of(OutputStream& out, const OutputFile& file) {
  Status status;
  for (std::uint64_t at = 0; status && at < 100 * kBuffer; at += kBuffer)
    status = submit_pattern(out, file, {at, kBuffer});
  if (status) status = out.drain();
  EXPECT_FALSE(status);
  return status ? Error({.cause = "none"}) : status.error();
}

TEST_P(Trouble, the_first_error_stays_with_path_and_offset) {
  Site site(broken(GetParam(), EIO));
  if (const auto reason = site.reason_against(); !reason.empty()) GTEST_SKIP() << reason;
  OutputStream out = site.make_stream({.request_bytes = 4_KiB});
  const OutputFile file = must(out.create(site / "data"));
  const Error error = error_of(out, file);
  EXPECT_EQ(error.kind(), ErrorClass::kIo);
  EXPECT_EQ(error.path(), site / "data");
  EXPECT_EQ(error.offset_bytes(), kBad);
  for (const auto& again : {out.drain(), out.sync(), file.drain(), file.sync(), file.publish(),
                            out.write(file, 0, pattern(10))}) {
    ASSERT_FALSE(again);
    EXPECT_EQ(again.error().message(), error.message());
  }
  EXPECT_EQ(error_class(out.acquire()), ErrorClass::kIo);
  EXPECT_EQ(error_class(out.try_acquire()), ErrorClass::kIo);
  EXPECT_EQ(error_class(out.acquire_async().wait()), ErrorClass::kIo);
  EXPECT_EQ(error_class(out.create(site / "other")), ErrorClass::kIo);
}

TEST_P(Trouble, a_full_disk_and_a_full_quota_are_no_space) {
  for (const int error_number : {ENOSPC, EDQUOT}) {
    Site site(broken(GetParam(), error_number));
    if (const auto reason = site.reason_against(); !reason.empty()) GTEST_SKIP() << reason;
    OutputStream out = site.make_stream();
    const OutputFile file = must(out.create(site / "data"));
    const Error error = error_of(out, file);
    EXPECT_EQ(error.kind(), ErrorClass::kNoSpace) << error.message();
    EXPECT_EQ(error.error_number(), error_number);
  }
}

TEST_P(Trouble, buffers_under_way_when_it_fails_come_back) {
  Site site(broken(GetParam(), EIO));
  if (const auto reason = site.reason_against(); !reason.empty()) GTEST_SKIP() << reason;
  const auto core = site.make_core({.buffers = 4});
  {
    OutputStream out = StreamCore::face_of(core);
    const OutputFile file = must(out.create(site / "data"));
    EXPECT_EQ(error_of(out, file).kind(), ErrorClass::kIo);
  }
  EXPECT_TRUE(core->gives_up());
}

TEST_P(Trouble, one_stream_fails_and_another_goes_on) {
  Site site(broken(GetParam(), EIO));
  if (const auto reason = site.reason_against(); !reason.empty()) GTEST_SKIP() << reason;
  OutputStream bad = site.make_stream();
  OutputStream good = site.make_stream();
  const OutputFile here = must(bad.create(site / "bad"));
  const OutputFile there = must(good.create(site / "good"));
  EXPECT_TRUE(works(submit_all(good, there, {0, 4 * kBuffer})));
  EXPECT_EQ(error_of(bad, here).kind(), ErrorClass::kIo);
  EXPECT_TRUE(works(submit_all(good, there, {4 * kBuffer, kBuffer})));
  EXPECT_TRUE(works(good.drain()));
  EXPECT_TRUE(is_pattern(site / "good", 5 * kBuffer));
}

TEST_P(Trouble, an_error_that_nobody_asked_for_is_in_the_log) {
  class Lines final : public LogSink {
   public:
    void write(LogLevel level, std::string_view line) noexcept override {
      if (level == LogLevel::kWarning) lines.emplace_back(line);
    }
    std::vector<std::string> lines;
  };
  Site site(broken(GetParam(), EIO));
  if (const auto reason = site.reason_against(); !reason.empty()) GTEST_SKIP() << reason;
  Lines log;
  {
    const StreamPlan plan{.access = GetParam().access, .buffer_bytes = kBuffer, .buffers = 8};
    auto core = StreamCore::make(
        {.plan = plan_stream(plan).value(),
         .queues = std::shared_ptr<DeviceQueues>(&site.queues(), [](DeviceQueues*) {}),
         .executor = &site.loop,
         .log = &log});
    OutputStream out = StreamCore::face_of(must(std::move(core)));
    site.gate.close();
    const OutputFile file = must(out.create(site / "data"));
    EXPECT_TRUE(works(submit_all(out, file, {0, 8 * kBuffer})));
    site.gate.open();
  }
  ASSERT_EQ(log.lines.size(), 1U);
  EXPECT_NE(log.lines[0].find("Input/output error"), std::string::npos) << log.lines[0];
}

INSTANTIATE_TEST_SUITE_P(All, Trouble, ::testing::ValuesIn(sound_ways()), way_name);

class Finishing : public StreamTest {};

TEST_P(Finishing, a_file_that_is_published_is_whole_or_not_there) {
  OutputStream out = site.make_stream();
  const CreateOptions options{.publication = Publication::kWhenComplete};
  {
    const OutputFile file = must(out.create(site / "data", options));
    EXPECT_TRUE(works(submit_all(out, file, {0, 200'001})));
    EXPECT_TRUE(works(file.drain()));
    EXPECT_FALSE(std::filesystem::exists(site / "data"));
    EXPECT_TRUE(works(file.publish()));
    EXPECT_TRUE(is_pattern(site / "data", 200'001));
    EXPECT_TRUE(temporaries_of(site / "data").empty());
    EXPECT_EQ(error_class(file.publish()), ErrorClass::kClosed);
  }
  EXPECT_TRUE(works(out.drain()));
  EXPECT_TRUE(is_pattern(site / "data", 200'001));
}

TEST_P(Finishing, a_file_that_is_not_published_leaves_what_was_there) {
  storage::write_pattern_file(site / "data", 1000);
  {
    OutputStream out = site.make_stream();
    const OutputFile file =
        must(out.create(site / "data", {.publication = Publication::kWhenComplete}));
    EXPECT_TRUE(works(submit_all(out, file, {0, 200'001})));
    EXPECT_TRUE(works(out.drain()));
  }
  EXPECT_TRUE(is_pattern(site / "data", 1000));
  EXPECT_TRUE(temporaries_of(site / "data").empty());
}

TEST_P(Finishing, a_file_is_closed_when_nobody_has_it_and_it_is_written) {
  OutputStream out = site.make_stream();
  const std::size_t before = open_descriptors();
  must(out.create(site / "first"));
  EXPECT_TRUE(works(out.drain()));
  const std::size_t once = open_descriptors();
  for (int i = 0; i < 20; ++i) {
    const OutputFile file = must(out.create(site / ("data" + std::to_string(i))));
    EXPECT_TRUE(works(submit_all(out, file, {0, 1000})));
    EXPECT_TRUE(i % 5 != 4 || works(out.drain()));
  }
  EXPECT_TRUE(works(out.drain()));
  EXPECT_LE(open_descriptors(), once);
  EXPECT_GE(once, before);
  for (int i = 0; i < 20; ++i)
    EXPECT_TRUE(is_pattern(site / ("data" + std::to_string(i)), 1000));
}

TEST_P(Finishing, what_cannot_be_created_leaves_the_stream_as_it_was) {
  OutputStream out = site.make_stream();
  EXPECT_EQ(error_class(out.create(site / "no/such/folder")), ErrorClass::kNotFound);
  EXPECT_EQ(error_class(out.create(site / ".")), ErrorClass::kInvalidArgument);
  EXPECT_EQ(error_class(out.create(site / "data", {.publication = Publication::kWhenComplete,
                                                   .existing = Existing::kKeep})),
            ErrorClass::kInvalidArgument);
  const OutputFile file = must(out.create(site / "data"));
  const auto twice = out.create(site / "data");
  ASSERT_EQ(error_class(twice), ErrorClass::kInvalidArgument);
  EXPECT_TRUE(mentions(twice.error(), "writing it already"));
  EXPECT_TRUE(works(submit_all(out, file, {0, 1000})));
  EXPECT_TRUE(works(out.drain()));
}

TEST_P(Finishing, handles_of_another_stream_are_refused) {
  OutputStream out = site.make_stream();
  OutputStream other = site.make_stream();
  const OutputFile file = must(out.create(site / "data"));
  const OutputFile far = must(other.create(site / "far"));
  EXPECT_EQ(error_class(out.submit(must(other.acquire()), file, 0)), ErrorClass::kInvalidArgument);
  EXPECT_EQ(error_class(out.submit(must(out.acquire()), far, 0)), ErrorClass::kInvalidArgument);
  EXPECT_EQ(error_class(out.write(far, 0, pattern(5))), ErrorClass::kInvalidArgument);
  EXPECT_EQ(error_class(out.acquire_at(far, 0)), ErrorClass::kInvalidArgument);
  auto buffer = must(out.acquire());
  EXPECT_TRUE(works(out.submit(std::move(buffer), file, 0)));
  EXPECT_EQ(error_class(out.submit(std::move(buffer), file, 0)), ErrorClass::kInvalidArgument);
  EXPECT_EQ(error_class(out.submit(must(out.acquire()), file, 0, kBuffer + 1)),
            ErrorClass::kOutOfRange);
  EXPECT_EQ(error_class(out.submit(must(out.acquire()), file, UINT64_MAX - 5, 3)),
            ErrorClass::kOutOfRange);
  EXPECT_TRUE(works(out.drain()));
}

INSTANTIATE_TEST_SUITE_P(All, Finishing, ::testing::ValuesIn(sound_ways()), way_name);

/// A program that is killed while its stream is being drained.
[[noreturn]] void write_until_killed(const std::string& path, int ready) {
  Site site({"killed", storage::BackendChoice::kThreads, Access::kBuffered});
  OutputStream out = site.make_stream();
  const OutputFile file = must(out.create(path, {.publication = Publication::kWhenComplete}));
  EXPECT_TRUE(works(submit_all(out, file, {0, 10 * kBuffer})));
  EXPECT_TRUE(works(out.drain()));
  site.gate.close();
  EXPECT_TRUE(works(submit_all(out, file, {0, kBuffer})));
  static_cast<void>(::write(ready, "x", 1));
  static_cast<void>(file.publish());  // storage is held up: never comes back
  ::_exit(1);
}

TEST(Killed, while_draining_leaves_no_file_under_the_name) {
  const storage::TemporaryFolder folder;
  std::array<int, 2> pipe{};
  ASSERT_EQ(::pipe(pipe.data()), 0);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) write_until_killed(folder / "data", pipe[1]);
  ::close(pipe[1]);
  char byte = 0;
  EXPECT_EQ(::read(pipe[0], &byte, 1), 1);
  ::close(pipe[0]);
  ::kill(child, SIGKILL);
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_FALSE(std::filesystem::exists(folder / "data"));
  EXPECT_EQ(temporaries_of(folder / "data").size(), 1U);
  // The next one is not disturbed by it.
  Site site({"next", storage::BackendChoice::kThreads, Access::kBuffered});
  OutputStream out = site.make_stream();
  const OutputFile file =
      must(out.create(folder / "data", {.publication = Publication::kWhenComplete}));
  EXPECT_TRUE(works(submit_all(out, file, {0, 1000})));
  EXPECT_TRUE(works(file.publish()));
  EXPECT_TRUE(is_pattern(folder / "data", 1000));
}

}  // namespace
}  // namespace forebay::stream

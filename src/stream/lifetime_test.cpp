// SPDX-License-Identifier: Apache-2.0
// A program may end streams, files and waits in any order: streams that share a file end one after
// the other, handles outlive their stream, and bytes drained before are still synced.
#include <forebay/output_stream.hpp>

#include <filesystem>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "base/descriptor.hpp"
#include "stream/testing.hpp"

namespace forebay::stream {
namespace {

class LifetimeTest : public StreamTest {};

TEST_P(LifetimeTest, sync_after_a_drain_reaches_storage) {
  OutputStream out = fixture.make_stream();
  const OutputFile file = must(out.create(fixture / "data"));
  EXPECT_TRUE(is_ok(submit_all(out, file, {0, 100'001})));
  EXPECT_TRUE(is_ok(out.drain()));
  EXPECT_EQ(fixture.gate.syncs(), 0U);
  EXPECT_TRUE(is_ok(out.sync()));
  EXPECT_EQ(fixture.gate.syncs(), 1U);
  EXPECT_TRUE(is_ok(out.sync()));
  EXPECT_EQ(fixture.gate.syncs(), 1U) << "no byte was written since";
}

TEST_P(LifetimeTest, failed_sync_is_reported_to_all_streams_of_the_file) {
  OutputStream first = fixture.make_stream();
  OutputStream second = fixture.make_stream();
  const OutputFile here = must(first.create(fixture / "data"));
  const OutputFile there =
      must(second.create(fixture / "data", {.existing_content = ExistingContent::kKeep}));
  EXPECT_TRUE(is_ok(submit_pattern(first, here, {0, 1000})));
  EXPECT_TRUE(is_ok(submit_pattern(second, there, {1000, 1000})));
  EXPECT_TRUE(is_ok(second.drain()));
  fixture.gate.fail_syncs();
  EXPECT_EQ(error_class(first.sync()), ErrorClass::kIo);
  fixture.gate.stop_failing_syncs();
  EXPECT_EQ(error_class(second.sync()), ErrorClass::kIo);
}

TEST_P(LifetimeTest, sync_that_began_before_the_end_of_a_write_does_not_cover_it) {
  OutputStream first = fixture.make_stream({.tuning = {.preallocation = Preallocation::kNone}});
  OutputStream second = fixture.make_stream({.tuning = {.preallocation = Preallocation::kNone}});
  const OutputFile here = must(first.create(fixture / "data"));
  const OutputFile there =
      must(second.create(fixture / "data", {.existing_content = ExistingContent::kKeep}));
  EXPECT_TRUE(is_ok(submit_pattern(first, here, {0, 8192})));
  EXPECT_TRUE(is_ok(first.drain()));
  fixture.gate.close();
  EXPECT_TRUE(is_ok(submit_pattern(second, there, {8192, 8192})));
  std::thread syncs([&] { EXPECT_TRUE(is_ok(first.sync())); });
  while (fixture.gate.syncs() == 0)
    std::this_thread::yield();
  fixture.gate.open();
  syncs.join();
  EXPECT_TRUE(is_ok(second.drain()));
  EXPECT_TRUE(is_ok(second.sync()));
  EXPECT_EQ(fixture.gate.syncs(), 2U);
}

TEST_P(LifetimeTest, bytes_of_another_process_beyond_the_end_are_kept) {
  OutputStream out = fixture.make_stream({.tuning = {.preallocation = Preallocation::kNone}});
  const OutputFile file =
      must(out.create(fixture / "data", {.existing_content = ExistingContent::kKeep}));
  EXPECT_TRUE(is_ok(submit_pattern(out, file, {0, 1000})));
  const Descriptor other(::open((fixture / "data").c_str(), O_WRONLY | O_CLOEXEC));
  ASSERT_EQ(::pwrite(other.get(), "more", 4, 1'000'000), 4);
  EXPECT_TRUE(is_ok(out.drain()));
  EXPECT_EQ(std::filesystem::file_size(fixture / "data"), 1'000'004U);
}

TEST_P(LifetimeTest, moved_from_file_is_refused) {
  OutputStream out = fixture.make_stream();
  OutputFile file = must(out.create(fixture / "data"));
  const OutputFile taken = std::move(file);
  // NOLINTNEXTLINE(bugprone-use-after-move): that is what is tested.
  EXPECT_EQ(error_class(out.submit(must(out.acquire()), file, 0, 10)),
            ErrorClass::kInvalidArgument);
  EXPECT_TRUE(is_ok(out.drain()));
}

TEST_P(LifetimeTest, stream_ends_while_another_writes_the_same_file) {
  OutputStream stays =
      fixture.make_stream({.buffers = 8, .tuning = {.preallocation = Preallocation::kNone}});
  const OutputFile here = must(stays.create(fixture / "data"));
  {
    OutputStream goes = fixture.make_stream();
    const OutputFile there =
        must(goes.create(fixture / "data", {.existing_content = ExistingContent::kKeep}));
    EXPECT_TRUE(is_ok(submit_pattern(goes, there, {0, 1000})));
    EXPECT_TRUE(is_ok(goes.drain()));
    EXPECT_TRUE(is_ok(submit_pattern(goes, there, {1000, 1000})));
    EXPECT_TRUE(is_ok(goes.drain()));
    EXPECT_TRUE(is_ok(submit_pattern(goes, there, {2000, 0})));
    fixture.gate.close();
    EXPECT_TRUE(is_ok(submit_all(stays, here, {4096, 4 * kBuffer})));
  }
  fixture.gate.open();
  EXPECT_TRUE(is_ok(submit_pattern(stays, here, {2000, 2096})));
  EXPECT_TRUE(is_ok(submit_pattern(stays, here, {4096 + 4 * kBuffer, 10})));
  EXPECT_TRUE(is_ok(stays.drain()));
  EXPECT_TRUE(is_pattern(fixture / "data", 4106 + 4 * kBuffer));
}

TEST_P(LifetimeTest, drain_of_a_file_of_a_canceled_and_ended_stream_fails) {
  std::optional<OutputFile> file;
  {
    OutputStream out = fixture.make_stream();
    file = must(out.create(fixture / "data"));
    EXPECT_TRUE(is_ok(submit_pattern(out, *file, {0, 1000})));
    out.cancel();
  }
  EXPECT_EQ(error_class(file->sync()), ErrorClass::kCancelled);
  EXPECT_EQ(error_class(file->drain()), ErrorClass::kCancelled);
}

TEST_P(LifetimeTest, drain_of_a_file_while_its_stream_is_canceled_and_ends_is_safe) {
  for (int round = 0; round < 100; ++round) {
    OutputStream out = fixture.make_stream();
    std::optional<OutputFile> file = must(out.create(fixture / std::to_string(round)));
    EXPECT_TRUE(is_ok(submit_pattern(out, *file, {0, 1000})));
    std::jthread other([held = std::move(file)]() mutable {
      static_cast<void>(held->sync());  // done, canceled or closed: any outcome
      held.reset();
    });
    out.cancel();
  }
}

TEST_P(LifetimeTest, partial_reservation_of_a_full_disk_is_freed) {
  fixture.gate.fail_reservations_partially();
  OutputStream out = fixture.make_stream({.tuning = {.preallocation = Preallocation::kGrowing}});
  const OutputFile file = must(out.create(fixture / "data"));
  EXPECT_TRUE(is_ok(submit_all(out, file, {0, 100'001})));
  EXPECT_TRUE(is_ok(out.drain()));
  EXPECT_TRUE(is_pattern(fixture / "data", 100'001));
}

TEST_P(LifetimeTest, file_without_direct_access_is_not_truncated) {
  const std::string path = "/dev/shm/forebay-ends-" + std::to_string(::getpid());
  storage::write_pattern_file(path, 1000);
  OutputStream out = fixture.make_stream({.access = Access::kDirect});
  const auto refused = out.create(path);
  if (!refused) {
    EXPECT_EQ(refused.error().kind(), ErrorClass::kUnsupported);
    EXPECT_TRUE(is_pattern(path, 1000));
  }
  ::unlink(path.c_str());
  if (refused) GTEST_SKIP() << "memory can be written directly here";
}

INSTANTIATE_TEST_SUITE_P(All, LifetimeTest, ::testing::ValuesIn(fault_free_configs()), config_name);

}  // namespace
}  // namespace forebay::stream

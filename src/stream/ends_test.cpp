// SPDX-License-Identifier: Apache-2.0
// The order in which streams, files and their waits end is nobody's business but the program's:
// streams that share a file end one after the other, handles outlive their stream, and what was
// drained before is synced all the same.
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

class Ends : public StreamTest {};

TEST_P(Ends, a_sync_after_a_drain_reaches_storage) {
  OutputStream out = site.make_stream();
  const OutputFile file = must(out.create(site / "data"));
  EXPECT_TRUE(works(submit_all(out, file, {0, 100'001})));
  EXPECT_TRUE(works(out.drain()));
  EXPECT_EQ(site.gate.syncs(), 0U);
  EXPECT_TRUE(works(out.sync()));
  EXPECT_EQ(site.gate.syncs(), 1U);
  EXPECT_TRUE(works(out.sync()));
  EXPECT_EQ(site.gate.syncs(), 1U) << "nothing was written since";
}

TEST_P(Ends, a_sync_that_fails_is_told_to_all_who_wrote_the_file) {
  OutputStream first = site.make_stream();
  OutputStream second = site.make_stream();
  const OutputFile here = must(first.create(site / "data"));
  const OutputFile there = must(second.create(site / "data", {.existing = Existing::kKeep}));
  EXPECT_TRUE(works(submit_pattern(first, here, {0, 1000})));
  EXPECT_TRUE(works(submit_pattern(second, there, {1000, 1000})));
  EXPECT_TRUE(works(second.drain()));
  site.gate.lose_bytes();
  EXPECT_EQ(error_class(first.sync()), ErrorClass::kIo);
  site.gate.lose_no_more();
  EXPECT_EQ(error_class(second.sync()), ErrorClass::kIo);
}

TEST_P(Ends, a_sync_that_began_before_a_write_had_ended_is_not_for_it) {
  OutputStream first = site.make_stream({.preallocation = Preallocation::kNone});
  OutputStream second = site.make_stream({.preallocation = Preallocation::kNone});
  const OutputFile here = must(first.create(site / "data"));
  const OutputFile there = must(second.create(site / "data", {.existing = Existing::kKeep}));
  EXPECT_TRUE(works(submit_pattern(first, here, {0, 8192})));
  EXPECT_TRUE(works(first.drain()));
  site.gate.close();
  EXPECT_TRUE(works(submit_pattern(second, there, {8192, 8192})));
  std::thread syncs([&] { EXPECT_TRUE(works(first.sync())); });
  while (site.gate.syncs() == 0)
    std::this_thread::yield();
  site.gate.open();
  syncs.join();
  EXPECT_TRUE(works(second.drain()));
  EXPECT_TRUE(works(second.sync()));
  EXPECT_EQ(site.gate.syncs(), 2U);
}

TEST_P(Ends, what_another_process_has_put_behind_the_end_stays) {
  OutputStream out = site.make_stream({.preallocation = Preallocation::kNone});
  const OutputFile file = must(out.create(site / "data", {.existing = Existing::kKeep}));
  EXPECT_TRUE(works(submit_pattern(out, file, {0, 1000})));
  const Descriptor other(::open((site / "data").c_str(), O_WRONLY | O_CLOEXEC));
  ASSERT_EQ(::pwrite(other.get(), "more", 4, 1'000'000), 4);
  EXPECT_TRUE(works(out.drain()));
  EXPECT_EQ(std::filesystem::file_size(site / "data"), 1'000'004U);
}

TEST_P(Ends, a_file_that_was_moved_from_is_refused) {
  OutputStream out = site.make_stream();
  OutputFile file = must(out.create(site / "data"));
  const OutputFile taken = std::move(file);
  // NOLINTNEXTLINE(bugprone-use-after-move): that is what is tested.
  EXPECT_EQ(error_class(out.submit(must(out.acquire()), file, 0, 10)),
            ErrorClass::kInvalidArgument);
  EXPECT_TRUE(works(out.drain()));
}

TEST_P(Ends, a_stream_ends_while_another_writes_the_same_file) {
  OutputStream stays = site.make_stream({.buffers = 8, .preallocation = Preallocation::kNone});
  const OutputFile here = must(stays.create(site / "data"));
  {
    OutputStream goes = site.make_stream();
    const OutputFile there = must(goes.create(site / "data", {.existing = Existing::kKeep}));
    EXPECT_TRUE(works(submit_pattern(goes, there, {0, 1000})));
    EXPECT_TRUE(works(goes.drain()));
    EXPECT_TRUE(works(submit_pattern(goes, there, {1000, 1000})));
    EXPECT_TRUE(works(goes.drain()));
    EXPECT_TRUE(works(submit_pattern(goes, there, {2000, 0})));
    site.gate.close();
    EXPECT_TRUE(works(submit_all(stays, here, {4096, 4 * kBuffer})));
  }
  site.gate.open();
  EXPECT_TRUE(works(submit_pattern(stays, here, {2000, 2096})));
  EXPECT_TRUE(works(submit_pattern(stays, here, {4096 + 4 * kBuffer, 10})));
  EXPECT_TRUE(works(stays.drain()));
  EXPECT_TRUE(is_pattern(site / "data", 4106 + 4 * kBuffer));
}

TEST_P(Ends, a_file_is_drained_after_its_stream_was_cancelled_and_ended) {
  std::optional<OutputFile> file;
  {
    OutputStream out = site.make_stream();
    file = must(out.create(site / "data"));
    EXPECT_TRUE(works(submit_pattern(out, *file, {0, 1000})));
    out.cancel();
  }
  EXPECT_EQ(error_class(file->sync()), ErrorClass::kCancelled);
  EXPECT_EQ(error_class(file->drain()), ErrorClass::kCancelled);
}

TEST_P(Ends, a_file_is_drained_while_its_stream_is_cancelled_and_ends) {
  for (int round = 0; round < 100; ++round) {
    OutputStream out = site.make_stream();
    std::optional<OutputFile> file = must(out.create(site / std::to_string(round)));
    EXPECT_TRUE(works(submit_pattern(out, *file, {0, 1000})));
    std::jthread other([held = std::move(file)]() mutable {
      static_cast<void>(held->sync());  // done, cancelled or closed: as it happens
      held.reset();
    });
    out.cancel();
  }
}

TEST_P(Ends, what_a_full_disk_reserved_in_part_is_given_back) {
  site.gate.reserve_in_part();
  OutputStream out = site.make_stream({.preallocation = Preallocation::kGrowing});
  const OutputFile file = must(out.create(site / "data"));
  EXPECT_TRUE(works(submit_all(out, file, {0, 100'001})));
  EXPECT_TRUE(works(out.drain()));
  EXPECT_TRUE(is_pattern(site / "data", 100'001));
}

TEST_P(Ends, what_cannot_be_written_directly_is_not_emptied) {
  const std::string path = "/dev/shm/forebay-ends-" + std::to_string(::getpid());
  storage::write_pattern_file(path, 1000);
  OutputStream out = site.make_stream({.access = Access::kDirect});
  const auto refused = out.create(path);
  if (!refused) {
    EXPECT_EQ(refused.error().kind(), ErrorClass::kUnsupported);
    EXPECT_TRUE(is_pattern(path, 1000));
  }
  ::unlink(path.c_str());
  if (refused) GTEST_SKIP() << "memory can be written directly here";
}

INSTANTIATE_TEST_SUITE_P(All, Ends, ::testing::ValuesIn(sound_ways()), way_name);

}  // namespace
}  // namespace forebay::stream

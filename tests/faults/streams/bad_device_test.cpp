// SPDX-License-Identifier: Apache-2.0
// Devices that break under a stream: a bad place in a file, a disk of which no block can be written
// any more, and one that promised more space than it has, which only a sync brings to light.
#include <filesystem>
#include <memory>

#include "emulated_storage.hpp"
#include "fixtures.hpp"

namespace forebay::faults {
namespace {

namespace fs = std::filesystem;

/// A journal that cannot be written makes the whole file system read-only.
const std::vector<std::string> kWithoutJournal = {"mkfs.ext4",    "-q", "-F",       "-O",
                                                  "^has_journal", "-E", "nodiscard"};

class BadDevice : public StreamsOn<EmulatedStorage> {
  std::unique_ptr<EmulatedStorage> make_storage() const override {
    return std::make_unique<EmulatedStorage>();
  }
};

TEST_P(BadDevice, a_bad_place_is_told_with_path_and_offset) {
  constexpr std::uint64_t kBad = 5 * kBuffer;
  OutputStream elsewhere = make_stream();
  const OutputFile good = must(elsewhere.create(*storage / "good"));
  {
    OutputStream out = make_stream();
    const OutputFile file =
        must(out.create(*storage / "data", {.publication = Publication::kWhenComplete}));
    storage->break_writes(fs::path(file.written_path()).filename(), kBad);
    auto held = must(out.acquire());
    const Error error = error_of(out, file, 20 * kBuffer);
    EXPECT_EQ(error.kind(), ErrorClass::kIo) << error.message();
    EXPECT_EQ(error.error_number(), EIO) << error.message();
    EXPECT_EQ(error.path(), file.written_path());
    ASSERT_TRUE(error.offset_bytes().has_value()) << error.message();
    EXPECT_GE(*error.offset_bytes(), kBad);
    expect_refusals(out, file, error);
    held.release();
    EXPECT_TRUE(works(submit_all(elsewhere, good, {0, 6 * kBuffer + 5}, kBuffer)));
  }
  EXPECT_TRUE(works(elsewhere.drain()));
  EXPECT_TRUE(is_pattern(*storage / "good", 6 * kBuffer + 5));
  EXPECT_FALSE(fs::exists(*storage / "data"));
  EXPECT_TRUE(temporaries_of(*storage / "data").empty());
}

TEST_P(BadDevice, a_disk_that_breaks_publishes_nothing_any_more) {
  const LoopDisk disk({.make = kWithoutJournal, .image_folder = storage->path()});
  ASSERT_EQ(disk.reason_against(), "");
  {
    OutputStream out = make_stream();
    const CreateOptions later{.publication = Publication::kWhenComplete};
    const OutputFile first = must(out.create(disk / "first", later));
    EXPECT_TRUE(works(submit_all(out, first, {0, 2 * kBuffer}, kBuffer)));
    EXPECT_TRUE(works(first.publish()));
    const OutputFile second = must(out.create(disk / "second", later));
    storage->break_writes("image", 0);
    const Error error = error_of(out, second, 5 * kBuffer);
    EXPECT_EQ(error.kind(), ErrorClass::kIo) << error.message();
    EXPECT_EQ(error.path(), second.written_path());
    expect_refusals(out, second, error);
  }
  EXPECT_TRUE(is_pattern(disk / "first", 2 * kBuffer));
  EXPECT_FALSE(fs::exists(disk / "second"));
  runtime.reset();
  storage->heal();
}

INSTANTIATE_TEST_SUITE_P(All, BadDevice, ::testing::ValuesIn(ways()), way_name);

/// The page cache takes what the disk below cannot: write(2) is content, and fsync(2) is not.
TEST(ThinDisk, that_is_full_fails_the_sync_of_what_seemed_to_be_written) {
  if (const auto reason = reason_against_own_mounts(); !reason.empty()) GTEST_SKIP() << reason;
  const SmallMemory memory(12_MiB);
  const LoopDisk disk(
      {.make = kWithoutJournal, .size_bytes = 64_MiB, .image_folder = memory.path()});
  ASSERT_EQ(disk.reason_against(), "");
  {
    Runtime runtime;
    OutputStream out = must(runtime.output_stream(Way{}.plan()));
    const OutputFile file =
        must(out.create(disk / "data", {.publication = Publication::kWhenComplete}));
    EXPECT_TRUE(works(submit_all(out, file, {0, 24_MiB}, kBuffer)));
    const Status published = file.publish();
    ASSERT_FALSE(published);
    EXPECT_EQ(published.error().path(), file.written_path());
    EXPECT_EQ(published.error().operation(), "sync") << published.error().message();
    expect_refusals(out, file, published.error());
  }
  EXPECT_FALSE(fs::exists(disk / "data"));
  EXPECT_TRUE(temporaries_of(disk / "data").empty());
}

}  // namespace
}  // namespace forebay::faults

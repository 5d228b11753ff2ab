// SPDX-License-Identifier: Apache-2.0
// Devices that fail under a stream: a bad block in a file, and a disk of which no block can be
// written any more. Also a disk with less space than it reports, which only a sync detects.
#include <filesystem>
#include <memory>

#include "emulated_storage.hpp"
#include "fixtures.hpp"

namespace forebay::faults {
namespace {

namespace fs = std::filesystem;

/// Without a journal: if a journal cannot be written, the whole file system becomes read-only.
const std::vector<std::string> kWithoutJournal = {"mkfs.ext4",    "-q", "-F",       "-O",
                                                  "^has_journal", "-E", "nodiscard"};

class BadDevice : public StreamTest<EmulatedStorage> {
  std::unique_ptr<EmulatedStorage> make_storage() const override {
    return std::make_unique<EmulatedStorage>();
  }
};

TEST_P(BadDevice, bad_block_is_an_error_with_path_and_offset) {
  constexpr std::uint64_t kBad = 5 * kBuffer;
  OutputStream elsewhere = make_stream();
  const OutputFile good = must(elsewhere.create(*storage / "good"));
  {
    OutputStream out = make_stream();
    const OutputFile file =
        must(out.create(*storage / "data", {.visibility = FileVisibility::kOnPublish}));
    storage->inject_write_errors(fs::path(file.write_path()).filename(), kBad);
    auto held = must(out.acquire());
    const Error error = write_until_error(out, file, 20 * kBuffer);
    EXPECT_EQ(error.kind(), ErrorClass::kIo) << error.message();
    EXPECT_EQ(error.error_number(), EIO) << error.message();
    EXPECT_EQ(error.path(), file.write_path());
    ASSERT_TRUE(error.offset_bytes().has_value()) << error.message();
    EXPECT_GE(*error.offset_bytes(), kBad);
    expect_refusals(out, file, error);
    held.release();
    EXPECT_TRUE(is_ok(submit_all(elsewhere, good, {0, 6 * kBuffer + 5}, kBuffer)));
  }
  EXPECT_TRUE(is_ok(elsewhere.drain()));
  EXPECT_TRUE(is_pattern(*storage / "good", 6 * kBuffer + 5));
  EXPECT_FALSE(fs::exists(*storage / "data"));
  EXPECT_TRUE(temporary_files_of(*storage / "data").empty());
}

TEST_P(BadDevice, disk_that_breaks_publishes_nothing_any_more) {
  const LoopDisk disk({.make = kWithoutJournal, .image_directory = storage->path()});
  ASSERT_EQ(disk.unavailable_reason(), "");
  {
    OutputStream out = make_stream();
    const OutputFileOptions later{.visibility = FileVisibility::kOnPublish};
    const OutputFile first = must(out.create(disk / "first", later));
    EXPECT_TRUE(is_ok(submit_all(out, first, {0, 2 * kBuffer}, kBuffer)));
    EXPECT_TRUE(is_ok(first.publish()));
    const OutputFile second = must(out.create(disk / "second", later));
    storage->inject_write_errors("image", 0);
    const Error error = write_until_error(out, second, 5 * kBuffer);
    EXPECT_EQ(error.kind(), ErrorClass::kIo) << error.message();
    EXPECT_EQ(error.path(), second.write_path());
    expect_refusals(out, second, error);
  }
  EXPECT_TRUE(is_pattern(disk / "first", 2 * kBuffer));
  EXPECT_FALSE(fs::exists(disk / "second"));
  runtime.reset();
  storage->clear_faults();
}

INSTANTIATE_TEST_SUITE_P(All, BadDevice, ::testing::ValuesIn(stream_configs()), config_name);

/// The page cache accepts what the disk below cannot store: write(2) succeeds, fsync(2) fails.
TEST(ThinDisk, that_is_full_fails_the_sync_after_successful_writes) {
  if (const auto reason = private_mounts_unavailable_reason(); !reason.empty())
    GTEST_SKIP() << reason;
  const SizedTmpfs memory(12_MiB);
  const LoopDisk disk(
      {.make = kWithoutJournal, .size_bytes = 64_MiB, .image_directory = memory.path()});
  ASSERT_EQ(disk.unavailable_reason(), "");
  {
    Runtime runtime;
    OutputStream out = must(runtime.create_output_stream(WriteConfig{}.plan()));
    const OutputFile file =
        must(out.create(disk / "data", {.visibility = FileVisibility::kOnPublish}));
    EXPECT_TRUE(is_ok(submit_all(out, file, {0, 24_MiB}, kBuffer)));
    const Status published = file.publish();
    ASSERT_FALSE(published);
    EXPECT_EQ(published.error().path(), file.write_path());
    EXPECT_EQ(published.error().operation(), "sync") << published.error().message();
    expect_refusals(out, file, published.error());
  }
  EXPECT_FALSE(fs::exists(disk / "data"));
  EXPECT_TRUE(temporary_files_of(disk / "data").empty());
}

}  // namespace
}  // namespace forebay::faults

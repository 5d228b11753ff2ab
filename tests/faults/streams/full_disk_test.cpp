// SPDX-License-Identifier: Apache-2.0
// Full disks and exhausted quotas on real file systems: when the failure is detected, and its
// Error. Existing files, and files on other storage, are not harmed.
#include <filesystem>
#include <memory>

#include "fixtures.hpp"

namespace forebay::faults {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kDisk = 32_MiB;
constexpr std::uint64_t kBeyondDisk = 40_MiB;

std::vector<WriteConfig> configs_with(std::vector<Preallocation> preallocations) {
  std::vector<WriteConfig> configs;
  for (const Preallocation preallocation : preallocations) {
    for (WriteConfig config : stream_configs()) {
      config.preallocation = preallocation;
      config.name += "_" + std::string(name_of(preallocation));
      configs.push_back(config);
    }
  }
  return configs;
}

class FullDisk : public StreamTest<LoopDisk> {
  std::unique_ptr<LoopDisk> make_storage() const override {
    return std::make_unique<LoopDisk>(LoopDisk::Plan{.size_bytes = kDisk});
  }
};

void expect_no_space(const Error& error, const std::string& path) {
  EXPECT_EQ(error.kind(), ErrorClass::kNoSpace) << error.message();
  EXPECT_EQ(error.error_number(), ENOSPC) << error.message();
  EXPECT_EQ(error.path(), path);
  EXPECT_TRUE(error.offset_bytes().has_value()) << error.message();
  EXPECT_TRUE(message_contains(error, " bytes are requested, the file system has "))
      << error.message();
}

using DiskTooSmall = FullDisk;

TEST_P(DiskTooSmall, for_expected_bytes_fails_before_the_first_write) {
  const std::uint64_t free_before = storage->free_bytes();
  const std::string path = *storage / "data";
  {
    OutputStream out = make_stream();
    const OutputFile file = must(out.create(path, kBeyondDisk));
    auto held = must(out.acquire());
    EXPECT_TRUE(is_ok(submit_pattern(out, file, {0, kBuffer})));
    const Status drained = out.drain();
    ASSERT_FALSE(drained);
    expect_no_space(drained.error(), path);
    expect_refusals(out, file, drained.error());
    held.release();
    EXPECT_EQ(out.report().bytes, 0U);
  }
  EXPECT_EQ(fs::file_size(path), 0U);
  EXPECT_EQ(storage->free_bytes(), free_before) << "unused space stays reserved";
}

TEST_P(DiskTooSmall, for_a_shared_file_fails_in_create) {
  const std::uint64_t free_before = storage->free_bytes();
  const std::string path = *storage / "data";
  OutputStream out = make_stream();
  for (const FileVisibility publication :
       {FileVisibility::kImmediate, FileVisibility::kOnPublish}) {
    const auto file = out.create(path, {.expected_bytes = kBeyondDisk,
                                        .visibility = publication,
                                        .sharing = FileSharing::kShared});
    ASSERT_EQ(error_class(file), ErrorClass::kNoSpace);
    EXPECT_EQ(file.error().error_number(), ENOSPC) << file.error().message();
    EXPECT_TRUE(message_contains(file.error(), " bytes are requested, the file system has "));
    EXPECT_EQ(storage->free_bytes(), free_before) << "unused space stays reserved";
  }
  EXPECT_TRUE(is_ok(out.drain())) << "the stream must continue";
}

INSTANTIATE_TEST_SUITE_P(All,
                         DiskTooSmall,
                         ::testing::ValuesIn(configs_with({Preallocation::kExpected,
                                                           Preallocation::kGrowing})),
                         config_name);

TEST_P(FullDisk, while_writing_harms_no_existing_or_other_file) {
  const TemporaryDirectory other_disk;
  OutputStream elsewhere = make_stream();
  const OutputFile good = must(elsewhere.create(other_disk / "good"));
  EXPECT_TRUE(is_ok(submit_all(elsewhere, good, {0, 4 * kBuffer}, kBuffer)));
  {
    OutputStream out = make_stream();
    const OutputFileOptions later{.visibility = FileVisibility::kOnPublish};
    const OutputFile first = must(out.create(*storage / "first", later));
    EXPECT_TRUE(is_ok(submit_all(out, first, {0, 5 * kBuffer + 77}, kBuffer)));
    EXPECT_TRUE(is_ok(first.publish()));
    storage::write_pattern_file(*storage / "second", 1000);
    const OutputFile second = must(out.create(*storage / "second", later));
    auto held = must(out.acquire());
    const Error error = write_until_error(out, second, kBeyondDisk);
    expect_no_space(error, second.write_path());
    EXPECT_LT(error.offset_bytes().value_or(0), kDisk);
    expect_refusals(out, second, error);
    held.release();
    EXPECT_TRUE(is_ok(submit_all(elsewhere, good, {4 * kBuffer, 2 * kBuffer}, kBuffer)));
  }
  EXPECT_TRUE(is_ok(elsewhere.drain()));
  EXPECT_TRUE(is_pattern(other_disk / "good", 6 * kBuffer));
  EXPECT_TRUE(is_pattern(*storage / "first", 5 * kBuffer + 77));
  EXPECT_TRUE(is_pattern(*storage / "second", 1000));
  EXPECT_TRUE(temporary_files_of(*storage / "second").empty());
}

TEST_P(FullDisk, file_that_just_fits_takes_no_more_than_its_size) {
  const std::uint64_t size = storage->free_bytes() - 2_MiB + 77;
  const std::string path = *storage / "data";
  OutputStream out = make_stream();
  {
    const OutputFile file = must(out.create(path));
    EXPECT_TRUE(is_ok(submit_all(out, file, {0, size}, kBuffer)));
    EXPECT_TRUE(is_ok(file.publish()));
  }
  EXPECT_TRUE(is_pattern(path, size));
  EXPECT_GT(storage->free_bytes(), 1_MiB) << "unused space stays reserved";
}

TEST_P(FullDisk, two_files_share_the_remaining_space) {
  const std::uint64_t half = storage->free_bytes() / 2 - 2_MiB;
  OutputStream out = make_stream();
  {
    const OutputFile one = must(out.create(*storage / "one"));
    const OutputFile two = must(out.create(*storage / "two"));
    for (std::uint64_t done = 0; done < half; done += kBuffer) {
      const ByteRange piece{done, std::min(kBuffer, half - done)};
      EXPECT_TRUE(is_ok(submit_pattern(out, one, piece)));
      EXPECT_TRUE(is_ok(submit_pattern(out, two, piece)));
    }
  }
  EXPECT_TRUE(is_ok(out.drain()));
  EXPECT_TRUE(is_pattern(*storage / "one", half));
  EXPECT_TRUE(is_pattern(*storage / "two", half));
}

TEST_P(FullDisk, short_file_reserves_no_space_that_others_need) {
  const LoopDisk larger({.size_bytes = 96_MiB});
  ASSERT_EQ(larger.unavailable_reason(), "");
  OutputStream out = make_stream();
  const OutputFile one = must(out.create(larger / "one"));
  const OutputFile two = must(out.create(larger / "two"));
  EXPECT_TRUE(is_ok(submit_pattern(out, one, {0, kBuffer})));
  EXPECT_TRUE(is_ok(submit_all(out, two, {0, 60_MiB}, kBuffer)));
  EXPECT_TRUE(is_ok(out.drain()));
  EXPECT_TRUE(is_pattern(larger / "two", 60_MiB));
}

TEST_P(FullDisk, gap_larger_than_the_disk_takes_no_space) {
  const std::string path = *storage / "data";
  OutputStream out = make_stream();
  const OutputFile file = must(out.create(path));
  EXPECT_TRUE(is_ok(submit_pattern(out, file, {0, kBuffer})));
  EXPECT_TRUE(is_ok(submit_pattern(out, file, {kBeyondDisk, kBuffer})));
  EXPECT_TRUE(is_ok(file.publish()));
  EXPECT_EQ(fs::file_size(path), kBeyondDisk + kBuffer);
  EXPECT_GT(storage->free_bytes(), 20_MiB) << "the gap has space";
}

TEST_P(FullDisk, new_stream_works_after_space_was_freed) {
  const std::string path = *storage / "data";
  storage::write_pattern_file(*storage / "large", 15_MiB);
  {
    OutputStream out = make_stream();
    const OutputFile file = must(out.create(path));
    EXPECT_EQ(write_until_error(out, file, 20_MiB).kind(), ErrorClass::kNoSpace);
  }
  fs::remove(*storage / "large");
  OutputStream out = make_stream();
  const OutputFile file = must(out.create(path));
  EXPECT_TRUE(is_ok(submit_all(out, file, {0, 20_MiB}, kBuffer)));
  EXPECT_TRUE(is_ok(file.publish()));
  EXPECT_TRUE(is_pattern(path, 20_MiB));
}

INSTANTIATE_TEST_SUITE_P(All,
                         FullDisk,
                         ::testing::ValuesIn(configs_with({Preallocation::kNone,
                                                           Preallocation::kGrowing})),
                         config_name);

}  // namespace
}  // namespace forebay::faults

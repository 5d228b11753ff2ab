// SPDX-License-Identifier: Apache-2.0
// A quota that is exhausted while the disk has space: btrfs counts the bytes of a subvolume, also
// those of root.
#include <filesystem>
#include <memory>

#include "fixtures.hpp"

namespace forebay::faults {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kBeyondQuota = 32_MiB;

LoopDisk::Plan btrfs() { return {.make = {"mkfs.btrfs", "-q", "-f"}, .size_bytes = 128_MiB}; }

class Quota : public StreamTest<LoopDisk> {
  std::unique_ptr<LoopDisk> make_storage() const override {
    return std::make_unique<LoopDisk>(btrfs());
  }
  void SetUp() override {
    StreamTest::SetUp();
    if (IsSkipped()) return;
    ASSERT_EQ(command_error({"btrfs", "quota", "enable", storage->path()}), "");
    const std::string limited = *storage / "limited";
    ASSERT_EQ(command_error({"btrfs", "subvolume", "create", limited}), "");
    ASSERT_EQ(command_error({"btrfs", "qgroup", "limit", "16M", limited}), "");
  }
};

void expect_quota(const Error& error, const std::string& path) {
  EXPECT_EQ(error.kind(), ErrorClass::kNoSpace) << error.message();
  EXPECT_EQ(error.error_number(), EDQUOT) << error.message();
  EXPECT_EQ(error.path(), path);
  EXPECT_TRUE(error.offset_bytes().has_value()) << error.message();
}

TEST_P(Quota, exhausted_while_writing_is_an_error_with_path_and_offset) {
  OutputStream elsewhere = make_stream();
  const OutputFile good = must(elsewhere.create(*storage / "not-limited"));
  {
    OutputStream out = make_stream();
    const OutputFile file =
        must(out.create(*storage / "limited/data", {.visibility = FileVisibility::kOnPublish}));
    const Error error = write_until_error(out, file, kBeyondQuota);
    expect_quota(error, file.write_path());
    EXPECT_LT(error.offset_bytes().value_or(0), kBeyondQuota);
    expect_refusals(out, file, error);
    EXPECT_TRUE(is_ok(submit_all(elsewhere, good, {0, 4 * kBuffer}, kBuffer)));
  }
  EXPECT_TRUE(is_ok(elsewhere.drain()));
  EXPECT_TRUE(is_pattern(*storage / "not-limited", 4 * kBuffer));
  EXPECT_TRUE(fs::is_empty(*storage / "limited"));
}

TEST_P(Quota, too_small_for_expected_bytes_fails_before_the_first_write) {
  OutputStream out = make_stream();
  const OutputFile file = must(out.create(*storage / "limited/data", kBeyondQuota));
  EXPECT_TRUE(is_ok(submit_pattern(out, file, {0, kBuffer})));
  const Status drained = out.drain();
  ASSERT_FALSE(drained);
  expect_quota(drained.error(), *storage / "limited/data");
  EXPECT_EQ(out.report().bytes, 0U);
}

TEST_P(Quota, file_within_the_quota_is_written) {
  OutputStream out = make_stream();
  const OutputFile file = must(out.create(*storage / "limited/data"));
  EXPECT_TRUE(is_ok(submit_all(out, file, {0, 8_MiB + 77}, kBuffer)));
  EXPECT_TRUE(is_ok(file.publish()));
  EXPECT_TRUE(is_pattern(*storage / "limited/data", 8_MiB + 77));
}

INSTANTIATE_TEST_SUITE_P(All, Quota, ::testing::ValuesIn(stream_configs()), config_name);

}  // namespace
}  // namespace forebay::faults

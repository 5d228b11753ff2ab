// SPDX-License-Identifier: Apache-2.0
// Every row that a remapping reads is prefetched before, and none is prefetched twice.
#include "cube/input_prefetcher.hpp"

#include <algorithm>

#include <gtest/gtest.h>

#include "cube/generate.hpp"
#include "cube/profile_file.hpp"
#include "cube/testing.hpp"

namespace forebay::cube {
namespace {

/// Records prefetched and read ranges.
class RecordingFile final : public RandomAccessFile {
 public:
  explicit RecordingFile(std::shared_ptr<const RandomAccessFile> source)
      : source_(std::move(source)) {}
  const std::string& path() const noexcept override { return source_->path(); }
  std::uint64_t size_bytes() const noexcept override { return source_->size_bytes(); }
  Status read(std::uint64_t offset, std::span<std::byte> into) const override {
    read_.push_back({offset, into.size()});
    return source_->read(offset, into);
  }
  void prefetch(ByteRange range) const override { prefetched_.push_back(range); }

  const std::vector<ByteRange>& prefetched() const { return prefetched_; }
  const std::vector<ByteRange>& read() const { return read_; }

 private:
  const std::shared_ptr<const RandomAccessFile> source_;
  mutable std::vector<ByteRange> prefetched_;
  mutable std::vector<ByteRange> read_;
};

constexpr std::string_view kSum = R"(<metrics>
  <metric type="PREDERIVED_EXCLUSIVE"><uniq_name>sum</uniq_name>
    <cubepl>metric::time(i) + metric::visits(e)</cubepl></metric></metrics>)";

class InputPrefetcherTest : public ::testing::TestWithParam<RemapSelection> {
 protected:
  void SetUp() override {
    const GenerateOptions options{
        .path = path_, .shape = {.locations = 70, .metrics = 4, .call_paths = 20}, .rows = 70};
    ASSERT_TRUE(generate(options));
    auto profile = open_profile(path_);
    ASSERT_TRUE(profile);
    profile_.emplace(std::move(*profile));
    recording_ = std::make_shared<RecordingFile>(*open_posix_file(path_));
    profile_->set_file(recording_);
    auto specification = cubepl::parse_specification(std::string(kSum), "a.spec");
    ASSERT_TRUE(specification);
    auto program = compile_remap(profile_->anchor(), std::move(*specification), GetParam());
    ASSERT_TRUE(program);
    auto source = RemapContext::create(*profile_, std::move(*program), 1U << 20U);
    ASSERT_TRUE(source);
    source_ = std::move(*source);
    auto metrics = plan_metrics(source_->input(), GetParam());
    ASSERT_TRUE(metrics);
    metrics_ = std::move(*metrics);
  }

  const testing::TempDirectory directory_;
  const std::string path_ = directory_.file("a.cubex");
  std::optional<Profile> profile_;
  std::shared_ptr<RecordingFile> recording_;
  std::unique_ptr<RemapContext> source_;
  std::vector<RemapMetric> metrics_;
};

TEST_P(InputPrefetcherTest, prefetches_each_read_range_once) {
  InputPrefetcher prefetcher(*source_);
  RowBuilder builder(*source_);
  for (const RemapMetric& metric : metrics_) {
    std::vector<std::byte> row(metric.description.type.size_bytes() * 70);
    for (std::uint64_t i = 0; i < metric.index.rows.size(); ++i) {
      prefetcher.prefetch(metric, i, 1);
      ASSERT_TRUE(builder.fill(metric, i, row));
      for (const ByteRange& range : recording_->read())
        EXPECT_TRUE(std::ranges::count(recording_->prefetched(), range)) << range.offset;
    }
  }
  EXPECT_FALSE(recording_->read().empty());
  for (const ByteRange& range : recording_->prefetched())
    EXPECT_EQ(std::ranges::count(recording_->prefetched(), range), 1) << range.offset;
}

INSTANTIATE_TEST_SUITE_P(All,
                         InputPrefetcherTest,
                         ::testing::Values(RemapSelection{},
                                           RemapSelection{.inclusive = {"visits"}},
                                           RemapSelection{.exclusive = {"time"}}));

}  // namespace
}  // namespace forebay::cube

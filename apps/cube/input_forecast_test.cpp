// SPDX-License-Identifier: Apache-2.0
// What a remapping will read is told before it reads it, and nothing is told twice.
#include "cube/input_forecast.hpp"

#include <algorithm>

#include <gtest/gtest.h>

#include "cube/generate.hpp"
#include "cube/profile_file.hpp"
#include "cube/testing.hpp"

namespace forebay::cube {
namespace {

/// Writes down what was expected and read.
class WatchedSource final : public ByteSource {
 public:
  explicit WatchedSource(std::shared_ptr<const ByteSource> source) : source_(std::move(source)) {}
  const std::string& path() const noexcept override { return source_->path(); }
  std::uint64_t size_bytes() const noexcept override { return source_->size_bytes(); }
  Status read(std::uint64_t offset, std::span<std::byte> into) const override {
    read_.push_back({offset, into.size()});
    return source_->read(offset, into);
  }
  void expect(ByteRange range) const override { expected_.push_back(range); }

  const std::vector<ByteRange>& expected() const { return expected_; }
  const std::vector<ByteRange>& read() const { return read_; }

 private:
  const std::shared_ptr<const ByteSource> source_;
  mutable std::vector<ByteRange> expected_;
  mutable std::vector<ByteRange> read_;
};

constexpr std::string_view kSum = R"(<metrics>
  <metric type="PREDERIVED_EXCLUSIVE"><uniq_name>sum</uniq_name>
    <cubepl>metric::time(i) + metric::visits(e)</cubepl></metric></metrics>)";

class Forecast : public ::testing::TestWithParam<RemapChoice> {
 protected:
  void SetUp() override {
    const GenerateOptions options{
        .path = path_, .shape = {.locations = 70, .metrics = 4, .call_paths = 20}, .rows = 70};
    ASSERT_TRUE(generate(options));
    auto profile = open_profile(path_);
    ASSERT_TRUE(profile);
    profile_.emplace(std::move(*profile));
    watched_ = std::make_shared<WatchedSource>(*open_plain_source(path_));
    profile_->read_through(watched_);
    auto specification = cubepl::parse_specification(std::string(kSum), "a.spec");
    ASSERT_TRUE(specification);
    auto program = compile_for(profile_->anchor(), std::move(*specification), GetParam());
    ASSERT_TRUE(program);
    auto source = RemapSource::create(*profile_, std::move(*program), 1U << 20U);
    ASSERT_TRUE(source);
    source_ = std::move(*source);
    auto metrics = plan_metrics(source_->input(), GetParam());
    ASSERT_TRUE(metrics);
    metrics_ = std::move(*metrics);
  }

  const testing::TempFolder folder_;
  const std::string path_ = folder_.file("a.cubex");
  std::optional<Profile> profile_;
  std::shared_ptr<WatchedSource> watched_;
  std::unique_ptr<RemapSource> source_;
  std::vector<RemapMetric> metrics_;
};

TEST_P(Forecast, names_what_is_read_and_nothing_twice) {
  InputForecast forecast(*source_);
  RowMaker maker(*source_);
  for (const RemapMetric& metric : metrics_) {
    std::vector<std::byte> row(metric.description.type.size_bytes() * 70);
    for (std::uint64_t i = 0; i < metric.index.rows.size(); ++i) {
      forecast.expect(metric, i, 1);
      ASSERT_TRUE(maker.fill(metric, i, row));
      for (const ByteRange& range : watched_->read())
        EXPECT_TRUE(std::ranges::count(watched_->expected(), range)) << range.offset;
    }
  }
  EXPECT_FALSE(watched_->read().empty());
  for (const ByteRange& range : watched_->expected())
    EXPECT_EQ(std::ranges::count(watched_->expected(), range), 1) << range.offset;
}

INSTANTIATE_TEST_SUITE_P(All,
                         Forecast,
                         ::testing::Values(RemapChoice{},
                                           RemapChoice{.inclusive = {"visits"}},
                                           RemapChoice{.exclusive = {"time"}}));

}  // namespace
}  // namespace forebay::cube

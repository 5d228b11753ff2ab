// SPDX-License-Identifier: Apache-2.0
// Plans that set the stripes of files, on a file system that accepts stripe settings.
#include <forebay/runtime.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/testing.hpp"
#include "storage/stripe_layout.hpp"
#include "tests/faults/streams/emulated_storage.hpp"
#include "tests/faults/streams/private_mounts.hpp"

namespace forebay::faults {
namespace {

constexpr const char* kFourServers = R"(
format = 1
name = "four"
[layout]
stripe_bytes = "1 MiB"
stripe_count = 1
[[servers]]
count = 4
latency_us = 0
concurrency = 64
bandwidth_mb_per_s = 0
)";

class StripesOfPlan : public testing::Test {
 protected:
  void SetUp() override {
    if (const auto reason = private_mounts_unavailable_reason(); !reason.empty())
      GTEST_SKIP() << reason;
    std::ofstream(directory_ / "four.toml") << kFourServers;
    storage_ = std::make_unique<EmulatedStorage>(
        EmulatedStorage::Setup{.machine = directory_ / "four.toml"});
    if (!storage_->unavailable_reason().empty()) GTEST_SKIP() << storage_->unavailable_reason();
  }

  /// Writes a step of one part by this plan. Returns the stripes of its data files.
  std::vector<storage::StripeLayout> stripes_with(const WritePlan& plan) {
    const std::string path = *storage_ / "run.fb";
    write_one_step(path, plan);
    std::vector<storage::StripeLayout> stripes;
    for (const auto& entry : std::filesystem::directory_iterator(path)) {
      if (!entry.path().filename().string().starts_with("data-")) continue;
      const auto file = storage::open_file(entry.path().string());
      EXPECT_TRUE(file) << file.error().message();
      stripes.push_back(storage::stripe_layout_of(**file).value_or(storage::StripeLayout{}));
    }
    return stripes;
  }

 private:
  /// Files that were created ahead are removed when this returns, as the Runtime ends.
  static void write_one_step(const std::string& path, const WritePlan& plan) {
    Runtime runtime;
    auto dataset = runtime.create_dataset(path, {.plan = plan});
    EXPECT_TRUE(dataset) << dataset.error().message();
    auto step = dataset->begin_step(1);
    const std::vector<double> values(100'000, 1.5);
    EXPECT_TRUE(step->put("values", Part{0}, std::span(values)));
    const auto receipt = step->commit().wait();
    EXPECT_TRUE(receipt) << receipt.error().message();
    EXPECT_TRUE(dataset->close());
  }

  const TemporaryDirectory directory_;
  std::unique_ptr<EmulatedStorage> storage_;
};

TEST_F(StripesOfPlan, are_set_for_its_files) {
  const auto stripes = stripes_with(
      {.writers = 1, .tuning = {.stripe_count = 3, .stripe_bytes = std::uint64_t{256} << 10U}});
  ASSERT_FALSE(stripes.empty());
  for (const storage::StripeLayout& one : stripes) {
    EXPECT_EQ(one.stripe_bytes, std::uint64_t{256} << 10U);
    EXPECT_EQ(one.stripe_count, 3U);
  }
}

TEST_F(StripesOfPlan, that_are_unset_are_those_of_the_storage) {
  const auto stripes = stripes_with({.writers = 1});
  ASSERT_FALSE(stripes.empty());
  EXPECT_EQ(stripes.front().stripe_bytes, std::uint64_t{1} << 20U);
  EXPECT_EQ(stripes.front().stripe_count, 1U);
}

}  // namespace
}  // namespace forebay::faults

// SPDX-License-Identifier: Apache-2.0
// A row of an effect says what a user takes it for: how many times as long the job takes without.
#include "bench/engine/effects.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/frame/work_folder.hpp"

namespace forebay::bench::engine {
namespace {

/// Takes a little longer in each round, as a machine that gets busier.
Variant taking(const std::string& name, double seconds) {
  return {name, {}, [seconds, slowness = 1.0]() mutable {
            slowness *= 1.5;
            return Result<double>(seconds * slowness);
          }};
}

class ShowEffect : public testing::Test {
 protected:
  Result<WorkFolder> folder_ = WorkFolder::make(".");
  Context context_{{.folder = folder_.value().path()}};
};

TEST_F(ShowEffect, is_the_time_without_over_the_time_with_it) {
  const Status shown =
      show_effect(context_, {"effect", {taking("as it is", 0.5), taking("without", 1.5)}});
  ASSERT_TRUE(shown);
  ASSERT_EQ(context_.rows().size(), 1U);
  const ResultRow& row = context_.rows()[0];
  EXPECT_EQ(row.id, "effect");
  EXPECT_EQ(row.unit, "1");
  EXPECT_DOUBLE_EQ(row.measured.median, 3);
  EXPECT_DOUBLE_EQ(row.measured.low, 3);
  EXPECT_DOUBLE_EQ(row.measured.high, 3);
  EXPECT_GE(row.measured.runs, 5U);
  EXPECT_FALSE(row.goal);
}

TEST_F(ShowEffect, has_every_variant_beside_it_in_seconds) {
  ASSERT_TRUE(show_effect(
      context_, {"effect", {taking("as it is", 1), taking("without", 2), taking("other", 3)}}));
  std::vector<std::string> names;
  for (const Peer& peer : context_.rows()[0].peers) {
    names.push_back(peer.name);
    EXPECT_EQ(peer.unit, "s");
  }
  EXPECT_THAT(names, testing::ElementsAre("as it is", "without", "other"));
}

TEST_F(ShowEffect, that_cannot_be_run_is_an_error_and_no_row) {
  const Variant broken{
      "without", {}, [] { return Result<double>(failure({.operation = "switch it off"})); }};
  const Status shown = show_effect(context_, {"effect", {taking("as it is", 1), broken}});
  ASSERT_FALSE(shown);
  EXPECT_THAT(shown.error().message(), testing::HasSubstr("without: switch it off"));
  EXPECT_TRUE(context_.rows().empty());
}

}  // namespace
}  // namespace forebay::bench::engine

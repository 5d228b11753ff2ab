// SPDX-License-Identifier: Apache-2.0
// A row of an effect has its documented meaning: the time without the optimization / the time with
// it.
#include "bench/engine/effects.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/frame/work_directory.hpp"

namespace forebay::bench::engine {
namespace {

/// Takes a little longer in each round, as on a machine that gets busier.
Variant taking(const std::string& name, double seconds) {
  return {name, {}, [seconds, slowness = 1.0]() mutable {
            slowness *= 1.5;
            return Result<double>(seconds * slowness);
          }};
}

class MeasureEffect : public testing::Test {
 protected:
  Result<WorkDirectory> directory_ = WorkDirectory::make(".");
  Context context_{{.directory = directory_.value().path()}};
};

TEST_F(MeasureEffect, result_is_time_without_over_time_with) {
  const Status shown =
      measure_effect(context_, {"effect", {taking("as it is", 0.5), taking("without", 1.5)}});
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

TEST_F(MeasureEffect, every_variant_is_a_peer_in_seconds) {
  ASSERT_TRUE(measure_effect(
      context_, {"effect", {taking("as it is", 1), taking("without", 2), taking("other", 3)}}));
  std::vector<std::string> names;
  for (const Peer& peer : context_.rows()[0].peers) {
    names.push_back(peer.name);
    EXPECT_EQ(peer.unit, "s");
  }
  EXPECT_THAT(names, testing::ElementsAre("as it is", "without", "other"));
}

TEST_F(MeasureEffect, failing_variant_is_an_error_without_a_row) {
  const Variant broken{
      "without", {}, [] { return Result<double>(failure({.operation = "switch it off"})); }};
  const Status shown = measure_effect(context_, {"effect", {taking("as it is", 1), broken}});
  ASSERT_FALSE(shown);
  EXPECT_THAT(shown.error().message(), testing::HasSubstr("without: switch it off"));
  EXPECT_TRUE(context_.rows().empty());
}

}  // namespace
}  // namespace forebay::bench::engine

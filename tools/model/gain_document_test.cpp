// SPDX-License-Identifier: Apache-2.0
// Documents of the gain model: with and without jitter, and for invalid queries.
#include "tools/model/gain_document.hpp"

#include <set>
#include <string>

#include <gtest/gtest.h>

#include "base/testing.hpp"

namespace forebay::model_tool {
namespace {

using nlohmann::json;

json describe_or_empty(const GainQuery& query) {
  auto document = describe_gain(query);
  EXPECT_TRUE(document.has_value());
  return document.value_or(json::object());
}

GainQuery query_of(double compute_s, double write_s) {
  GainQuery query;
  query.pipeline.compute_s = compute_s;
  query.pipeline.write_s = write_s;
  return query;
}

TEST(GainDocument, without_jitter_has_the_formulas_result) {
  const json document = describe_or_empty(query_of(0.01, 0.02));
  EXPECT_EQ(document["jitter"], nullptr);
  EXPECT_FALSE(document.contains("curves"));
  EXPECT_DOUBLE_EQ(document["bound"].get<double>(), 1.5);
  EXPECT_EQ(document["requested"]["buffers"], 2);
  for (const char* end : {"mean", "low", "high"})
    EXPECT_NEAR(document["requested"]["total_s"][end].get<double>(), 20.01, 1e-9);
  EXPECT_EQ(document["best"]["buffers"], 2);
  EXPECT_EQ(document["best"]["devices"], 2);
  EXPECT_EQ(document["best"]["devices_buffers"], 3);
}

TEST(GainDocument, has_a_row_for_each_and_the_requested_number_of_buffers) {
  GainQuery query = query_of(1, 1);
  query.pipeline.buffers = 6;
  json counts = json::array();
  const json document = describe_or_empty(query);
  for (const json& row : document["by_buffers"])
    counts.push_back(row["buffers"]);
  EXPECT_EQ(counts, json({1, 2, 3, 4, 6, 8, nullptr}));
}

TEST(GainDocument, has_a_spread_with_jitter) {
  GainQuery query = query_of(0.01, 0.01);
  query.jitter.write = 0.3;
  const json document = describe_or_empty(query);
  EXPECT_EQ(document["jitter"]["distribution"], "lognormal");
  EXPECT_EQ(document["jitter"]["runs"], 200);
  const json& gain = document["requested"]["gain"];
  EXPECT_LT(gain["low"], gain["mean"]);
  EXPECT_LT(gain["mean"], gain["high"]);
  EXPECT_LT(gain["high"], document["bound"]);
}

TEST(GainDocument, curves_have_points_at_kinks_and_at_the_query) {
  GainQuery query = query_of(7, 1);
  query.pipeline.devices = 2;
  query.curves = Curves::kInclude;
  const json document = describe_or_empty(query);
  ASSERT_EQ(document["curves"].size(), 4U);
  for (const json& curve : document["curves"]) {
    std::set<double> ratios;
    for (const json& point : curve["points"])
      ratios.insert(point["ratio"].get<double>());
    EXPECT_TRUE(ratios.contains(0.03));
    EXPECT_TRUE(ratios.contains(0.5));
    EXPECT_TRUE(ratios.contains(1));
    EXPECT_TRUE(ratios.contains(7));
    EXPECT_NEAR(*ratios.rbegin(), 30, 1e-9);
  }
  EXPECT_EQ(document["curves"][3]["buffers"], nullptr);
}

TEST(GainDocument, has_curves_without_writing_or_computing) {
  for (GainQuery query : {query_of(1, 0), query_of(0, 1)}) {
    query.curves = Curves::kInclude;
    EXPECT_NEAR(describe_or_empty(query)["requested"]["gain"]["mean"].get<double>(), 1, 1e-9);
  }
}

TEST(GainDocument, progress_that_returns_false_ends_with_cancelled) {
  GainQuery query = query_of(1, 1);
  query.jitter.write = 0.1;
  query.curves = Curves::kInclude;
  int steps = 0;
  const auto cancel = [&](const command::ProgressStep&) { return ++steps < 3; };
  EXPECT_EQ(error_class(describe_gain(query, cancel)), ErrorClass::kCancelled);
  EXPECT_EQ(steps, 3);
}

TEST(GainDocument, invalid_query_fails) {
  EXPECT_EQ(error_class(describe_gain(query_of(-1, 1))), ErrorClass::kInvalidArgument);
  GainQuery query = query_of(1, 1);
  query.jitter.write = -1;
  EXPECT_EQ(error_class(describe_gain(query)), ErrorClass::kInvalidArgument);
  query = query_of(1, 1);
  query.jitter.write = 1;
  query.pipeline.count = 1'000'000'000;
  EXPECT_EQ(error_class(describe_gain(query)), ErrorClass::kLimit);
}

}  // namespace
}  // namespace forebay::model_tool

// SPDX-License-Identifier: Apache-2.0
// Documents of the gain model: with and without jitter, and where there is no answer.
#include "tools/model/gain_document.hpp"

#include <set>
#include <string>

#include <gtest/gtest.h>

#include "base/testing.hpp"

namespace forebay::model_tool {
namespace {

using nlohmann::json;

json described(const GainQuestion& question) {
  auto document = describe_gain(question);
  EXPECT_TRUE(document.has_value());
  return document.value_or(json::object());
}

GainQuestion question_of(double compute_s, double write_s) {
  GainQuestion question;
  question.pipeline.compute_s = compute_s;
  question.pipeline.write_s = write_s;
  return question;
}

TEST(GainDocument, has_the_answer_of_the_formula_without_jitter) {
  const json document = described(question_of(0.01, 0.02));
  EXPECT_EQ(document["jitter"], nullptr);
  EXPECT_FALSE(document.contains("curves"));
  EXPECT_DOUBLE_EQ(document["bound"].get<double>(), 1.5);
  EXPECT_EQ(document["asked"]["buffers"], 2);
  for (const char* end : {"mean", "low", "high"})
    EXPECT_NEAR(document["asked"]["total_s"][end].get<double>(), 20.01, 1e-9);
  EXPECT_EQ(document["best"]["buffers"], 2);
  EXPECT_EQ(document["best"]["devices"], 2);
  EXPECT_EQ(document["best"]["devices_buffers"], 3);
}

TEST(GainDocument, has_a_row_for_each_number_of_buffers_and_the_one_asked_for) {
  GainQuestion question = question_of(1, 1);
  question.pipeline.buffers = 6;
  json counts = json::array();
  const json document = described(question);
  for (const json& row : document["by_buffers"])
    counts.push_back(row["buffers"]);
  EXPECT_EQ(counts, json({1, 2, 3, 4, 6, 8, nullptr}));
}

TEST(GainDocument, has_a_spread_with_jitter) {
  GainQuestion question = question_of(0.01, 0.01);
  question.jitter.write = 0.3;
  const json document = described(question);
  EXPECT_EQ(document["jitter"]["distribution"], "lognormal");
  EXPECT_EQ(document["jitter"]["runs"], 200);
  const json& gain = document["asked"]["gain"];
  EXPECT_LT(gain["low"], gain["mean"]);
  EXPECT_LT(gain["mean"], gain["high"]);
  EXPECT_LT(gain["high"], document["bound"]);
}

TEST(GainDocument, has_curves_that_bend_where_the_model_does_and_pass_the_question) {
  GainQuestion question = question_of(7, 1);
  question.pipeline.devices = 2;
  question.curves = Curves::kTell;
  const json document = described(question);
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

TEST(GainDocument, has_curves_although_nothing_is_written_or_computed) {
  for (GainQuestion question : {question_of(1, 0), question_of(0, 1)}) {
    question.curves = Curves::kTell;
    EXPECT_NEAR(described(question)["asked"]["gain"]["mean"].get<double>(), 1, 1e-9);
  }
}

TEST(GainDocument, of_nonsense_is_an_error) {
  EXPECT_EQ(error_class(describe_gain(question_of(-1, 1))), ErrorClass::kInvalidArgument);
  GainQuestion question = question_of(1, 1);
  question.jitter.write = -1;
  EXPECT_EQ(error_class(describe_gain(question)), ErrorClass::kInvalidArgument);
  question = question_of(1, 1);
  question.jitter.write = 1;
  question.pipeline.count = 1'000'000'000;
  EXPECT_EQ(error_class(describe_gain(question)), ErrorClass::kLimit);
}

}  // namespace
}  // namespace forebay::model_tool

// SPDX-License-Identifier: Apache-2.0
// A benchmark in the frame, from registration to rows.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/frame/benchmark.hpp"
#include "bench/frame/work_directory.hpp"

namespace forebay::bench {
namespace {

FOREBAY_BENCHMARK(sample, "a benchmark for tests") {
  if (context.is_selected("sample.ratio")) {
    const Variant ours{"ours", {}, [] { return Result<double>(1.0); }};
    const Variant theirs{"theirs", {}, [] { return Result<double>(4.0); }};
    const auto rounds = context.run("sample.ratio", 5, {ours, theirs});
    if (!rounds) return tl::unexpected(rounds.error());
    context.add({"sample.ratio", "1", rounds->ratio("ours", "theirs"), Goal{0.5}, {}});
  }
  if (context.is_selected("sample.fails")) {
    return failure({.kind = ErrorClass::kUnsupported, .operation = "measure"});
  }
  return {};
}

class ContextTest : public testing::Test {
 protected:
  Context context(std::set<std::string> only, Effort effort = Effort::kUsual) const {
    return Context({effort, directory_.value().path(), std::move(only), ProgressMode::kSilent});
  }
  Result<WorkDirectory> directory_ = WorkDirectory::make(".");
};

TEST_F(ContextTest, registered_benchmark_is_found_by_name) {
  ASSERT_TRUE(all_benchmarks().contains("sample"));
  EXPECT_EQ(all_benchmarks().at("sample").description, "a benchmark for tests");
}

TEST_F(ContextTest, rows_before_a_failure_stay) {
  Context all_ids = context({});
  const Status status = all_benchmarks().at("sample").body(all_ids);
  EXPECT_FALSE(status);
  ASSERT_EQ(all_ids.rows().size(), 1U);
  EXPECT_DOUBLE_EQ(all_ids.rows()[0].measured.median, 0.25);
  EXPECT_EQ(all_ids.rows()[0].measured.runs, 5U);
}

TEST_F(ContextTest, on_result_is_called_after_each_result) {
  Context all_ids = context({});
  std::vector<std::size_t> rows;
  all_ids.on_result([&] { rows.push_back(all_ids.rows().size()); });
  all_ids.add({"one", "1", {}, {}, {}});
  all_ids.add({"two", "1", {}, {}, {}});
  EXPECT_THAT(rows, testing::ElementsAre(1, 2));
}

TEST_F(ContextTest, only_selected_ids_are_measured) {
  Context one_id = context({"sample.ratio"});
  EXPECT_TRUE(all_benchmarks().at("sample").body(one_id));
  EXPECT_THAT(one_id.unknown_ids(), testing::IsEmpty());
}

TEST_F(ContextTest, id_without_a_call_of_is_selected_is_unknown) {
  Context wrong = context({"sample.rati"});
  EXPECT_TRUE(all_benchmarks().at("sample").body(wrong));
  EXPECT_THAT(wrong.unknown_ids(), testing::ElementsAre("sample.rati"));
  EXPECT_THAT(wrong.known_ids(), testing::ElementsAre("sample.fails", "sample.ratio"));
}

TEST_F(ContextTest, word_file_is_created_once_for_each_size) {
  Context measuring = context({});
  const auto first = measuring.word_file(4096);
  const auto again = measuring.word_file(4096);
  const auto other = measuring.word_file(8192);
  ASSERT_TRUE(first && again && other);
  EXPECT_EQ(*first, *again);
  EXPECT_NE(*first, *other);
  EXPECT_EQ(std::filesystem::file_size(*other), 8192U);
}

TEST_F(ContextTest, each_effort_chooses_its_value) {
  EXPECT_EQ(context({}, Effort::kQuick).choose(1024, 64), 64);
  EXPECT_EQ(context({}, Effort::kUsual).choose(1024, 64), 1024);
  EXPECT_EQ(context({}, Effort::kFull).choose(1024, 64), 1024);
  const ByEffort<int> values{.quick = 1, .usual = 2, .full = 3};
  EXPECT_EQ(context({}, Effort::kQuick).choose(values), 1);
  EXPECT_EQ(context({}, Effort::kUsual).choose(values), 2);
  EXPECT_EQ(context({}, Effort::kFull).choose(values), 3);
}

/// Takes a little longer in each round, as on a machine that gets busier.
Variant taking(const std::string& name, double seconds) {
  return {name, {}, [seconds, slowness = 1.0]() mutable { return seconds * (slowness *= 1.5); }};
}

TEST_F(ContextTest, compare_adds_selected_rows_with_values_of_pairs) {
  Context measuring = context({"ratio", "difference"});
  ASSERT_TRUE(measuring.compare({.rows = {{"ratio", ratio_of("b", "a"), Goal{4}},
                                          {"plain", value_of("a"), {}, "s"},
                                          {"difference", difference_of("b", "a"), {}, "s"}},
                                 .rounds = 1,
                                 .variants = {taking("a", 1), taking("b", 3)}}));
  ASSERT_EQ(measuring.rows().size(), 2U);
  EXPECT_EQ(measuring.rows()[0].id, "ratio");
  EXPECT_DOUBLE_EQ(measuring.rows()[0].measured.median, 3);
  EXPECT_EQ(measuring.rows()[0].unit, "1");
  EXPECT_DOUBLE_EQ(measuring.rows()[0].goal.value_or(Goal{}).value, 4);
  EXPECT_DOUBLE_EQ(measuring.rows()[1].measured.median, 4.5);  // after a warm-up round
  EXPECT_EQ(measuring.rows()[1].unit, "s");
  EXPECT_THAT(measuring.known_ids(), testing::ElementsAre("difference", "plain", "ratio"));
}

TEST_F(ContextTest, compare_shows_all_variants_or_the_named_ones_as_peers) {
  Context measuring = context({});
  Comparison comparison{.rows = {{"all", value_of("a")}},
                        .variants = {taking("a", 1), taking("b", 2), taking("c", 3)},
                        .unit = "us"};
  ASSERT_TRUE(measuring.compare(comparison));
  comparison.rows[0].id = "one";
  comparison.peers = {{"b"}};
  ASSERT_TRUE(measuring.compare(comparison));
  const auto peers = [&](std::size_t row) {
    std::vector<std::string> found;
    for (const Peer& peer : measuring.rows()[row].peers)
      found.push_back(peer.name + " " + peer.unit);
    return found;
  };
  EXPECT_THAT(peers(0), testing::ElementsAre("a us", "b us", "c us"));
  EXPECT_THAT(peers(1), testing::ElementsAre("b us"));
}

TEST_F(ContextTest, compare_without_selected_rows_runs_nothing) {
  Context measuring = context({"other"});
  const Variant bad{"bad", {}, [] { return Result<double>(failure({.operation = "measure"})); }};
  EXPECT_TRUE(measuring.compare({.rows = {{"row", value_of("bad")}}, .variants = {bad}}));
}

TEST_F(ContextTest, failing_or_throwing_variant_is_an_error_without_a_row) {
  const auto fail = [] { return Result<double>(failure({.operation = "switch it off"})); };
  for (const Variant& bad :
       {Variant{"bad", {}, fail}, Variant{"bad", {}, [&fail] { return fail().value(); }},
        Variant{"bad", [&fail]() -> Status { return failure(fail().error()); },
                [] { return 1.0; }}}) {
    Context measuring = context({});
    const Status done = measuring.compare(
        {.rows = {{"row", ratio_of("bad", "good")}}, .variants = {taking("good", 1), bad}});
    ASSERT_FALSE(done);
    EXPECT_THAT(done.error().message(), testing::HasSubstr("bad: switch it off"));
    EXPECT_TRUE(measuring.rows().empty());
  }
}

TEST_F(ContextTest, run_each_runs_selected_groups_until_a_failure) {
  std::vector<std::string> ran;
  const auto group = [&ran](const std::string& id, Status result = {}) {
    return RowGroup{{id, id + ".more"}, [&ran, id, result](Context&) {
                      ran.push_back(id);
                      return result;
                    }};
  };
  const Status broken = failure({.operation = "measure"});
  Context measuring = context({"b", "c.more", "d"});
  EXPECT_FALSE(run_each(measuring, {group("a"), group("b"), group("c", broken), group("d")}));
  EXPECT_THAT(ran, testing::ElementsAre("b", "c"));
  EXPECT_TRUE(measuring.known_ids().contains("a.more"));
}

TEST_F(ContextTest, run_each_skips_rows_of_an_unavailable_group) {
  Context measuring = context({"a", "b"});
  const auto ran = [](Context&) { return Status(failure({.operation = "measure"})); };
  EXPECT_TRUE(run_each(measuring, {{{"a", "c"}, ran, [] { return "no device"; }}}));
  EXPECT_THAT(measuring.skipped(), testing::ElementsAre(testing::Pair("a", "no device")));
}

TEST_F(ContextTest, the_same_id_twice_is_a_bug) {
  Context measuring = context({});
  measuring.add({"a", "s", summarize({1}), std::nullopt, {}});
  EXPECT_DEATH(measuring.add({"a", "s", summarize({1}), std::nullopt, {}}), "none_of");
}

}  // namespace
}  // namespace forebay::bench

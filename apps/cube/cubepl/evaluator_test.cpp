// SPDX-License-Identifier: Apache-2.0
// Values of complete specifications, against numbers computed by hand for the small profile:
//
//   call path            time            visits
//   0 main             1    2    3     1  1  1
//   1   MPI_Send      10   20   30     4  0  2
//   2   compute      100  200  300     0  0  0
//   3     MPI_Barrier 0.5  0   0.25    2  2  0
#include "cube/cubepl/evaluator.hpp"

#include <cfloat>
#include <fstream>
#include <iterator>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cube/cubepl/testing.hpp"

namespace forebay::cubepl {
namespace {

using testing::bind_text;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::metric;
using testing::small_profile;
using testing::specification;

constexpr auto kExclusive = Flavor::kExclusive;
constexpr auto kInclusive = Flavor::kInclusive;

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string test_specification() {
  return read_file(FOREBAY_SOURCE_DIR "/tests/data/cube/small.spec");
}

TEST(Evaluator, ambiguous_stored_metric_is_rejected_if_used) {
  const auto profile = small_profile();
  profile->add_metric("time");
  const std::string derived =
      metric("x", "PREDERIVED_EXCLUSIVE", "<cubepl>metric::time(e)</cubepl>");
  for (const std::string& text : {derived, metric("time", "EXCLUSIVE", "")}) {
    EXPECT_THAT(bind_text(specification(text), *profile).error(),
                HasSubstr("2 metrics of the profile are named 'time'"));
  }
  const std::string own = metric("time", "PREDERIVED_EXCLUSIVE", "<cubepl>1</cubepl>");
  EXPECT_THAT(bind_text(specification(own), *profile).row(*profile, "time", 1), Each(1));
}

TEST(Evaluator, ten_metrics_equal_values_computed_by_hand) {
  const auto profile = small_profile();
  const auto derived = bind_text(test_specification(), *profile);
  const auto row = [&](std::string_view name, std::size_t callpath, Flavor flavor) {
    return derived.row(*profile, name, callpath, flavor);
  };
  // Stored: copied.
  EXPECT_THAT(row("time", 2, kExclusive), ElementsAre(100, 200, 300));
  EXPECT_THAT(row("time", 2, kInclusive), ElementsAre(100.5, 200, 300.25));
  // 1: time of call paths that call MPI.
  EXPECT_THAT(row("mpi", 1, kExclusive), ElementsAre(10, 20, 30));
  EXPECT_THAT(row("mpi", 2, kExclusive), ElementsAre(0, 0, 0));
  EXPECT_THAT(row("mpi", 2, kInclusive), ElementsAre(0.5, 0, 0.25));
  EXPECT_THAT(row("mpi", 0, kInclusive), ElementsAre(10.5, 20, 30.25));
  // 2: those whose role is point2point; 3: those whose name is that of a barrier.
  EXPECT_THAT(row("mpi_p2p", 0, kInclusive), ElementsAre(10, 20, 30));
  EXPECT_THAT(row("mpi_barrier", 0, kInclusive), ElementsAre(0.5, 0, 0.25));
  // 4: a sum of two, 5: a difference, both after aggregation.
  EXPECT_THAT(row("mpi_known", 0, kInclusive), ElementsAre(10.5, 20, 30.25));
  EXPECT_THAT(row("computation", 0, kInclusive), ElementsAre(101, 202, 303));
  EXPECT_THAT(row("computation", 2, kExclusive), ElementsAre(100, 200, 300));
  // 6: a quotient after aggregation: 111.5 / 7, 222 / 3, 333.25 / 3.
  EXPECT_THAT(row("time_per_visit", 0, kInclusive), ElementsAre(111.5 / 7, 222.0 / 3, 333.25 / 3));
  EXPECT_THAT(row("time_per_visit", 2, kExclusive), ElementsAre(DBL_MAX, DBL_MAX, DBL_MAX));
  // 7: above the average of the locations: (10 + 20 + 30) / 3.
  EXPECT_THAT(row("above_average", 1, kExclusive), ElementsAre(0, 0, 10));
  // 8: the maximum of all call paths below, by <cubeplaggr>.
  EXPECT_THAT(row("longest", 0, kInclusive), ElementsAre(100, 200, 300));
  EXPECT_THAT(row("longest", 0, kExclusive), ElementsAre(1, 2, 3));
  // 9: an inclusive expression; the exclusive value excludes the children's.
  EXPECT_THAT(row("doubled", 2, kInclusive), ElementsAre(201, 400, 600.5));
  EXPECT_THAT(row("doubled", 2, kExclusive), ElementsAre(200, 400, 600));
  // 10: visits of a location above 1, counted by loops and conditions.
  EXPECT_THAT(row("repeats", 1, kExclusive), ElementsAre(3, 0, 1));
  // Switched off: the profile has no OpenMP.
  EXPECT_THAT(row("openmp", 0, kInclusive), ElementsAre(0, 0, 0));
  EXPECT_TRUE(
      (*derived.bound_program)
          ->is_excluded(*(*derived.bound_program)->program().specification.find("openmp_barrier")));
}

TEST(Evaluator, stored_metrics_absent_from_profile_are_zero) {
  const auto profile = small_profile();
  const auto derived = bind_text(
      specification(metric("idle", "EXCLUSIVE", "") +
                    metric("m", "POSTDERIVED", "<cubepl>metric::time() - metric::idle()</cubepl>")),
      *profile);
  EXPECT_THAT(derived.row(*profile, "idle", 1), ElementsAre(0, 0, 0));
  EXPECT_THAT(derived.row(*profile, "m", 1), ElementsAre(10, 20, 30));
}

TEST(Evaluator, unknown_metric_returns_error_with_name) {
  const auto profile = small_profile();
  EXPECT_THAT(
      bind_text(specification(metric("m", "POSTDERIVED", "<cubepl>1 + metric::tme()</cubepl>")),
                *profile)
          .error(),
      HasSubstr("metric m, cubepl, line 2, column 64: metric tme is neither in the specification "
                "nor in the profile"));
}

TEST(Evaluator, aggregations_replace_plus_and_minus) {
  const auto profile = small_profile();
  const auto derived = bind_text(
      specification(
          metric("low", "PREDERIVED_EXCLUSIVE",
                 "<cubepl>metric::time(e)</cubepl>"
                 "<cubeplaggr cubeplaggrtype=plus>min(arg1, arg2)</cubeplaggr>") +
          metric("rest", "PREDERIVED_INCLUSIVE",
                 "<cubepl>metric::time(i)</cubepl>"
                 "<cubeplaggr cubeplaggrtype=minus>{ ${r} = 0; if (arg1 > arg2 * 100) { ${r} = "
                 "arg1; }; return ${r}; }</cubeplaggr>")),
      *profile);
  EXPECT_THAT(derived.row(*profile, "low", 0, kInclusive), ElementsAre(0.5, 0, 0.25));
  EXPECT_THAT(derived.row(*profile, "low", 2, kInclusive), ElementsAre(0.5, 0, 0.25));
  EXPECT_THAT(derived.row(*profile, "rest", 2), ElementsAre(100.5, 200, 300.25));
  EXPECT_THAT(derived.row(*profile, "rest", 0), ElementsAre(0, 0, 0));
}

TEST(Evaluator, postderived_values_have_requested_flavor) {
  const auto profile = small_profile();
  const auto derived =
      bind_text(specification(metric("m", "POSTDERIVED",
                                     "<cubepl>metric::time() / metric::visits(*)</cubepl>")),
                *profile);
  EXPECT_THAT(derived.row(*profile, "m", 0, kExclusive), ElementsAre(1, 2, 3));
  EXPECT_THAT(derived.row(*profile, "m", 3, kInclusive), ElementsAre(0.25, 0, DBL_MAX));
}

TEST(Evaluator, switched_off_metrics_are_zero_and_children_excluded) {
  const auto profile = small_profile();
  const auto derived = bind_text(
      specification(
          "<metric type=\"POSTDERIVED\"><uniq_name>top</uniq_name><cubepl>1</cubepl><cubeplinit>"
          "{ cube::metric::set::top(\"value\", \"VOID\"); return 0; }</cubeplinit>" +
          metric("below", "POSTDERIVED", "<cubepl>2</cubepl>") + "</metric>" +
          metric("sum", "POSTDERIVED", "<cubepl>metric::top() + metric::below()</cubepl>") +
          metric("is_void", "POSTDERIVED",
                 "<cubepl>cube::metric::get::top(\"value\") eq \"VOID\"</cubepl>")),
      *profile);
  EXPECT_THAT(derived.row(*profile, "top", 0), Each(0));
  EXPECT_THAT(derived.row(*profile, "below", 0), Each(2));
  EXPECT_THAT(derived.row(*profile, "sum", 0), Each(2));
  EXPECT_THAT(derived.row(*profile, "is_void", 0), Each(1));
  ASSERT_TRUE(derived.bound_program);
  EXPECT_TRUE((*derived.bound_program)->is_excluded(0));
  EXPECT_TRUE((*derived.bound_program)->is_excluded(1));
  EXPECT_FALSE((*derived.bound_program)->is_excluded(2));
}

TEST(Evaluator, profile_only_metric_can_be_switched_off_and_queried) {
  const auto profile = small_profile();
  profile->profile_info.metrics[1].uom = "occ";
  const auto derived = bind_text(
      specification(metric(
          "m", "POSTDERIVED",
          "<cubepl>cube::metric::get::visits(\"uom\") eq \"occ\" and metric::visits() == 0</cubepl>"
          "<cubeplinit>{ cube::metric::set::visits(\"value\", \"VOID\"); "
          "cube::metric::set::nowhere(\"value\", \"VOID\"); return 0; }</cubeplinit>")),
      *profile);
  EXPECT_THAT(derived.row(*profile, "m", 1), Each(1));
  ASSERT_TRUE(derived.bound_program);
  const Program& program = (*derived.bound_program)->program();
  EXPECT_TRUE((*derived.bound_program)->is_excluded(program.find("visits").value_or(0)));
}

TEST(Evaluator, rows_are_read_once_and_not_where_mask_is_zero) {
  const auto profile = small_profile();
  const auto derived = bind_text(test_specification(), *profile);
  profile->row_count = 0;
  derived.row(*profile, "mpi", 2);
  EXPECT_EQ(profile->row_count, 0);
  derived.row(*profile, "mpi", 1);
  EXPECT_EQ(profile->row_count, 1);
  profile->row_count = 0;
  derived.row(*profile, "time_per_visit", 0, kInclusive);
  EXPECT_EQ(profile->row_count, 2);
}

TEST(Evaluator, subtree_sums_hold_rows_of_one_call_path) {
  const auto profile = small_profile();
  const auto derived =
      bind_text(specification(metric("m", "PREDERIVED_EXCLUSIVE",
                                     "<cubepl>metric::time(e) + metric::visits(e)</cubepl>")),
                *profile);
  EXPECT_THAT(derived.row(*profile, "m", 0, kInclusive), ElementsAre(118.5, 225, 336.25));
  EXPECT_EQ(profile->row_count, 8);
  EXPECT_EQ(profile->held_rows_max, 2);
}

TEST(Evaluator, long_rows_are_summed_in_matching_blocks) {
  constexpr std::size_t kLocations = 2 * kLanesMax + 100;
  const auto profile = small_profile();
  profile->profile_info.locations.clear();
  profile->profile_info.location_groups.clear();
  profile->profile_info.system_nodes.clear();
  profile->add_locations(kLocations);
  for (std::size_t callpath = 0; callpath < 4; ++callpath) {
    std::vector<double> values(kLocations);
    for (std::size_t i = 0; i < kLocations; ++i)
      values[i] = static_cast<double>((callpath + 1) * i);
    profile->set(0, callpath, values);
  }
  const auto derived = bind_text(
      specification(metric("m", "PREDERIVED_EXCLUSIVE", "<cubepl>metric::time(e)</cubepl>")),
      *profile);
  const std::vector<double> values = derived.row(*profile, "m", 0, kInclusive);
  ASSERT_EQ(values.size(), kLocations);
  for (std::size_t i = 0; i < kLocations; ++i)
    ASSERT_EQ(values[i], static_cast<double>(10 * i));
}

TEST(Evaluator, failed_row_returns_error_of_profile) {
  const auto profile = small_profile();
  const auto derived = bind_text(test_specification(), *profile);
  ASSERT_TRUE(derived.bound_program) << derived.error();
  Evaluator evaluator(**derived.bound_program, *profile);
  std::vector<double> values(3);
  profile->is_broken = true;
  const Status failed = evaluator.evaluate({0, 1, kExclusive}, {0, 3}, values);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().path(), "broken");
  profile->is_broken = false;
  EXPECT_TRUE(evaluator.evaluate({0, 1, kExclusive}, {0, 3}, values));
  EXPECT_THAT(values, ElementsAre(10, 20, 30));
}

TEST(Evaluator, long_rows_are_computed_in_matching_blocks) {
  testing::MemoryProfile profile;
  const std::size_t location_count = 2 * kLanesMax + 1;
  profile.add_region("main", "user");
  profile.add_callpath(0);
  profile.add_locations(location_count);
  std::vector<double> time(location_count);
  for (std::size_t i = 0; i < location_count; ++i)
    time[i] = static_cast<double>(i % 7);
  profile.set(profile.add_metric("time"), 0, time);
  const auto derived = bind_text(
      specification(metric("m", "POSTDERIVED",
                           "<cubepl>{ ${a} = ${calculation::sysres::id}; if (metric::time() > 3) { "
                           "${a} = 0 - metric::fixed::time(i); }; return ${a}; }</cubepl>")),
      profile);
  const std::vector<double> row = derived.row(profile, "m", 0);
  ASSERT_EQ(row.size(), location_count);
  double sum = 0;
  for (const double one : time)
    sum += one;
  for (std::size_t i = 0; i < location_count; ++i)
    EXPECT_EQ(row[i], time[i] > 3 ? -sum : static_cast<double>(i)) << i;
}

TEST(Evaluator, deep_call_trees_need_no_deep_stack) {
  testing::MemoryProfile profile;
  profile.add_region("recursive", "user");
  profile.add_locations(2);
  const std::size_t time = profile.add_metric("time");
  constexpr std::size_t kDepth = 20000;
  for (std::size_t i = 0; i < kDepth; ++i) {
    profile.add_callpath(0, i == 0 ? std::nullopt : std::optional(i - 1));
    profile.set(time, i, {1, 2});
  }
  const auto derived = bind_text(
      specification(metric("m", "PREDERIVED_EXCLUSIVE", "<cubepl>metric::time(e)</cubepl>")),
      profile);
  EXPECT_THAT(derived.row(profile, "m", 0, kInclusive), ElementsAre(kDepth, 2 * kDepth));
}

TEST(Evaluator, deepest_allowed_chain_of_metrics_is_computed) {
  const auto profile = small_profile();
  // Four metrics of 250 operators each reach the limit of 1000.
  std::string metrics;
  for (int i = 0; i < 4; ++i) {
    std::string sum = i == 3 ? "metric::time(e)" : fmt::format("metric::m{}()", i + 1);
    for (std::uint32_t added = 1; added < kDepthMax; ++added)
      sum += " + 1";
    metrics += metric(fmt::format("m{}", i), "POSTDERIVED", "<cubepl>" + sum + "</cubepl>");
  }
  const auto derived = bind_text(specification(metrics), *profile);
  EXPECT_THAT(derived.row(*profile, "m0", 1),
              ElementsAre(10 + 4 * 249, 20 + 4 * 249, 30 + 4 * 249));
}

TEST(Evaluator, threads_share_one_bound_program) {
  const auto first = small_profile();
  const auto derived = bind_text(test_specification(), *first);
  ASSERT_TRUE(derived.bound_program) << derived.error();
  const BoundProgram& bound_program = **derived.bound_program;
  const auto all_values = [&bound_program](ProfileView& profile) {
    std::vector<double> all;
    std::vector<double> row(3);
    Evaluator evaluator(bound_program, profile);
    for (std::size_t at = 0; at < 4 * bound_program.program().metrics.size(); ++at) {
      EXPECT_TRUE(evaluator.evaluate({at / 4, at % 4, kInclusive}, {0, 3}, row));
      all.insert(all.end(), row.begin(), row.end());
    }
    return all;
  };
  // Rows are not shared between threads, so each thread has its own view.
  const auto second = small_profile();
  std::vector<double> of_other_thread;
  std::thread other([&] { of_other_thread = all_values(*second); });
  const std::vector<double> of_this_thread = all_values(*first);
  other.join();
  EXPECT_EQ(of_this_thread, of_other_thread);
}

TEST(Evaluator, inconsistent_profile_is_rejected) {
  const auto profile = small_profile();
  profile->profile_info.callpaths[1].region = 99;
  EXPECT_THAT(bind_text(specification(""), *profile).error(),
              HasSubstr("small.cubex: the profile has a call path, 1, of region 99"));
  const auto ring = small_profile();
  ring->profile_info.callpaths[2].parent = 3;
  EXPECT_THAT(bind_text(specification(""), *ring).error(), HasSubstr("their own ancestors"));
}

}  // namespace
}  // namespace forebay::cubepl

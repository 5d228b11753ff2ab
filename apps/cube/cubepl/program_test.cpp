// SPDX-License-Identifier: Apache-2.0
#include "cube/cubepl/program.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cube/cubepl/testing.hpp"

namespace forebay::cubepl {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::metric;
using testing::program_of;
using testing::specification;

/// Of one derived metric m with this inside.
std::string refusal_inside(std::string_view inside) {
  const auto program = program_of(specification(metric("m", "PREDERIVED_EXCLUSIVE", inside)));
  return program ? "accepted" : program.error().message();
}

std::vector<std::string> notes_of(std::string_view inside) {
  const auto program = program_of(specification(metric("m", "PREDERIVED_EXCLUSIVE", inside)));
  return program ? program->notes : std::vector<std::string>{program.error().message()};
}

TEST(Program, faults_name_metric_script_line_and_column) {
  EXPECT_EQ(refusal_inside("\n<cubepl>1 +\n  ?</cubepl>"),
            "run remapping specification test.spec: metric m, cubepl, line 4, column 3: unknown "
            "character '?'");
  EXPECT_THAT(refusal_inside("<cubeplinit>{ return 0 }</cubeplinit>"),
              HasSubstr("metric m, cubeplinit, line 2, column"));
  EXPECT_THAT(refusal_inside("<cubeplaggr cubeplaggrtype=plus>arg1 +</cubeplaggr>"),
              HasSubstr("metric m, cubeplaggr plus, line 2"));
  EXPECT_THAT(refusal_inside("<cubepl>1 &lt; 2 &lt; ?</cubepl>"), HasSubstr("column 83: unknown"));
}

TEST(Program, patterns_are_checked_before_anything_runs) {
  EXPECT_THAT(refusal_inside("<cubepl>\"a\" =~ /(/</cubepl>"),
              HasSubstr("/(/ is no extended regular expression"));
}

TEST(Program, patterns_that_would_take_for_ever_to_compile_are_refused) {
  EXPECT_THAT(refusal_inside("<cubepl>\"a\" =~ /((((a{1,100}){1,100}){1,100}){1,100})/</cubepl>"),
              HasSubstr("repeats more than 10000 times"));
  EXPECT_TRUE(program_of(specification(
      metric("m", "POSTDERIVED", "<cubepl>\"a\" =~ /^(a{1,3}b{2}){4,9}$/</cubepl>"))));
}

TEST(Program, equal_patterns_are_compiled_once) {
  const auto program = program_of(specification(
      metric("m", "POSTDERIVED", "<cubepl>\"a\" =~ /x/ or \"b\" =~ /x/ or \"c\" =~ /y/</cubepl>")));
  ASSERT_TRUE(program);
  EXPECT_EQ(program->patterns.size(), 2U);
}

TEST(Program, what_would_depend_on_the_order_is_refused) {
  EXPECT_THAT(refusal_inside("<cubeplinit>{ global(g); return 0; }</cubeplinit>"
                             "<cubepl>{ ${g} = 1; return 0; }</cubepl>"),
              HasSubstr("g is global and can only be assigned in <cubeplinit>"));
  EXPECT_THAT(
      refusal_inside("<cubepl>{ cube::metric::set::m(\"value\", \"VOID\"); return 0; }</cubepl>"),
      HasSubstr("only be switched off in <cubeplinit>"));
  EXPECT_THAT(refusal_inside("<cubepl>env(\"A\")</cubepl>"),
              HasSubstr("env() is for <cubeplinit>"));
}

TEST(Program, what_has_no_value_yet_is_refused) {
  EXPECT_THAT(refusal_inside("<cubeplinit>metric::time(e)</cubeplinit>"),
              HasSubstr("<cubeplinit> cannot ask for values of metrics"));
  EXPECT_THAT(refusal_inside("<cubeplinit>${calculation::callpath::id}</cubeplinit>"),
              HasSubstr("nothing is being computed yet"));
  EXPECT_THAT(refusal_inside("<cubeplaggr cubeplaggrtype=plus>metric::m()</cubeplaggr>"),
              HasSubstr("cannot ask for values of metrics"));
  EXPECT_THAT(refusal_inside("<cubepl>arg1</cubepl>"), HasSubstr("<cubeplaggr> puts together"));
}

TEST(Program, reserved_names_are_not_for_scripts) {
  EXPECT_THAT(refusal_inside("<cubeplinit>{ ${cube::#callpaths} = 1; return 0; }</cubeplinit>"),
              HasSubstr("cube::#callpaths cannot be assigned"));
  EXPECT_THAT(refusal_inside("<cubeplinit>{ global(calculation::x); return 0; }</cubeplinit>"),
              HasSubstr("cannot be declared"));
  EXPECT_THAT(refusal_inside("<cubepl>${calculation::sysres::sysid}</cubepl>"),
              HasSubstr("is not known here"));
  EXPECT_THAT(refusal_inside("<cubeplinit>{ cube::metric::set::m(\"uom\", \"s\"); return 0; }"
                             "</cubeplinit>"),
              HasSubstr("\"uom\" cannot be set"));
}

// They had no value, so that a metric was zero everywhere.
TEST(Program, names_of_calculations_that_do_not_exist_are_refused) {
  EXPECT_THAT(refusal_inside("<cubepl>${calculation::weather}</cubepl>"),
              HasSubstr("calculation::weather does not exist"));
  EXPECT_THAT(refusal_inside("<cubepl>${calculation::region::name} =~ /^MPI_/</cubepl>"),
              HasSubstr("calculation::region::name does not exist; write "
                        "${cube::region::name}[${calculation::region::id}]"));
}

TEST(Program, what_may_not_be_meant_is_a_note) {
  EXPECT_THAT(notes_of("<cubepl>${cube::region::mangled_name}[1] eq \"\"</cubepl>"),
              ElementsAre(HasSubstr("metric m, cubepl, line 2, column 69: "
                                    "cube::region::mangled_name does not exist and has no value")));
  EXPECT_THAT(notes_of("<cubeplinit>{ ${a} = 1; global(a); return 0; }</cubeplinit>"),
              ElementsAre(HasSubstr("a was local before and stays so")));
  EXPECT_THAT(notes_of("<cubepl>{ ${a} = 1; return ${a}; }</cubepl>"), IsEmpty());
}

TEST(Program, scripts_of_stored_metrics_have_no_effect_and_a_note) {
  const auto program =
      program_of(specification(metric("m", "EXCLUSIVE", "<cubepl>no such thing</cubepl>")));
  ASSERT_TRUE(program) << program.error().message();
  EXPECT_THAT(program->notes, ElementsAre(HasSubstr("the metric is EXCLUSIVE, so this script")));
}

TEST(Program, the_first_mention_in_the_order_of_running_decides) {
  const auto program = program_of(specification(
      metric("first", "POSTDERIVED", "<cubepl>${g}</cubepl>") +
      metric("second", "POSTDERIVED", "<cubeplinit>{ global(g); return 0; }</cubeplinit>")));
  ASSERT_TRUE(program);
  EXPECT_EQ(program->global_count, 1U);
  EXPECT_THAT(program->notes, IsEmpty());
}

TEST(Program, metrics_outside_of_the_specification_are_needed_from_the_profile) {
  const auto program = program_of(specification(
      metric("time", "EXCLUSIVE", "") + metric("a", "POSTDERIVED", "<cubepl>metric::b()</cubepl>") +
      metric("b", "POSTDERIVED",
             "<cubepl>metric::time() + metric::visits(e) + metric::visits(i)</cubepl>")));
  ASSERT_TRUE(program) << program.error().message();
  EXPECT_EQ(program->inputs.size(), 1U);
  EXPECT_EQ(program->find("visits"), 3U);
  EXPECT_FALSE(program->find("idle"));
  EXPECT_THAT(needed_metrics(*program), ElementsAre("time", "visits"));
}

TEST(Program, metrics_that_need_each_other_are_a_ring) {
  const auto program = program_of(
      specification(metric("a", "POSTDERIVED", "<cubepl>metric::b()</cubepl>") +
                    metric("b", "POSTDERIVED", "<cubepl>1 + metric::c()</cubepl>") +
                    metric("c", "PREDERIVED_EXCLUSIVE", "<cubepl>metric::b(i)</cubepl>")));
  ASSERT_FALSE(program);
  EXPECT_THAT(program.error().message(),
              HasSubstr("metrics need each other in a ring: b needs c needs b"));
}

// Each uses the one before twice: the last would be computed from 2 to the 60th values.
TEST(Program, values_that_need_too_many_others_are_a_limit) {
  std::string metrics = metric("m0", "POSTDERIVED", "<cubepl>1</cubepl>");
  for (int i = 1; i <= 60; ++i)
    metrics += metric(fmt::format("m{}", i), "POSTDERIVED",
                      fmt::format("<cubepl>metric::m{0}() + metric::m{0}()</cubepl>", i - 1));
  const auto program = program_of(specification(metrics));
  ASSERT_FALSE(program);
  EXPECT_EQ(program.error().kind(), ErrorClass::kLimit);
  EXPECT_THAT(program.error().message(), HasSubstr("metric m16"));
}

TEST(Program, long_ways_through_metrics_are_a_limit) {
  std::string metrics;
  for (int i = 0; i < 5000; ++i)
    metrics += metric(fmt::format("m{}", i), "POSTDERIVED",
                      fmt::format("<cubepl>metric::m{}()</cubepl>", i + 1));
  const auto program = program_of(specification(metrics));
  ASSERT_FALSE(program);
  EXPECT_EQ(program.error().kind(), ErrorClass::kLimit);
}

}  // namespace
}  // namespace forebay::cubepl

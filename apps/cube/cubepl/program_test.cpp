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

/// The error of a derived metric m with the content `inside`.
std::string compile_error(std::string_view inside) {
  const auto program = program_of(specification(metric("m", "PREDERIVED_EXCLUSIVE", inside)));
  return program ? "accepted" : program.error().message();
}

std::vector<std::string> notes_of(std::string_view inside) {
  const auto program = program_of(specification(metric("m", "PREDERIVED_EXCLUSIVE", inside)));
  return program ? program->notes : std::vector<std::string>{program.error().message()};
}

TEST(Program, errors_have_metric_script_line_and_column) {
  EXPECT_EQ(compile_error("\n<cubepl>1 +\n  ?</cubepl>"),
            "run remapping specification test.spec: metric m, cubepl, line 4, column 3: unknown "
            "character '?'");
  EXPECT_THAT(compile_error("<cubeplinit>{ return 0 }</cubeplinit>"),
              HasSubstr("metric m, cubeplinit, line 2, column"));
  EXPECT_THAT(compile_error("<cubeplaggr cubeplaggrtype=plus>arg1 +</cubeplaggr>"),
              HasSubstr("metric m, cubeplaggr plus, line 2"));
  EXPECT_THAT(compile_error("<cubepl>1 &lt; 2 &lt; ?</cubepl>"), HasSubstr("column 83: unknown"));
}

TEST(Program, invalid_patterns_are_rejected_at_compile_time) {
  EXPECT_THAT(compile_error("<cubepl>\"a\" =~ /(/</cubepl>"),
              HasSubstr("/(/ is not an extended regular expression"));
}

TEST(Program, patterns_with_too_many_repetitions_are_rejected) {
  EXPECT_THAT(compile_error("<cubepl>\"a\" =~ /((((a{1,100}){1,100}){1,100}){1,100})/</cubepl>"),
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

TEST(Program, order_dependent_scripts_are_rejected) {
  EXPECT_THAT(compile_error("<cubeplinit>{ global(g); return 0; }</cubeplinit>"
                            "<cubepl>{ ${g} = 1; return 0; }</cubepl>"),
              HasSubstr("g is global and can only be assigned in <cubeplinit>"));
  EXPECT_THAT(
      compile_error("<cubepl>{ cube::metric::set::m(\"value\", \"VOID\"); return 0; }</cubepl>"),
      HasSubstr("only be switched off in <cubeplinit>"));
  EXPECT_THAT(compile_error("<cubepl>env(\"A\")</cubepl>"),
              HasSubstr("env() can only be used in <cubeplinit>"));
}

TEST(Program, values_unavailable_in_a_script_are_rejected) {
  EXPECT_THAT(compile_error("<cubeplinit>metric::time(e)</cubeplinit>"),
              HasSubstr("<cubeplinit> cannot read values of metrics"));
  EXPECT_THAT(compile_error("<cubeplinit>${calculation::callpath::id}</cubeplinit>"),
              HasSubstr("has no value in <cubeplinit>"));
  EXPECT_THAT(compile_error("<cubeplaggr cubeplaggrtype=plus>metric::m()</cubeplaggr>"),
              HasSubstr("cannot read values of metrics"));
  EXPECT_THAT(compile_error("<cubepl>arg1</cubepl>"), HasSubstr("exist in <cubeplaggr> only"));
}

TEST(Program, reserved_names_cannot_be_assigned_or_declared) {
  EXPECT_THAT(compile_error("<cubeplinit>{ ${cube::#callpaths} = 1; return 0; }</cubeplinit>"),
              HasSubstr("cube::#callpaths cannot be assigned"));
  EXPECT_THAT(compile_error("<cubeplinit>{ global(calculation::x); return 0; }</cubeplinit>"),
              HasSubstr("cannot be declared"));
  EXPECT_THAT(compile_error("<cubepl>${calculation::sysres::sysid}</cubepl>"),
              HasSubstr("is not supported"));
  EXPECT_THAT(compile_error("<cubeplinit>{ cube::metric::set::m(\"uom\", \"s\"); return 0; }"
                            "</cubeplinit>"),
              HasSubstr("\"uom\" cannot be set"));
}

// Such names once had no value, so that a metric was zero everywhere.
TEST(Program, unknown_calculation_names_are_rejected) {
  EXPECT_THAT(compile_error("<cubepl>${calculation::weather}</cubepl>"),
              HasSubstr("calculation::weather does not exist"));
  EXPECT_THAT(compile_error("<cubepl>${calculation::region::name} =~ /^MPI_/</cubepl>"),
              HasSubstr("calculation::region::name does not exist; write "
                        "${cube::region::name}[${calculation::region::id}]"));
}

TEST(Program, unintended_constructs_give_notes) {
  EXPECT_THAT(notes_of("<cubepl>${cube::region::mangled_name}[1] eq \"\"</cubepl>"),
              ElementsAre(HasSubstr("metric m, cubepl, line 2, column 69: "
                                    "cube::region::mangled_name does not exist and has no value")));
  EXPECT_THAT(notes_of("<cubeplinit>{ ${a} = 1; global(a); return 0; }</cubeplinit>"),
              ElementsAre(HasSubstr("a is already local; this declaration has no effect")));
  EXPECT_THAT(notes_of("<cubepl>{ ${a} = 1; return ${a}; }</cubepl>"), IsEmpty());
}

TEST(Program, scripts_of_stored_metrics_are_ignored_with_note) {
  const auto program =
      program_of(specification(metric("m", "EXCLUSIVE", "<cubepl>no such thing</cubepl>")));
  ASSERT_TRUE(program) << program.error().message();
  EXPECT_THAT(program->notes, ElementsAre(HasSubstr("the metric is EXCLUSIVE, so this script")));
}

TEST(Program, first_mention_in_execution_order_determines_kind) {
  const auto program = program_of(specification(
      metric("first", "POSTDERIVED", "<cubepl>${g}</cubepl>") +
      metric("second", "POSTDERIVED", "<cubeplinit>{ global(g); return 0; }</cubeplinit>")));
  ASSERT_TRUE(program);
  EXPECT_EQ(program->global_count, 1U);
  EXPECT_THAT(program->notes, IsEmpty());
}

TEST(Program, metrics_outside_specification_become_inputs) {
  const auto program = program_of(specification(
      metric("time", "EXCLUSIVE", "") + metric("a", "POSTDERIVED", "<cubepl>metric::b()</cubepl>") +
      metric("b", "POSTDERIVED",
             "<cubepl>metric::time() + metric::visits(e) + metric::visits(i)</cubepl>")));
  ASSERT_TRUE(program) << program.error().message();
  EXPECT_EQ(program->inputs.size(), 1U);
  EXPECT_EQ(program->find("visits"), 3U);
  EXPECT_FALSE(program->find("idle"));
  EXPECT_THAT(required_metrics(*program), ElementsAre("time", "visits"));
}

TEST(Program, cyclic_metrics_are_rejected) {
  const auto program = program_of(
      specification(metric("a", "POSTDERIVED", "<cubepl>metric::b()</cubepl>") +
                    metric("b", "POSTDERIVED", "<cubepl>1 + metric::c()</cubepl>") +
                    metric("c", "PREDERIVED_EXCLUSIVE", "<cubepl>metric::b(i)</cubepl>")));
  ASSERT_FALSE(program);
  EXPECT_THAT(program.error().message(),
              HasSubstr("metrics depend on each other in a cycle: b needs c needs b"));
}

// Each metric uses the previous one twice: the last would be computed from 2^60 values.
TEST(Program, too_many_metric_uses_return_limit_error) {
  std::string metrics = metric("m0", "POSTDERIVED", "<cubepl>1</cubepl>");
  for (int i = 1; i <= 60; ++i)
    metrics += metric(fmt::format("m{}", i), "POSTDERIVED",
                      fmt::format("<cubepl>metric::m{0}() + metric::m{0}()</cubepl>", i - 1));
  const auto program = program_of(specification(metrics));
  ASSERT_FALSE(program);
  EXPECT_EQ(program.error().kind(), ErrorClass::kLimit);
  EXPECT_THAT(program.error().message(), HasSubstr("metric m16"));
}

TEST(Program, long_chains_of_metrics_return_limit_error) {
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

// SPDX-License-Identifier: Apache-2.0
// Semantics of scripts: each test runs a few lines of the language and checks the result.
#include "cube/cubepl/interpreter.hpp"

#include <cfloat>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cube/cubepl/testing.hpp"

namespace forebay::cubepl {
namespace {

using ::testing::ElementsAre;
using testing::error_message_of;
using ::testing::HasSubstr;
using testing::row_of;
using testing::value_of;

TEST(Interpreter, empty_script_is_zero) { EXPECT_EQ(value_of(""), 0); }

TEST(Interpreter, numeric_expressions_are_computed) {
  EXPECT_EQ(value_of("123.5 + 234 - (23) ^ 2"), 123.5 + 234 - 529);
  EXPECT_EQ(value_of("-2 ^ 2"), -4);
  EXPECT_EQ(value_of("|1 - 3| * min(4, 5) / max(1, 2)"), 4);
  EXPECT_EQ(value_of("1 / 0"), DBL_MAX);
  EXPECT_EQ(value_of("abs(-1) + floor(1.5) + ceil(1.5) + sgn(-9) + exp(0)"), 4);
}

TEST(Interpreter, comparisons_give_truth_values) {
  EXPECT_EQ(value_of("1 < 2 and not (2 < 1)"), 1);
  EXPECT_EQ(value_of("1 == 1 or 1 / 0 == 5 and false"), 0);
  EXPECT_EQ(value_of("true xor true"), 0);
}

TEST(Interpreter, undefined_variables_are_zero_and_empty) {
  EXPECT_EQ(value_of("${nothing} + 1"), 1);
  EXPECT_EQ(value_of("${nothing} eq \"\""), 1);
  EXPECT_EQ(value_of("{ ${a}[3] = 5; return ${a}[2] + ${a}[99]; }"), 0);
  EXPECT_EQ(value_of("{ ${a}[3] = 5; return ${a}[0 - 1]; }"), 0);
}

TEST(Interpreter, all_variables_are_arrays) {
  EXPECT_EQ(value_of("{ ${a} = 4; ${a}[1] = 5; return ${a}[0] * 10 + ${a}[1.9]; }"), 45);
  EXPECT_EQ(value_of("{ ${a}[7] = 1; return sizeof(a); }"), 8);
  EXPECT_EQ(value_of("sizeof(cube::region::name)"), 4);
}

TEST(Interpreter, numbers_and_texts_are_converted) {
  EXPECT_EQ(value_of("{ ${a} = \"12.5 sec\"; return ${a} * 2; }"), 25);
  EXPECT_EQ(value_of("{ ${a} = 1 / 4; return ${a} eq \"0.25\"; }"), 1);
  EXPECT_EQ(value_of("{ ${a} = \"x\"; ${b} = ${a}; return ${b} eq \"x\"; }"), 1);
  EXPECT_EQ(value_of("{ ${a} = \"7\"; ${b} = ${a} + 0; ${c} = ${a}; return ${c} eq \"7\"; }"), 1);
  EXPECT_EQ(value_of("\"3\" + 4"), 7);
}

TEST(Interpreter, texts_are_compared) {
  EXPECT_EQ(value_of("\"MPI\" eq \"mpi\""), 0);
  EXPECT_EQ(value_of("\"MPI\" seq \"mpi\""), 1);
  EXPECT_EQ(value_of("lowercase(\"MPI\") eq \"mpi\" and uppercase(\"mpi\") eq \"MPI\""), 1);
  EXPECT_EQ(value_of("{ return \"a\"; } eq \"a\""), 1);
}

TEST(Interpreter, patterns_are_extended_and_match_parts) {
  EXPECT_EQ(value_of("\"MPI_Send\" =~ /^MPI_(I){0,1}[sS]end$/"), 1);
  EXPECT_EQ(value_of("\"MPI_Sendrecv\" =~ /^MPI_(I){0,1}[sS]end$/"), 0);
  EXPECT_EQ(value_of("\"xx_lock\" =~ /_lock$/"), 1);
  EXPECT_EQ(value_of("\"!$omp ordered @x\" =~ /^!\\$omp ordered\\s@/"), 1);
  EXPECT_EQ(value_of("\"a/b\" =~ /a\\/b/"), 1);
}

TEST(Interpreter, first_true_condition_is_chosen) {
  const auto chosen = [](int n) {
    return value_of(
        fmt::format("{{ ${{a}} = {}; if (${{a}} == 1) {{ ${{r}} = 10; }} elseif "
                    "(${{a}} <= 2) {{ ${{r}} = 20; }} else {{ ${{r}} = 30; }}; return "
                    "${{r}}; }}",
                    n));
  };
  EXPECT_EQ(chosen(1), 10);
  EXPECT_EQ(chosen(2), 20);
  EXPECT_EQ(chosen(3), 30);
}

TEST(Interpreter, loops_run_while_condition_is_true) {
  EXPECT_EQ(value_of("{ ${i} = 0; ${s} = 0; while (${i} < 10) { ${s} = ${s} + ${i}; ${i} = ${i} + "
                     "1; }; return ${s}; }"),
            45);
}

TEST(Interpreter, right_operand_is_short_circuited) {
  EXPECT_EQ(value_of("{ ${x} = 1 or { ${a} = 5; return 1; }; return ${a}; }"), 0);
  EXPECT_EQ(value_of("{ ${x} = 0 and { ${a} = 5; return 1; }; return ${a}; }"), 0);
  EXPECT_EQ(value_of("{ ${x} = 0 * { ${a} = 5; return 1; }; return ${a}; }"), 0);
  EXPECT_EQ(value_of("{ ${x} = 1 and { ${a} = 5; return 1; }; return ${a}; }"), 5);
}

TEST(Interpreter, profile_variables_have_values) {
  EXPECT_EQ(value_of("${cube::#callpaths} * 10 + ${cube::#locations}"), 43);
  EXPECT_EQ(value_of("${cube::region::name}[3] eq \"MPI_Barrier\""), 1);
  EXPECT_EQ(value_of("${cube::callpath::parent::id}[0]"), -1);
  EXPECT_EQ(value_of("${cube::callpath::parent::id}[3] + ${cube::callpath::#children}[0]"), 4);
  EXPECT_EQ(value_of("${cube::metric::uniq::name}[0] eq \"m\""), 1);
  EXPECT_EQ(value_of("${cube::metric::uniq::name}[2] eq \"visits\""), 1);
  EXPECT_EQ(value_of("${cube::region::name}[99] eq \"\" and ${cube::region::begin::line}[0] < 0"),
            1);
}

TEST(Interpreter, calculation_variables_have_values) {
  EXPECT_EQ(value_of("${calculation::callpath::id} * 10 + ${calculation::region::id}"), 11);
  EXPECT_THAT(row_of("${calculation::sysres::id}"), ElementsAre(0, 1, 2));
  EXPECT_EQ(value_of("${calculation::sysres::kind}"), 7);
}

TEST(Interpreter, metrics_have_values_of_call_path_and_location) {
  EXPECT_THAT(row_of("metric::time(e)"), ElementsAre(10, 20, 30));
  EXPECT_THAT(row_of("metric::time(e) / metric::visits(e)"), ElementsAre(2.5, DBL_MAX, 15));
}

TEST(Interpreter, sums_over_all_locations_are_uniform) {
  EXPECT_EQ(value_of("metric::fixed::time(e)"), 60);
  EXPECT_EQ(value_of("metric::fixed::time()"), 666.75);
  EXPECT_THAT(row_of("metric::time(e) / metric::fixed::time(e) * 60"), ElementsAre(10, 20, 30));
}

TEST(Interpreter, condition_is_evaluated_per_location) {
  EXPECT_THAT(row_of("{ ${a} = 0; if (metric::visits(e) > 0) { ${a} = metric::time(e); }; return "
                     "${a}; }"),
              ElementsAre(10, 0, 30));
  EXPECT_THAT(
      row_of("{ ${a} = 5; if (metric::time(e) < 15) { ${a} = 1; } elseif (metric::visits(e) "
             "> 1) { ${a} = 2; } else { ${a} = ${a} + 2; }; return ${a}; }"),
      ElementsAre(1, 7, 2));
}

TEST(Interpreter, locations_may_diverge) {
  EXPECT_THAT(row_of("{ ${i} = 0; while (${i} < metric::visits(e)) { ${i} = ${i} + 1; }; return "
                     "${i}; }"),
              ElementsAre(4, 0, 2));
  EXPECT_THAT(row_of("${cube::location::rank}[${calculation::sysres::id}] * 2"),
              ElementsAre(0, 2, 4));
  EXPECT_THAT(row_of("${cube::location::name}[${calculation::sysres::id}] eq \"thread 1\""),
              ElementsAre(0, 1, 0));
  EXPECT_THAT(row_of("{ if (metric::visits(e) > 0) { ${a} = \"x\"; }; return ${a} eq \"x\"; }"),
              ElementsAre(1, 0, 1));
}

TEST(Interpreter, branch_taken_by_no_location_does_not_run) {
  EXPECT_THAT(row_of("{ if (metric::time(e) < 0) { while (1 == 1) { }; }; return 1; }"),
              ElementsAre(1, 1, 1));
}

TEST(Interpreter, assigned_value_does_not_change_with_its_source) {
  EXPECT_THAT(row_of("{ ${a} = metric::time(e); ${b} = ${a}; ${a} = ${a} + 1; ${a} = ${a} * 2; "
                     "return ${b} - ${a}; }"),
              ElementsAre(-12, -22, -32));
  EXPECT_THAT(row_of("{ ${a} = metric::time(e); return ${a} + { ${a} = 0; return ${a}; }; }"),
              ElementsAre(10, 20, 30));
}

TEST(Interpreter, globals_keep_values_of_init_and_locals_do_not) {
  EXPECT_EQ(value_of("${g}[1] + ${l}", "{ global(g); ${g}[1] = 7; ${l} = 5; return 0; }"), 7);
  EXPECT_EQ(value_of("sizeof(g)", "{ global(g); ${g}[9] = 7; return 0; }"), 10);
  EXPECT_EQ(value_of("${g} eq \"text\"", "{ global(g); ${g} = \"text\"; return 0; }"), 1);
}

TEST(Interpreter, init_computes_masks_of_call_paths) {
  const char* const init = R"({
      global(is_mpi);
      ${i} = 0;
      while (${i} < ${cube::#callpaths})
      {
          if (${cube::region::paradigm}[${cube::callpath::calleeid}[${i}]] eq "mpi")
          {
              ${is_mpi}[${i}] = 1; // the others stay without a value
          };
          ${i} = ${i} + 1;
      };
      return 0;
  })";
  EXPECT_THAT(row_of("${is_mpi}[${calculation::callpath::id}] * metric::time(e)", init),
              ElementsAre(10, 20, 30));
  EXPECT_EQ(value_of("${is_mpi}[2] * metric::time(e)", init), 0);
}

TEST(Interpreter, defined_considers_all_scripts) {
  EXPECT_EQ(value_of("defined(g)", "{ global(g); return 0; }"), 1);
  EXPECT_EQ(value_of("defined(h)"), 0);
  EXPECT_EQ(value_of("defined(cube::#callpaths)"), 1);
}

TEST(Interpreter, env_reads_given_environment) {
  const auto profile = testing::small_profile();
  const std::string text = testing::specification(
      testing::metric("m", "POSTDERIVED",
                      "<cubepl>${g} eq \"PATH!\"</cubepl>"
                      "<cubeplinit>{ global(g); ${g} = env(\"PATH\"); return 0; }</cubeplinit>"));
  const testing::BoundTest derived = testing::bind_text(
      text, *profile, {.environment = [](const std::string& name) { return name + "!"; }});
  EXPECT_THAT(derived.row(*profile, "m", 1), ElementsAre(1, 1, 1));
}

TEST(Interpreter, endless_loop_returns_limit_error) {
  EXPECT_THAT(error_message_of("{ while (1 == 1) { }; return 0; }"),
              HasSubstr("line 2, column 71: more than 1048576 steps"));
  const auto profile = testing::small_profile();
  const std::string text = testing::specification(testing::metric(
      "m", "POSTDERIVED", "<cubeplinit>{ while (1 == 1) { ${a} = 1; }; return 0; }</cubeplinit>"));
  const Limits limits{.init_steps = 1000, .callpath_steps = 0};
  EXPECT_THAT(testing::bind_text(text, *profile, {.limits = limits}).error(),
              HasSubstr("metric m, cubeplinit, line 2, column 66: more than 1000 steps"));
}

TEST(Interpreter, endless_cubeplinit_returns_limit_error) {
  std::string body;
  for (int i = 0; i < 100; ++i)
    body += "local(a); ";
  const std::string refusal =
      error_message_of("1", "{ while (1 == 1) { " + body + "}; return 0; }");
  EXPECT_THAT(refusal, HasSubstr("metric m, cubeplinit, line 2, column"));
  EXPECT_THAT(refusal, HasSubstr("more than 16777216 steps"));
}

/// A metric that executes `body` in a loop 2,000 times.
std::string loop_metric(std::string_view name, std::string_view body) {
  return testing::metric(name, "POSTDERIVED",
                         fmt::format("<cubepl>{{ ${{i}} = 0; ${{s}} = 0; while (${{i}} < 2000) {{ "
                                     "${{s}} = ${{s}} + {}; ${{i}} = ${{i}} + 1; }}; return "
                                     "${{s}}; }}</cubepl>",
                                     body));
}

/// The error of the value of `name` at call path 1, with these limits.
std::string error_of(std::string_view name, std::string_view metrics, const Limits& limits = {}) {
  const auto profile = testing::small_profile();
  const auto derived =
      testing::bind_text(testing::specification(metrics), *profile, {.limits = limits});
  if (!derived.bound_program) return derived.error();
  const auto metric = (*derived.bound_program)->program().specification.find(name);
  std::vector<double> values(3);
  Evaluator evaluator(**derived.bound_program, *profile);
  const Status done = evaluator.evaluate({*metric, 1, Flavor::kExclusive}, {0, 3}, values);
  return done ? "no error" : done.error().message();
}

TEST(Interpreter, nested_loops_over_metrics_share_one_limit) {
  const std::string inner = loop_metric("inner", "1");
  EXPECT_EQ(error_of("inner", inner), "no error");
  EXPECT_THAT(error_of("outer", inner + loop_metric("outer", "metric::inner()")),
              HasSubstr("more than 1048576 steps"));
}

TEST(Interpreter, operators_count_as_steps) {
  std::string sum = "1";
  for (int i = 0; i < 200; ++i)
    sum += " + 1";
  const std::string metrics = loop_metric("m", "1") + loop_metric("of_many", sum);
  const Limits limits{.value_steps = 20'000, .callpath_steps = 0};
  EXPECT_EQ(error_of("m", metrics, limits), "no error");
  EXPECT_THAT(error_of("of_many", metrics, limits), HasSubstr("more than 20000 steps"));
}

TEST(Interpreter, each_call_path_adds_to_the_steps_of_a_value) {
  const auto profile = testing::small_profile();
  for (int i = 0; i < 2000; ++i)
    profile->add_callpath(2, 1);
  const std::string text = testing::specification(
      testing::metric("one", "PREDERIVED_EXCLUSIVE", "<cubepl>1</cubepl>") +
      testing::metric("m", "POSTDERIVED", "<cubepl>metric::one(i)</cubepl>"));
  const testing::BoundTest derived =
      testing::bind_text(text, *profile, {.limits = {.value_steps = 1000}});
  EXPECT_THAT(derived.row(*profile, "m", 1), ElementsAre(2001, 2001, 2001));
}

TEST(Interpreter, failed_sum_over_locations_returns_error) {
  const std::string metrics =
      testing::metric("endless", "POSTDERIVED",
                      "<cubepl>{ while (metric::visits(e) == 0) { }; return 1; }</cubepl>") +
      testing::metric("m", "POSTDERIVED", "<cubepl>metric::fixed::endless(e)</cubepl>");
  EXPECT_THAT(error_of("m", metrics), HasSubstr("more than 1048576 steps"));
}

TEST(Interpreter, limits_apply_to_each_location) {
  const auto profile = testing::small_profile();
  const std::string text = testing::specification(
      testing::metric("loops", "POSTDERIVED",
                      "<cubepl>{ while (metric::visits(e) == 0) { }; return 1; }</cubepl>") +
      testing::metric("m", "POSTDERIVED", "<cubepl>metric::visits(e) * metric::loops()</cubepl>"));
  const testing::BoundTest derived = testing::bind_text(text, *profile);
  EXPECT_THAT(derived.row(*profile, "m", 1), ElementsAre(4, 0, 2));
}

TEST(Interpreter, assignment_to_invalid_index_returns_error) {
  EXPECT_THAT(error_message_of("{ ${a}[0 - 1] = 1; return 0; }"),
              HasSubstr("${a}[-1] cannot be assigned; an index must be from 0 to 67108863"));
  EXPECT_THAT(error_message_of("{ ${a}[1 / 0] = 1; return 0; }"), HasSubstr("cannot be assigned"));
  EXPECT_THAT(error_message_of("{ ${a}[50000000] = 1; return 0; }"),
              HasSubstr("more than 1048576 elements"));
  const auto profile = testing::small_profile();
  const std::string text = testing::specification(testing::metric(
      "m", "POSTDERIVED",
      "<cubeplinit>{ global(a); global(b); ${a}[60] = 1; ${b}[60] = 1; return 0; }</cubeplinit>"));
  EXPECT_THAT(testing::bind_text(text, *profile, {.limits = {.global_elements = 100}}).error(),
              HasSubstr("global variables have more than 100 elements"));
}

}  // namespace
}  // namespace forebay::cubepl

// SPDX-License-Identifier: Apache-2.0
// Random scripts have equal values whether a row is computed at once, in blocks, or location by
// location. The values are those of the plain interpreter of reference_interpreter.hpp.
#include <cmath>
#include <random>

#include <gtest/gtest.h>

#include "cube/cubepl/reference_interpreter.hpp"
#include "cube/cubepl/testing.hpp"

namespace forebay::cubepl {
namespace {

/// Generates texts of scripts; equal seeds give equal texts.
class ScriptGenerator {
 public:
  explicit ScriptGenerator(std::uint32_t seed) : random_(seed) {}

  std::string block(int depth) {
    return "{ " + statements(depth) + "return " + number(depth) + "; }";
  }

 private:
  std::size_t below(std::size_t count) {
    return std::uniform_int_distribution<std::size_t>(0, count - 1)(random_);
  }
  template <std::size_t kCount>
  std::string one_of(const char* const (&texts)[kCount]) {
    return texts[below(kCount)];
  }

  std::string leaf() {
    return one_of({"0", "1", "2", "0.5", "${a}", "${b}", "${c}[1]", "${c}[${a}]", "${t}",
                   "metric::time(e)", "metric::time(i)", "metric::visits(e)",
                   "${calculation::sysres::id}", "${calculation::callpath::id}"});
  }

  std::string number(int depth) {
    if (depth == 0) return leaf();
    switch (below(10)) {
      case 0:
        return "-" + number(depth - 1);
      case 1:
        return one_of({"sqrt(", "abs(", "not ("}) + number(depth - 1) + ")";
      case 2:
        return one_of({"min(", "max("}) + number(depth - 1) + ", " + number(depth - 1) + ")";
      case 3:
        return "(" + truth(depth - 1) + ")";
      case 4:
        return below(3) == 0 ? block(depth - 1) : leaf();
      case 5:
        return leaf();
      default:
        return "(" + number(depth - 1) + one_of({" + ", " - ", " * ", " / "}) + number(depth - 1) +
               ")";
    }
  }

  std::string truth(int depth) {
    if (below(6) == 0) return one_of({"${t} eq \"x\"", "${a} eq ${t}", "${b} eq \"\""});
    const std::string comparison = number(depth) + one_of({" < ", " >= ", " == "}) + number(depth);
    if (depth == 0 || below(3) > 0) return comparison;
    return comparison + one_of({" and ", " or "}) + number(depth - 1);
  }

  std::string statements(int depth) {
    std::string all;
    for (std::size_t i = below(4); i > 0; --i)
      all += statement(depth);
    return all;
  }

  std::string statement(int depth) {
    const std::size_t kind = depth == 0 ? 0 : below(6);
    if (kind == 1) {
      std::string text = "if (" + truth(depth - 1) + ") { " + statements(depth - 1) + "} ";
      if (below(2) == 0)
        text += "elseif (" + truth(depth - 1) + ") { " + statements(depth - 1) + "} ";
      if (below(2) == 0) text += "else { " + statements(depth - 1) + "}";
      return text + "; ";
    }
    if (kind == 2) {
      const std::string counter = fmt::format("${{w{}}}", loop_count_++);
      return counter + " = 0; while (" + counter + " < " + one_of({"2", "metric::visits(e)"}) +
             ") { " + statements(depth - 1) + counter + " = " + counter + " + 1; }; ";
    }
    if (kind == 3) return one_of({"${t} = \"x\"; ", "${t} = \"2.5 y\"; ", "${t} = ${a}; "});
    return one_of({"${a}", "${b}", "${c}[1]", "${c}[metric::visits(e)]", "${c}"}) + " = " +
           number(depth) + "; ";
  }

  std::mt19937 random_;
  int loop_count_ = 0;
};

bool same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

/// Rows of the script's metric, computed in blocks of `segment` locations.
std::vector<double> evaluate_in_blocks(const BoundProgram& bound_program,
                                       ProfileView& profile,
                                       const OutputRow& which,
                                       std::size_t segment) {
  const std::size_t location_count = profile.info().locations.size();
  std::vector<double> values(location_count);
  Evaluator evaluator(bound_program, profile);
  for (std::size_t first = 0; first < location_count; first += segment) {
    const std::size_t count = std::min(segment, location_count - first);
    const Status done =
        evaluator.evaluate(which, {first, count}, std::span(values).subspan(first, count));
    EXPECT_TRUE(done) << done.error().message();
  }
  return values;
}

TEST(Equivalence, rows_blocks_and_single_locations_match_reference) {
  constexpr std::uint32_t kSeeds = 4000;
  const auto profile = testing::small_profile();
  std::size_t diverged_count = 0;
  for (std::uint32_t seed = 1; seed <= kSeeds; ++seed) {
    const std::string script = ScriptGenerator(seed).block(3);
    SCOPED_TRACE(fmt::format("seed {}: {}", seed, script));
    const auto derived =
        testing::bind_text(testing::specification(testing::metric(
                               "m", "POSTDERIVED", "<cubepl>" + script + "</cubepl>")),
                           *profile);
    ASSERT_TRUE(derived.bound_program) << derived.error();
    const BoundProgram& bound_program = **derived.bound_program;
    const OutputRow which{0, seed % 4, seed % 2 == 0 ? Flavor::kExclusive : Flavor::kInclusive};
    const std::vector<double> whole = evaluate_in_blocks(bound_program, *profile, which, 3);
    const std::vector<double> alone = evaluate_in_blocks(bound_program, *profile, which, 1);
    for (std::size_t i = 0; i < whole.size(); ++i) {
      testing::ReferenceInterpreter reference(bound_program.program().metrics[0].expression,
                                              *profile, {0, which.callpath, which.flavor, {i, 1}});
      const double expected = reference.run();
      ASSERT_TRUE(same(whole[i], expected)) << i << ": " << whole[i] << " is not " << expected;
      ASSERT_TRUE(same(alone[i], expected)) << i << ": " << alone[i] << " is not " << expected;
    }
    diverged_count += whole[0] != whole[1] || whole[1] != whole[2] ? 1 : 0;
  }
  // Ensure that enough scripts diverge between locations.
  EXPECT_GT(diverged_count, kSeeds / 10);
}

}  // namespace
}  // namespace forebay::cubepl

// SPDX-License-Identifier: Apache-2.0
// Passes any text to the reader of remapping specifications, runs accepted ones on a small profile,
// and checks the contracts of both. The same function runs under libFuzzer and, with the corpus, in
// the ordinary tests. A text that does not begin with < is the expression of a metric.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cube/cubepl/evaluator.hpp"
#include "cube/cubepl/memory_profile.hpp"

namespace forebay::cubepl {
namespace {

void check(bool condition, const char* text) {
  if (condition) return;
  std::fprintf(stderr, "broken contract: %s\n", text);
  std::abort();
}

void check_refusal(const Error& error) {
  const ErrorClass kind = error.kind();
  check(kind == ErrorClass::kDamage || kind == ErrorClass::kInvalidArgument ||
            kind == ErrorClass::kUnsupported || kind == ErrorClass::kLimit ||
            kind == ErrorClass::kNotFound || kind == ErrorClass::kOutOfRange,
        "an error has a class for invalid text");
  check(error.path() == "fuzzed", "an error names the path");
  check(!error.cause().empty(), "an error has a cause");
}

std::string specification_of(std::string_view text) {
  if (text.starts_with('<')) return std::string(text);
  return "<metrics><metric type=\"PREDERIVED_EXCLUSIVE\"><uniq_name>m</uniq_name><cubepl>" +
         std::string(text) + "</cubepl></metric></metrics>";
}

bool is_same_value(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

/// Evaluates a row at once and its locations one by one: the values must be equal, or both must
/// fail.
void check_row(const BoundProgram& bound_program, ProfileView& profile, const OutputRow& which) {
  Evaluator evaluator(bound_program, profile);
  const std::size_t count = profile.info().locations.size();
  std::vector<double> values(count);
  const Status whole = evaluator.evaluate(which, {0, count}, values);
  bool is_refused = false;
  for (std::size_t i = 0; i < count; ++i) {
    double alone = 0;
    const Status done = evaluator.evaluate(which, {i, 1}, {&alone, 1});
    is_refused = is_refused || !done;
    if (whole) check(done.has_value(), "a location has a value if its row has");
    if (whole) check(is_same_value(alone, values[i]), "a location's value is that in its row");
    if (!done) check_refusal(done.error());
  }
  check(whole.has_value() || is_refused, "a row has values if all of its locations have");
}

void check_program(Program&& program) {
  const auto profile = testing::small_profile();
  const auto bound_program = BoundProgram::create(std::move(program), *profile,
                                                  {.limits = {.init_steps = 500,
                                                              .value_steps = 100,
                                                              .callpath_steps = 0,
                                                              .global_elements = 1000,
                                                              .local_elements = 1000}});
  if (!bound_program) return check_refusal(bound_program.error());
  const std::size_t metric_count = (*bound_program)->program().metrics.size();
  for (std::size_t metric = 0; metric < metric_count; ++metric) {
    for (const auto flavor : {Flavor::kExclusive, Flavor::kInclusive})
      check_row(**bound_program, *profile, {metric, 2, flavor});
  }
}

}  // namespace
}  // namespace forebay::cubepl

// NOLINTNEXTLINE(readability-identifier-naming): the name is libFuzzer's
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace forebay::cubepl;
  const std::string text = specification_of({reinterpret_cast<const char*>(data), size});
  auto specification = parse_specification(text, "fuzzed");
  if (!specification) {
    check_refusal(specification.error());
    return 0;
  }
  auto program = compile(std::move(*specification));
  if (program) {
    check_program(std::move(*program));
  } else {
    check_refusal(program.error());
  }
  return 0;
}

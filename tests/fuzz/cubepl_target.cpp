// SPDX-License-Identifier: Apache-2.0
// Gives any text to the reader of remapping specifications, runs what it accepts on a small
// profile, and holds both to what they promise. The same function runs under libFuzzer and, over
// the corpus, in the ordinary tests. A text that does not begin with < is the expression of a
// metric.
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

void hold(bool promise, const char* text) {
  if (promise) return;
  std::fprintf(stderr, "broken promise: %s\n", text);
  std::abort();
}

void hold_refusal(const Error& error) {
  const ErrorClass kind = error.kind();
  hold(kind == ErrorClass::kDamage || kind == ErrorClass::kInvalidArgument ||
           kind == ErrorClass::kUnsupported || kind == ErrorClass::kLimit ||
           kind == ErrorClass::kNotFound || kind == ErrorClass::kOutOfRange,
       "a refusal is about the text");
  hold(error.path() == "fuzzed", "a refusal names the path");
  hold(!error.cause().empty(), "a refusal says what it is about");
}

std::string specification_of(std::string_view text) {
  if (text.starts_with('<')) return std::string(text);
  return "<metrics><metric type=\"PREDERIVED_EXCLUSIVE\"><uniq_name>m</uniq_name><cubepl>" +
         std::string(text) + "</cubepl></metric></metrics>";
}

bool same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

/// A row at once and its locations one by one: equal values, or a refusal by both.
void hold_row(const Derivation& derivation, ProfileView& profile, const OutputRow& which) {
  Evaluator evaluator(derivation, profile);
  const std::size_t count = profile.facts().locations.size();
  std::vector<double> values(count);
  const Status whole = evaluator.evaluate(which, {0, count}, values);
  bool is_refused = false;
  for (std::size_t i = 0; i < count; ++i) {
    double alone = 0;
    const Status done = evaluator.evaluate(which, {i, 1}, {&alone, 1});
    is_refused = is_refused || !done;
    if (whole) hold(done.has_value(), "a location has a value where its row has");
    if (whole) hold(same(alone, values[i]), "a location's value is that of its row");
    if (!done) hold_refusal(done.error());
  }
  hold(whole.has_value() || is_refused, "a row has values where all of its locations have");
}

void hold_program(Program&& program) {
  const auto profile = testing::small_profile();
  const auto derivation = Derivation::create(std::move(program), *profile,
                                             {.limits = {.init_steps = 500,
                                                         .value_steps = 100,
                                                         .callpath_steps = 0,
                                                         .global_elements = 1000,
                                                         .local_elements = 1000}});
  if (!derivation) return hold_refusal(derivation.error());
  const std::size_t metric_count = (*derivation)->program().metrics.size();
  for (std::size_t metric = 0; metric < metric_count; ++metric) {
    for (const auto flavour : {Flavour::kExclusive, Flavour::kInclusive})
      hold_row(**derivation, *profile, {metric, 2, flavour});
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
    hold_refusal(specification.error());
    return 0;
  }
  auto program = compile(std::move(*specification));
  if (program) {
    hold_program(std::move(*program));
  } else {
    hold_refusal(program.error());
  }
  return 0;
}

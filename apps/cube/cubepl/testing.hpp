// SPDX-License-Identifier: Apache-2.0
// Shared test helpers: makes specifications of single expressions, and computes their values.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cube/cubepl/bound_program.hpp"
#include "cube/cubepl/evaluator.hpp"
#include "cube/cubepl/memory_profile.hpp"
#include "cube/cubepl/parser.hpp"

namespace forebay::cubepl::testing {

/// A <metric> element with the content `inside`.
inline std::string metric(std::string_view name, std::string_view type, std::string_view inside) {
  return fmt::format("<metric type=\"{}\"><uniq_name>{}</uniq_name>{}</metric>\n", type, name,
                     inside);
}

inline std::string specification(std::string_view metrics) {
  return fmt::format("<metrics>\n{}</metrics>\n", metrics);
}

inline Result<Program> program_of(const std::string& text) {
  auto parsed = parse_specification(text, "test.spec");
  if (!parsed) return failure(parsed.error());
  return compile(std::move(*parsed));
}

/// A specification bound to a profile, or the Error.
struct BoundTest {
  Result<std::unique_ptr<const BoundProgram>> bound_program;

  std::string error() const {
    return bound_program ? std::string("no error") : bound_program.error().message();
  }
  /// Returns all locations of a row. If it cannot be computed, adds a test failure and returns
  /// none.
  std::vector<double> row(ProfileView& profile, const OutputRow& which) const {
    if (!bound_program) {
      ADD_FAILURE() << error();
      return {};
    }
    std::vector<double> values(profile.info().locations.size());
    Evaluator evaluator(**bound_program, profile);
    const Status done = evaluator.evaluate(which, {0, values.size()}, values);
    if (done) return values;
    ADD_FAILURE() << done.error().message();
    return {};
  }
  std::vector<double> row(ProfileView& profile,
                          std::string_view name,
                          std::size_t callpath,
                          Flavor flavor = Flavor::kExclusive) const {
    if (!bound_program) {
      ADD_FAILURE() << error();
      return {};
    }
    const auto index = (*bound_program)->program().specification.find(name);
    return row(profile, {index.value_or(0), callpath, flavor});
  }
};

inline BoundTest bind_text(const std::string& text,
                           const ProfileView& profile,
                           const BindOptions& options = {}) {
  auto program = program_of(text);
  if (!program) return {failure(program.error())};
  return {BoundProgram::create(std::move(*program), profile, options)};
}

/// The exclusive row of a metric with this expression and cubeplinit, at call path 1.
inline std::vector<double> row_of(std::string_view expression, std::string_view init = "") {
  const auto profile = small_profile();
  const std::string inside =
      fmt::format("<cubepl>{}</cubepl><cubeplinit>{}</cubeplinit>", expression, init);
  return bind_text(specification(metric("m", "PREDERIVED_EXCLUSIVE", inside)), *profile)
      .row(*profile, "m", 1);
}

/// The value of an expression that is equal at all locations.
inline double value_of(std::string_view expression, std::string_view init = "") {
  const std::vector<double> row = row_of(expression, init);
  if (row.empty()) return 0;
  EXPECT_EQ(row, std::vector<double>(row.size(), row[0])) << expression;
  return row[0];
}

/// The error message of a metric with this expression and cubeplinit; "no error" if it is valid.
inline std::string error_message_of(std::string_view expression, std::string_view init = "") {
  const auto profile = small_profile();
  const std::string inside =
      fmt::format("<cubepl>{}</cubepl><cubeplinit>{}</cubeplinit>", expression, init);
  const BoundTest derived =
      bind_text(specification(metric("m", "PREDERIVED_EXCLUSIVE", inside)), *profile);
  if (!derived.bound_program) return derived.error();
  std::vector<double> values(3);
  Evaluator evaluator(**derived.bound_program, *profile);
  const Status done = evaluator.evaluate({0, 1, Flavor::kExclusive}, {0, 3}, values);
  return done ? "no error" : done.error().message();
}

}  // namespace forebay::cubepl::testing

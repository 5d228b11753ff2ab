// SPDX-License-Identifier: Apache-2.0
// What the tests of this folder share: single expressions turned into specifications, and what
// comes out of them.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cube/cubepl/derivation.hpp"
#include "cube/cubepl/evaluator.hpp"
#include "cube/cubepl/memory_profile.hpp"
#include "cube/cubepl/parser.hpp"

namespace forebay::cubepl::testing {

/// A <metric> with what is inside of it.
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

/// What was made of a specification and a profile.
struct Derived {
  Result<std::unique_ptr<const Derivation>> derivation;

  std::string error() const {
    return derivation ? std::string("no error") : derivation.error().message();
  }
  /// All locations of a row; empty, with a failure of the test, if it cannot be computed.
  std::vector<double> row(ProfileView& profile, const OutputRow& which) const {
    if (!derivation) {
      ADD_FAILURE() << error();
      return {};
    }
    std::vector<double> values(profile.facts().locations.size());
    Evaluator evaluator(**derivation, profile);
    const Status done = evaluator.evaluate(which, {0, values.size()}, values);
    if (done) return values;
    ADD_FAILURE() << done.error().message();
    return {};
  }
  std::vector<double> row(ProfileView& profile,
                          std::string_view name,
                          std::size_t callpath,
                          Flavour flavour = Flavour::kExclusive) const {
    if (!derivation) {
      ADD_FAILURE() << error();
      return {};
    }
    const auto index = (*derivation)->program().specification.find(name);
    return row(profile, {index.value_or(0), callpath, flavour});
  }
};

inline Derived derive(const std::string& text,
                      const ProfileView& profile,
                      const Surroundings& surroundings = {}) {
  auto program = program_of(text);
  if (!program) return {failure(program.error())};
  return {Derivation::create(std::move(*program), profile, surroundings)};
}

/// The exclusive row of a metric with this expression and cubeplinit, at call path 1.
inline std::vector<double> row_of(std::string_view expression, std::string_view init = "") {
  const auto profile = small_profile();
  const std::string inside =
      fmt::format("<cubepl>{}</cubepl><cubeplinit>{}</cubeplinit>", expression, init);
  return derive(specification(metric("m", "PREDERIVED_EXCLUSIVE", inside)), *profile)
      .row(*profile, "m", 1);
}

/// Of a value that is the same everywhere.
inline double value_of(std::string_view expression, std::string_view init = "") {
  const std::vector<double> row = row_of(expression, init);
  if (row.empty()) return 0;
  EXPECT_EQ(row, std::vector<double>(row.size(), row[0])) << expression;
  return row[0];
}

/// What is said of a metric with this expression and cubeplinit when it cannot be used.
inline std::string refusal_of(std::string_view expression, std::string_view init = "") {
  const auto profile = small_profile();
  const std::string inside =
      fmt::format("<cubepl>{}</cubepl><cubeplinit>{}</cubeplinit>", expression, init);
  const Derived derived =
      derive(specification(metric("m", "PREDERIVED_EXCLUSIVE", inside)), *profile);
  if (!derived.derivation) return derived.error();
  std::vector<double> values(3);
  Evaluator evaluator(**derived.derivation, *profile);
  const Status done = evaluator.evaluate({0, 1, Flavour::kExclusive}, {0, 3}, values);
  return done ? "no error" : done.error().message();
}

}  // namespace forebay::cubepl::testing

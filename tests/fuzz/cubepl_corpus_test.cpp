// SPDX-License-Identifier: Apache-2.0
// Runs the corpus of specifications and expressions, with changes of single bytes and truncations,
// through its fuzz target in an ordinary build. Also compares each file's result with its name.
#include "cube/cubepl/parser.hpp"
#include "cube/cubepl/program.hpp"
#include "tests/fuzz/corpus_testing.hpp"

namespace forebay::cubepl {
namespace {

/// Whether the sample compiles; a file that does not begin with < is an expression.
bool is_accepted(const fuzz::Sample& sample) {
  if (!sample.bytes.starts_with('<')) return parse(sample.bytes).has_value();
  auto specification = parse_specification(sample.bytes, sample.name);
  return specification && compile(std::move(*specification));
}

std::string classify(const fuzz::Sample& sample) { return is_accepted(sample) ? "ok" : "refused"; }

TEST(CubeplCorpus, every_file_has_the_result_in_its_name) {
  EXPECT_GE(fuzz::corpus().size(), 20U);
  fuzz::expect_results_in_names(fuzz::corpus(), classify);
}

TEST(CubeplCorpus, changes_and_truncations_violate_no_contract) {
  fuzz::run_changes(fuzz::corpus(), fuzz::kTextChanges);
}

}  // namespace
}  // namespace forebay::cubepl

// SPDX-License-Identifier: Apache-2.0
// Runs the corpus of hint files, with changes of it, through its fuzz target in an ordinary build.
// Also compares each file's result with its name.
#include "push/hint_file.hpp"
#include "tests/fuzz/corpus_testing.hpp"

namespace forebay::push {
namespace {

std::string classify(const fuzz::Sample& sample) {
  return parse_hints(sample.bytes, sample.name) ? "ok" : "refused";
}

TEST(HintsCorpus, every_file_has_the_result_in_its_name) {
  EXPECT_GE(fuzz::corpus().size(), 6U);
  fuzz::expect_results_in_names(fuzz::corpus(), classify);
}

TEST(HintsCorpus, changes_and_truncations_violate_no_contract) {
  fuzz::run_changes(fuzz::corpus(), fuzz::kTextChanges);
}

}  // namespace
}  // namespace forebay::push

// SPDX-License-Identifier: Apache-2.0
// Runs the corpus of tuning profiles, with changes of single bytes and truncations, through its
// fuzz target in an ordinary build. Also compares each file's result with its name.
#include "tests/fuzz/corpus_testing.hpp"
#include "write/tuning_profile.hpp"

namespace forebay::write {
namespace {

std::string classify(const fuzz::Sample& sample) {
  return parse_tuning_profile(sample.bytes, sample.name) ? "ok" : "refused";
}

TEST(TuningProfileCorpus, every_file_has_the_result_in_its_name) {
  EXPECT_GE(fuzz::corpus().size(), 7U);
  fuzz::expect_results_in_names(fuzz::corpus(), classify);
}

TEST(TuningProfileCorpus, changes_and_truncations_violate_no_contract) {
  fuzz::run_changes(fuzz::corpus(), fuzz::kTextChanges);
}

}  // namespace
}  // namespace forebay::write

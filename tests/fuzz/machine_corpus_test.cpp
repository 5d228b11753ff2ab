// SPDX-License-Identifier: Apache-2.0
// Runs the corpus of machine files, with changes of single bytes and truncations, through its fuzz
// target in an ordinary build. Also compares each file's result with its name.
#include "model/machine.hpp"
#include "tests/fuzz/corpus_testing.hpp"

namespace forebay::model {
namespace {

std::string classify(const fuzz::Sample& sample) {
  return parse_machine(sample.bytes, sample.name) ? "ok" : "refused";
}

TEST(MachineCorpus, every_file_has_the_result_in_its_name) {
  EXPECT_GE(fuzz::corpus().size(), 20U);
  fuzz::expect_results_in_names(fuzz::corpus(), classify);
}

TEST(MachineCorpus, changes_and_truncations_violate_no_contract) {
  fuzz::run_changes(fuzz::corpus(), fuzz::kTextChanges);
}

}  // namespace
}  // namespace forebay::model

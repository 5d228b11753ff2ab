// SPDX-License-Identifier: Apache-2.0
// Runs the corpus of recordings, with changes of it, through the fuzz target in an ordinary build.
// Also compares each file's result with its name.
#include "tests/fuzz/corpus_testing.hpp"
#include "tools/emufs/record.hpp"

namespace forebay::emufs {
namespace {

std::string classify(const fuzz::Sample& sample) {
  const DecodeStatus status = decode(sample.bytes).status;
  if (status == DecodeStatus::kOk) return "ok";
  return status == DecodeStatus::kTruncated ? "ends" : "broken";
}

TEST(RecordCorpus, every_file_has_the_result_in_its_name) {
  EXPECT_GE(fuzz::corpus().size(), 20U);
  fuzz::expect_results_in_names(fuzz::corpus(), classify);
}

TEST(RecordCorpus, changes_and_truncations_violate_no_contract) {
  fuzz::run_changes(fuzz::corpus());
}

}  // namespace
}  // namespace forebay::emufs

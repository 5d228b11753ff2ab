// SPDX-License-Identifier: Apache-2.0
// Runs the corpus of traces, with changes of it, through the fuzz target in an ordinary build.
// Also compares each file's result with its name.
#include "tests/fuzz/corpus_testing.hpp"
#include "tests/fuzz/trace_target.hpp"

namespace forebay::trace {
namespace {

std::string_view classify(const fuzz::Sample& sample) {
  return result_of(std::as_bytes(std::span(sample.bytes)));
}

TEST(TraceCorpus, every_file_has_the_result_in_its_name) {
  EXPECT_GE(fuzz::corpus().size(), 8U);
  fuzz::expect_results_in_names(fuzz::corpus(), classify);
}

TEST(TraceCorpus, changes_and_truncations_violate_no_contract) {
  fuzz::run_changes(fuzz::corpus());
}

}  // namespace
}  // namespace forebay::trace

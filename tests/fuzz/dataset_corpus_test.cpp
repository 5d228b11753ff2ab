// SPDX-License-Identifier: Apache-2.0
// Runs one corpus of the dataset format, with changes of it, through its fuzz target in an ordinary
// build. Also compares each file's result with its name.
#include "tests/fuzz/corpus_testing.hpp"
#include "tests/fuzz/dataset_target.hpp"

namespace forebay::format {
namespace {

TEST(DatasetCorpus, every_file_has_the_result_in_its_name) {
  EXPECT_GE(fuzz::corpus().size(), 3U);
  for (const auto& [name, bytes] : fuzz::corpus())
    EXPECT_EQ(name.starts_with("ok-"), is_accepted(std::as_bytes(std::span(bytes)))) << name;
}

TEST(DatasetCorpus, changes_and_truncations_violate_no_contract) {
  fuzz::run_changes(fuzz::corpus());
}

}  // namespace
}  // namespace forebay::format

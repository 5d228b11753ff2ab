// SPDX-License-Identifier: Apache-2.0
// Runs the corpus, with all single-byte changes of it, through the fuzz target in an ordinary
// build. Also compares each file's result with its name.
#include "tests/fuzz/corpus_testing.hpp"
#include "tipsy/snapshot.hpp"

namespace forebay::tipsy {
namespace {

std::string classify(const fuzz::Sample& sample) {
  const auto bytes = std::as_bytes(std::span(sample.bytes));
  const auto head = bytes.first(std::min<std::size_t>(bytes.size(), kHeaderBytes));
  const auto found = identify_snapshot({sample.name, bytes.size(), head}, std::nullopt);
  if (!found) return std::string(name_of(found.error().kind()));
  return found->candidates.size() == 1 ? "ok" : "ambiguous";
}

TEST(TipsyCorpus, every_file_has_the_result_in_its_name) {
  EXPECT_GE(fuzz::corpus().size(), 25U);
  fuzz::expect_results_in_names(fuzz::corpus(), classify);
}

TEST(TipsyCorpus, changes_and_truncations_violate_no_contract) {
  fuzz::run_changes(fuzz::corpus(), {.replacements = {"\x00\x01\x03\x7f\x80\xff", 6}});
}

}  // namespace
}  // namespace forebay::tipsy

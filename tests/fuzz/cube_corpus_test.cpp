// SPDX-License-Identifier: Apache-2.0
// Runs the corpus of Cube profiles and their parts, and changes of it, through the fuzz target in
// an ordinary build. Also compares each file's result with its name.
#include <memory>

#include "cube/profile.hpp"
#include "cube/testing.hpp"
#include "tests/fuzz/corpus_testing.hpp"

namespace forebay::cube {
namespace {

std::string status_name(const Status& status) {
  return status ? "ok" : std::string(name_of(status.error().kind()));
}

template <class T>
Status status_of(const Result<T>& result) {
  if (result) return {};
  return failure(result.error());
}

/// Ok if all rows of a file can be read.
Status read_all(const std::string& text) {
  using Source = testing::MemoryFile;
  const auto profile = Profile::open(std::make_shared<Source>(testing::bytes_of(text)));
  if (!profile) return status_of(profile);
  RowScratch scratch;
  for (std::size_t i = 0; i < profile->anchor().metrics.size(); ++i) {
    std::vector<std::byte> row(profile->anchor().row_bytes(profile->anchor().metrics[i]));
    for (std::uint32_t number = 0; number < profile->anchor().call_tree.size(); ++number) {
      if (const Status read = profile->read_row(i, number, row, scratch); !read) return read;
    }
  }
  return {};
}

std::string classify(const fuzz::Sample& sample) {
  // The first byte selects the parser.
  const std::string text = sample.bytes.substr(1);
  const auto bytes = testing::bytes_of(text);
  switch (sample.bytes.at(0)) {
    case 't':
      return status_name(status_of(decode_tar_header(std::span(bytes).first<kTarBlockBytes>())));
    case 'i':
      return status_name(status_of(decode_index(bytes, 64)));
    case 'r':
      return status_name(status_of(
          decode_row_table(bytes, {.row_count = 5, .row_bytes = 16, .payload_bytes = 1000})));
    case 'v':
      return status_name(status_of(parse_value_type(text)));
    case 'a':
      return status_name(status_of(parse_anchor(text)));
    default:
      return status_name(read_all(text));
  }
}

TEST(CubeCorpus, every_file_has_the_result_in_its_name) {
  EXPECT_GE(fuzz::corpus().size(), 20U);
  fuzz::expect_results_in_names(fuzz::corpus(), classify);
}

TEST(CubeCorpus, changes_and_truncations_violate_no_contract) {
  fuzz::run_changes(fuzz::corpus(), {.replacements = {"\x00\x3c\xff", 3}, .first = 1});
}

}  // namespace
}  // namespace forebay::cube

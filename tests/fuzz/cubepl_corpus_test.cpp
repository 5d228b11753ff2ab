// SPDX-License-Identifier: Apache-2.0
// Runs the corpus of specifications and expressions, with changes of single bytes and truncations,
// through its fuzz target in an ordinary build. Also compares each file's result with its name.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "cube/cubepl/parser.hpp"
#include "cube/cubepl/program.hpp"

// NOLINTNEXTLINE(readability-identifier-naming): the name is libFuzzer's
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace forebay::cubepl {
namespace {

struct Sample {
  std::string name;
  std::string text;
};

std::vector<Sample> corpus() {
  std::vector<Sample> samples;
  for (const auto& entry : std::filesystem::directory_iterator(FOREBAY_CORPUS "/cubepl")) {
    std::ifstream file(entry.path(), std::ios::binary);
    samples.push_back({entry.path().filename(), {std::istreambuf_iterator<char>(file), {}}});
  }
  std::ranges::sort(samples, {}, &Sample::name);
  return samples;
}

void try_text(std::string_view text) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
}

/// Whether the sample compiles; a file that does not begin with < is an expression.
bool is_accepted(const Sample& sample) {
  if (!sample.text.starts_with('<')) return parse(sample.text).has_value();
  auto specification = parse_specification(sample.text, sample.name);
  return specification && compile(std::move(*specification));
}

TEST(CubeplCorpus, every_file_has_the_result_in_its_name) {
  const auto samples = corpus();
  EXPECT_GE(samples.size(), 20U);
  for (const Sample& sample : samples)
    EXPECT_TRUE(sample.name.starts_with(is_accepted(sample) ? "ok-" : "refused-")) << sample.name;
}

TEST(CubeplCorpus, every_file_violates_no_contract) {
  for (const Sample& sample : corpus())
    try_text(sample.text);
}

/// Runs the text with other bytes at `i`.
void try_changes(std::string& text, std::size_t i) {
  const char before = text[i];
  for (const char change : {'\0', '0', '-', '"', '{', '<', '/', '\xff'}) {
    text[i] = change;
    try_text(text);
  }
  text[i] = before;
}

TEST(CubeplCorpus, single_byte_changes_violate_no_contract) {
  for (Sample& sample : corpus()) {
    for (std::size_t i = 0; i < sample.text.size(); i += 1 + sample.text.size() / 300)
      try_changes(sample.text, i);
  }
}

TEST(CubeplCorpus, truncations_violate_no_contract) {
  for (const Sample& sample : corpus()) {
    for (std::size_t size = 0; size < sample.text.size(); size += 1 + sample.text.size() / 300)
      try_text(std::string_view(sample.text).substr(0, size));
  }
}

}  // namespace
}  // namespace forebay::cubepl

// SPDX-License-Identifier: Apache-2.0
// Runs the corpus of machine files, with changes of single bytes and truncations, through its fuzz
// target in an ordinary build. Also compares each file's result with its name.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "model/machine.hpp"

// NOLINTNEXTLINE(readability-identifier-naming): the name is libFuzzer's
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace forebay::model {
namespace {

struct Sample {
  std::string name;
  std::string text;
};

std::vector<Sample> corpus() {
  std::vector<Sample> samples;
  for (const auto& entry : std::filesystem::directory_iterator(FOREBAY_CORPUS "/machine")) {
    std::ifstream file(entry.path(), std::ios::binary);
    samples.push_back({entry.path().filename(), {std::istreambuf_iterator<char>(file), {}}});
  }
  std::ranges::sort(samples, {}, &Sample::name);
  return samples;
}

void try_text(std::string_view text) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
}

TEST(MachineCorpus, every_file_has_the_result_in_its_name) {
  const auto samples = corpus();
  EXPECT_GE(samples.size(), 20U);
  for (const Sample& sample : samples) {
    const auto machine = parse_machine(sample.text, sample.name);
    const std::string answer = machine ? "ok-" : "refused-";
    EXPECT_TRUE(sample.name.starts_with(answer))
        << sample.name << ": " << (machine ? "accepted" : machine.error().message());
  }
}

TEST(MachineCorpus, every_file_violates_no_contract) {
  for (const Sample& sample : corpus())
    try_text(sample.text);
}

/// Runs the text with other bytes at `i`.
void try_changes(std::string& text, std::size_t i) {
  const char before = text[i];
  for (const char change : {'\0', '0', '-', '"', '[', '\n', '\xff'}) {
    text[i] = change;
    try_text(text);
  }
  text[i] = before;
}

TEST(MachineCorpus, single_byte_changes_violate_no_contract) {
  for (Sample& sample : corpus()) {
    // Long files are mostly prose: some of their bytes are enough.
    const std::size_t step = 1 + sample.text.size() / 400;
    for (std::size_t i = 0; i < sample.text.size(); i += step)
      try_changes(sample.text, i);
  }
}

TEST(MachineCorpus, truncations_violate_no_contract) {
  for (const Sample& sample : corpus()) {
    for (std::size_t size = 0; size < sample.text.size(); size += 1 + sample.text.size() / 400)
      try_text(std::string_view(sample.text).substr(0, size));
  }
}

}  // namespace
}  // namespace forebay::model

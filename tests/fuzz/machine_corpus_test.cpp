// SPDX-License-Identifier: Apache-2.0
// The corpus of machine files through its fuzz target in an ordinary build, with changes of single
// bytes and truncations, and each file's answer against what its name says.
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

TEST(MachineCorpus, every_file_gets_the_answer_in_its_name) {
  const auto samples = corpus();
  EXPECT_GE(samples.size(), 20U);
  for (const Sample& sample : samples) {
    const auto machine = parse_machine(sample.text, sample.name);
    const std::string answer = machine ? "ok-" : "refused-";
    EXPECT_TRUE(sample.name.starts_with(answer))
        << sample.name << ": " << (machine ? "accepted" : machine.error().message());
  }
}

TEST(MachineCorpus, every_file_keeps_the_promises_of_the_parser) {
  for (const Sample& sample : corpus())
    try_text(sample.text);
}

/// The text with other bytes at `i`.
void try_changes(std::string& text, std::size_t i) {
  const char before = text[i];
  for (const char change : {'\0', '0', '-', '"', '[', '\n', '\xff'}) {
    text[i] = change;
    try_text(text);
  }
  text[i] = before;
}

TEST(MachineCorpus, changes_of_one_byte_keep_the_promises_of_the_parser) {
  for (Sample& sample : corpus()) {
    // Long files are mostly sentences: a part of their bytes tells as much.
    const std::size_t step = 1 + sample.text.size() / 400;
    for (std::size_t i = 0; i < sample.text.size(); i += step)
      try_changes(sample.text, i);
  }
}

TEST(MachineCorpus, truncations_keep_the_promises_of_the_parser) {
  for (const Sample& sample : corpus()) {
    for (std::size_t size = 0; size < sample.text.size(); size += 1 + sample.text.size() / 400)
      try_text(std::string_view(sample.text).substr(0, size));
  }
}

}  // namespace
}  // namespace forebay::model

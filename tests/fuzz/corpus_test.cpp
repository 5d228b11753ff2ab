// SPDX-License-Identifier: Apache-2.0
// The corpus through the fuzz target in an ordinary build, with all single-byte changes of it, and
// each file's answer against what its name says.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tipsy/snapshot.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace forebay::tipsy {
namespace {

struct Sample {
  std::string name;
  std::vector<std::uint8_t> bytes;
};

std::vector<Sample> corpus() {
  std::vector<Sample> samples;
  for (const auto& entry : std::filesystem::directory_iterator(FOREBAY_CORPUS "/tipsy")) {
    std::ifstream file(entry.path(), std::ios::binary);
    samples.push_back({entry.path().filename(), {std::istreambuf_iterator<char>(file), {}}});
  }
  std::ranges::sort(samples, {}, &Sample::name);
  return samples;
}

/// The beginning that a file's name should have.
std::string answer_to(const Sample& sample) {
  const auto bytes = std::as_bytes(std::span(sample.bytes));
  const auto head = bytes.first(std::min<std::size_t>(bytes.size(), kHeaderBytes));
  const auto found = recognise({sample.name, bytes.size(), head}, std::nullopt);
  if (!found) return std::string(name_of(found.error().kind()));
  return found->candidates.size() == 1 ? "ok" : "ambiguous";
}

TEST(TipsyCorpus, every_file_gets_the_answer_in_its_name) {
  const auto samples = corpus();
  EXPECT_GE(samples.size(), 25U);
  for (const Sample& sample : samples) {
    EXPECT_TRUE(sample.name.starts_with(answer_to(sample) + "-"))
        << sample.name << " is answered with " << answer_to(sample);
  }
}

TEST(TipsyCorpus, every_file_keeps_the_promises_of_the_parsers) {
  for (const Sample& sample : corpus()) {
    EXPECT_EQ(LLVMFuzzerTestOneInput(sample.bytes.data(), sample.bytes.size()), 0);
  }
}

TEST(TipsyCorpus, every_change_of_one_byte_keeps_the_promises_of_the_parsers) {
  for (Sample& sample : corpus()) {
    for (std::uint8_t& byte : sample.bytes) {
      const std::uint8_t before = byte;
      for (const unsigned change : {0x00U, 0x01U, 0x03U, 0x7fU, 0x80U, 0xffU}) {
        byte = static_cast<std::uint8_t>(change);
        LLVMFuzzerTestOneInput(sample.bytes.data(), sample.bytes.size());
      }
      byte = before;
    }
  }
}

TEST(TipsyCorpus, every_truncation_keeps_the_promises_of_the_parsers) {
  for (const Sample& sample : corpus()) {
    for (std::size_t size = 0; size < sample.bytes.size(); ++size) {
      const std::vector<std::uint8_t> cut(sample.bytes.begin(),
                                          sample.bytes.begin() + static_cast<std::ptrdiff_t>(size));
      LLVMFuzzerTestOneInput(cut.data(), cut.size());
    }
  }
}

}  // namespace
}  // namespace forebay::tipsy

// SPDX-License-Identifier: Apache-2.0
// Runs the corpus, with all single-byte changes of it, through the fuzz target in an ordinary
// build. Also compares each file's result with its name.
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

/// The required prefix of the file's name.
std::string classify(const Sample& sample) {
  const auto bytes = std::as_bytes(std::span(sample.bytes));
  const auto head = bytes.first(std::min<std::size_t>(bytes.size(), kHeaderBytes));
  const auto found = identify_snapshot({sample.name, bytes.size(), head}, std::nullopt);
  if (!found) return std::string(name_of(found.error().kind()));
  return found->candidates.size() == 1 ? "ok" : "ambiguous";
}

TEST(TipsyCorpus, every_file_has_the_result_in_its_name) {
  const auto samples = corpus();
  EXPECT_GE(samples.size(), 25U);
  for (const Sample& sample : samples) {
    EXPECT_TRUE(sample.name.starts_with(classify(sample) + "-"))
        << sample.name << " has the result " << classify(sample);
  }
}

TEST(TipsyCorpus, every_file_violates_no_contract) {
  for (const Sample& sample : corpus()) {
    EXPECT_EQ(LLVMFuzzerTestOneInput(sample.bytes.data(), sample.bytes.size()), 0);
  }
}

TEST(TipsyCorpus, single_byte_changes_violate_no_contract) {
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

TEST(TipsyCorpus, truncations_violate_no_contract) {
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

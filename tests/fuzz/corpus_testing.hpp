// SPDX-License-Identifier: Apache-2.0
// Runs a corpus, with changes of single bytes and truncations, through a fuzz target in an ordinary
// build.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

// NOLINTNEXTLINE(readability-identifier-naming): the name is libFuzzer's
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace forebay::fuzz {

struct Sample {
  std::string name;
  std::string bytes;
};

/// The files of the directory FOREBAY_CORPUS, in the order of their names.
inline std::vector<Sample> corpus() {
  std::vector<Sample> samples;
  for (const auto& entry : std::filesystem::directory_iterator(FOREBAY_CORPUS)) {
    std::ifstream file(entry.path(), std::ios::binary);
    samples.push_back({entry.path().filename(), {std::istreambuf_iterator<char>(file), {}}});
  }
  std::ranges::sort(samples, {}, &Sample::name);
  return samples;
}

/// Expects that the name of each sample begins with `classify(sample)` and a hyphen.
template <class Classify>
void expect_results_in_names(const std::vector<Sample>& samples, Classify classify) {
  for (const Sample& sample : samples) {
    const std::string result(classify(sample));
    EXPECT_TRUE(sample.name.starts_with(result + "-")) << sample.name << " has result " << result;
  }
}

/// Changes of samples, one byte at a time.
struct Changes {
  std::string_view replacements = {"\x00\x01\x7f\x80\xff", 5};
  std::size_t positions_max = 1000;  ///< changed bytes of a sample, spread evenly
  std::size_t first = 0;             ///< bytes before this one stay
};
inline constexpr Changes kTextChanges = {{"\0000-\"[{</\n\xff", 10}, 400};

/// Runs the target with each sample, its changes and its truncations. The target aborts if a
/// contract is broken.
inline void run_changes(const std::vector<Sample>& samples, const Changes& changes = {}) {
  const auto run = [](const std::string& bytes) {
    LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  };
  for (auto [name, bytes] : samples) {
    run(bytes);
    const std::size_t step = bytes.size() / changes.positions_max + 1;
    for (std::size_t at = changes.first; at < bytes.size(); at += step) {
      const char before = bytes[at];
      for (const char replacement : changes.replacements) {
        bytes[at] = replacement;
        run(bytes);
      }
      bytes[at] = before;
      run(bytes.substr(0, at));
    }
  }
}

}  // namespace forebay::fuzz

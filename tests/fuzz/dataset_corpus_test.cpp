// SPDX-License-Identifier: Apache-2.0
// Runs one corpus of the dataset format, with changes of it, through its fuzz target in an ordinary
// build. Also compares each file's result with its name.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <gtest/gtest.h>

#include "tests/fuzz/dataset_target.hpp"

// NOLINTNEXTLINE(readability-identifier-naming): the name is libFuzzer's
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace forebay::format {
namespace {

void run(const std::string& bytes) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
}

template <class Use>
int for_each_file(Use use) {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(FOREBAY_CORPUS)) {
    std::ifstream file(entry.path(), std::ios::binary);
    use(entry.path().filename().string(), std::string{std::istreambuf_iterator<char>(file), {}});
    ++count;
  }
  return count;
}

TEST(DatasetCorpus, every_file_has_the_result_in_its_name) {
  const int count = for_each_file([](const std::string& name, const std::string& bytes) {
    EXPECT_EQ(name.starts_with("ok-"), is_accepted(std::as_bytes(std::span(bytes)))) << name;
  });
  EXPECT_GE(count, 3);
}

TEST(DatasetCorpus, changes_and_truncations_violate_no_contract) {
  for_each_file([](const std::string&, std::string bytes) {
    run(bytes);
    // About a thousand positions of each file, all of a small one.
    const std::size_t stride = bytes.size() / 1000 + 1;
    for (std::size_t at = 0; at < bytes.size(); at += stride) {
      const char before = bytes[at];
      for (const int change : {0x00, 0x01, 0x7f, 0x80, 0xff}) {
        bytes[at] = static_cast<char>(change);
        run(bytes);
      }
      bytes[at] = before;
      run(bytes.substr(0, at));
    }
  });
}

}  // namespace
}  // namespace forebay::format

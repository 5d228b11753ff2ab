// SPDX-License-Identifier: Apache-2.0
// Runs the corpus of traces, with changes of it, through the fuzz target in an ordinary build.
// Also compares each file's result with its name.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <gtest/gtest.h>

#include "tests/fuzz/trace_target.hpp"

// NOLINTNEXTLINE(readability-identifier-naming): the name is libFuzzer's
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace forebay::trace {
namespace {

void run(const std::string& bytes) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
}

template <class Use>
int for_each_file(Use use) {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(FOREBAY_CORPUS "/trace")) {
    std::ifstream file(entry.path(), std::ios::binary);
    use(entry.path().filename().string(), std::string{std::istreambuf_iterator<char>(file), {}});
    ++count;
  }
  return count;
}

TEST(TraceCorpus, every_file_has_the_result_in_its_name) {
  const int count = for_each_file([](const std::string& name, const std::string& bytes) {
    const std::string_view result = result_of(std::as_bytes(std::span(bytes)));
    EXPECT_TRUE(name.starts_with(std::string(result) + "-")) << name << ": " << result;
  });
  EXPECT_GE(count, 8);
}

void run_changes(std::string bytes) {
  for (char& byte : bytes) {
    const char before = byte;
    for (const int change : {0x00, 0x01, 0x7f, 0x80, 0xff}) {
      byte = static_cast<char>(change);
      run(bytes);
    }
    byte = before;
  }
}

TEST(TraceCorpus, changes_and_truncations_violate_no_contract) {
  for_each_file([](const std::string&, const std::string& bytes) {
    run(bytes);
    run_changes(bytes);
    for (std::size_t size = 0; size < bytes.size(); ++size)
      run(bytes.substr(0, size));
  });
}

}  // namespace
}  // namespace forebay::trace

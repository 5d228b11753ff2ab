// SPDX-License-Identifier: Apache-2.0
// Runs the corpus of Cube profiles and their parts, and changes of it, through the fuzz target in
// an ordinary build. Also compares each file's result with its name.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "cube/profile.hpp"
#include "cube/testing.hpp"

// NOLINTNEXTLINE(readability-identifier-naming): the name is libFuzzer's
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace forebay::cube {
namespace {

void run(const std::string& bytes) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
}

template <class Use>
int for_each_file(Use use) {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(FOREBAY_CORPUS "/cube")) {
    std::ifstream file(entry.path(), std::ios::binary);
    use(entry.path().filename().string(), std::string{std::istreambuf_iterator<char>(file), {}});
    ++count;
  }
  return count;
}

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

std::string classify(const std::string& input) {
  const std::string text = input.substr(1);
  const auto bytes = testing::bytes_of(text);
  switch (input.front()) {
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
  const int count = for_each_file([](const std::string& name, const std::string& bytes) {
    ASSERT_FALSE(bytes.empty()) << name;
    EXPECT_TRUE(name.starts_with(classify(bytes) + "-"))
        << name << " has the result " << classify(bytes);
  });
  EXPECT_GE(count, 20);
}

/// Files are mostly zeros between members, so testing every byte of a large one is not worthwhile.
std::size_t step_of(const std::string& bytes) { return bytes.size() > 1000 ? 5 : 1; }

/// Changes each byte but the first, which selects the parser.
void run_changes(std::string bytes) {
  for (std::size_t i = 1; i < bytes.size(); i += step_of(bytes)) {
    const char before = bytes[i];
    for (const int change : {0x00, 0x3c, 0xff}) {
      bytes[i] = static_cast<char>(change);
      run(bytes);
    }
    bytes[i] = before;
  }
}

TEST(CubeCorpus, single_byte_changes_violate_no_contract) {
  for_each_file([](const std::string&, const std::string& bytes) {
    run(bytes);
    run_changes(bytes);
  });
}

TEST(CubeCorpus, truncations_violate_no_contract) {
  for_each_file([](const std::string&, const std::string& bytes) {
    for (std::size_t size = 1; size < bytes.size(); size += step_of(bytes))
      run(bytes.substr(0, size));
  });
}

}  // namespace
}  // namespace forebay::cube

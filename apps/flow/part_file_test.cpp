// SPDX-License-Identifier: Apache-2.0
#include "flow/part_file.hpp"

#include <filesystem>
#include <random>

#include <gtest/gtest.h>

#include "command/testing.hpp"
#include "flow/store_suite_testing.hpp"

namespace forebay::flow {
namespace {

using command::testing::read_file;
using command::testing::TempDirectory;
using command::testing::write_file;

StoredArray test_array(std::uint32_t part) {
  const std::vector<double> values = testing::contract_values(5, part);
  const auto bytes = std::as_bytes(std::span(values));
  return {{ScalarType::kF64, 3, values.size() / 3}, {bytes.begin(), bytes.end()}};
}

/// Creates a file with three arrays, one of them empty.
PartFile make_file(const TempDirectory& directory, const std::string& name) {
  const PartFile file{directory.file(name), 5, 2};
  const Status written = write_part_file(
      file, {{"first", test_array(1)}, {"second", test_array(4)}, {"third", test_array(3)}});
  EXPECT_TRUE(written) << written.error().message();
  return file;
}

TEST(PartFile, arrays_are_found_by_name) {
  const TempDirectory directory;
  const PartFile file = make_file(directory, "part");
  const std::map<std::string, std::uint32_t> wanted{{"first", 1}, {"second", 4}, {"third", 3}};
  for (const auto& [name, part] : wanted) {
    const auto array = read_part_file(file, name);
    ASSERT_TRUE(array) << array.error().message();
    EXPECT_EQ(array->shape, test_array(part).shape);
    EXPECT_EQ(array->bytes, test_array(part).bytes);
  }
  const auto missing = read_part_file(file, "fir");
  EXPECT_EQ(missing.error().kind(), ErrorClass::kNotFound);
  EXPECT_EQ(missing.error().cause(), "the file has no array fir; it has first, second, third");
}

/// Counts the arrays that cannot be read. Each other one must have the bytes that were written.
int count_unreadable(const PartFile& file) {
  int unreadable = 0;
  const std::map<std::string, std::uint32_t> wanted{{"first", 1}, {"second", 4}, {"third", 3}};
  for (const auto& [name, part] : wanted) {
    const auto array = read_part_file(file, name);
    if (array) {
      EXPECT_EQ(array->bytes, test_array(part).bytes);
    } else {
      ++unreadable;
      EXPECT_EQ(array.error().path(), file.path);
    }
  }
  return unreadable;
}

TEST(PartFile, flipped_bit_is_an_error_and_never_returns_data) {
  const TempDirectory directory;
  const PartFile file = make_file(directory, "part");
  const std::vector<std::byte> whole = read_file(file.path);
  const unsigned seed = std::random_device{}();
  std::printf("seed %u\n", seed);
  std::mt19937_64 random(seed);
  for (int round = 0; round < 500; ++round) {
    std::vector<std::byte> broken = whole;
    const std::size_t place = random() % broken.size();
    broken[place] ^= std::byte{1} << (random() % 8);
    write_file(file.path, broken);
    EXPECT_GE(count_unreadable(file), 1) << place;
  }
}

TEST(PartFile, truncated_file_is_damage) {
  const TempDirectory directory;
  const PartFile file = make_file(directory, "part");
  const std::vector<std::byte> whole = read_file(file.path);
  for (std::size_t length = 1; length < whole.size(); ++length) {
    std::filesystem::resize_file(file.path, whole.size() - length);
    EXPECT_FALSE(read_part_file(file, "third")) << length;
    if (length > 400) break;
  }
}

TEST(PartFile, file_of_another_part_or_step_is_damage) {
  const TempDirectory directory;
  PartFile file = make_file(directory, "part");
  file.part = 3;
  EXPECT_EQ(read_part_file(file, "first").error().kind(), ErrorClass::kDamage);
  file.part = 2;
  file.step = 6;
  const auto array = read_part_file(file, "third");
  ASSERT_FALSE(array);
  EXPECT_EQ(array.error().kind(), ErrorClass::kDamage);
  EXPECT_TRUE(array.error().offset_bytes().has_value());
}

}  // namespace
}  // namespace forebay::flow

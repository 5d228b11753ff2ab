// SPDX-License-Identifier: Apache-2.0
// Small files that are read completely, and those that are rejected.
#include "base/text_file.hpp"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/testing.hpp"

namespace forebay {
namespace {

using ::testing::HasSubstr;

class TextFileTest : public ::testing::Test {
 protected:
  std::string file_of_size(std::size_t bytes) const {
    std::ofstream(directory_ / "file") << std::string(bytes, 'x');
    return directory_ / "file";
  }

  TemporaryDirectory directory_;
};

TEST_F(TextFileTest, is_read_completely_up_to_the_limit) {
  EXPECT_EQ(read_text_file(file_of_size(0), "read").value_or("?"), "");
  EXPECT_EQ(read_text_file(file_of_size(10'000), "read").value_or("?").size(), 10'000U);
  EXPECT_EQ(read_text_file(file_of_size(kTextFileBytesMax), "read").value_or("?").size(),
            kTextFileBytesMax);
}

TEST_F(TextFileTest, too_long_file_is_rejected) {
  const auto text = read_text_file(file_of_size(kTextFileBytesMax + 1), "read settings from");
  ASSERT_FALSE(text.has_value());
  EXPECT_THAT(text.error().message(), HasSubstr("longer than 1 MiB"));
}

TEST_F(TextFileTest, unreadable_file_is_an_error_with_its_path) {
  const auto missing = read_text_file(directory_ / "none", "read settings from");
  ASSERT_FALSE(missing.has_value());
  EXPECT_EQ(missing.error().kind(), ErrorClass::kNotFound);
  EXPECT_EQ(missing.error().path(), directory_ / "none");
  const auto directory = read_text_file(directory_.path(), "read settings from");
  ASSERT_FALSE(directory.has_value());
  EXPECT_EQ(directory.error().operation(), "read settings from");
}

}  // namespace
}  // namespace forebay

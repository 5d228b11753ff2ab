// SPDX-License-Identifier: Apache-2.0
// Small files read whole, and what is refused.
#include "base/text_file.hpp"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/testing.hpp"

namespace forebay {
namespace {

using ::testing::HasSubstr;

class TextFile : public ::testing::Test {
 protected:
  std::string with(std::size_t bytes) const {
    std::ofstream(folder_ / "file") << std::string(bytes, 'x');
    return folder_ / "file";
  }

  TemporaryFolder folder_;
};

TEST_F(TextFile, is_read_whole_up_to_the_limit) {
  EXPECT_EQ(read_text_file(with(0), "read").value_or("?"), "");
  EXPECT_EQ(read_text_file(with(10'000), "read").value_or("?").size(), 10'000U);
  EXPECT_EQ(read_text_file(with(kTextFileBytesMax), "read").value_or("?").size(),
            kTextFileBytesMax);
}

TEST_F(TextFile, that_is_longer_is_refused) {
  const auto text = read_text_file(with(kTextFileBytesMax + 1), "read settings from");
  ASSERT_FALSE(text.has_value());
  EXPECT_THAT(text.error().message(), HasSubstr("longer than 1 MiB"));
}

TEST_F(TextFile, that_cannot_be_read_is_an_error_with_its_path) {
  const auto missing = read_text_file(folder_ / "none", "read settings from");
  ASSERT_FALSE(missing.has_value());
  EXPECT_EQ(missing.error().kind(), ErrorClass::kNotFound);
  EXPECT_EQ(missing.error().path(), folder_ / "none");
  const auto folder = read_text_file(folder_.path(), "read settings from");
  ASSERT_FALSE(folder.has_value());
  EXPECT_EQ(folder.error().operation(), "read settings from");
}

}  // namespace
}  // namespace forebay

// SPDX-License-Identifier: Apache-2.0
// Text written by a calibration is read back, and all other text stays.
#include "model/profile_text.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/testing.hpp"

namespace forebay::model {
namespace {

using ::testing::HasSubstr;

const ProfileMount kFound{
    .path = "/scratch", .in_flight_bytes = 24_MiB, .source = "measured: \"6\" of 4 MiB \\ é"};

std::string changed(const std::string& text,
                    const ProfileMount& mount = kFound,
                    const std::string& host = "here") {
  const auto result = update_mount({.text = text, .path = "a.toml"}, mount, host);
  return result ? *result : result.error().message();
}

Profile read(const std::string& text) {
  const auto profile = parse_profile(text, "a.toml");
  EXPECT_TRUE(profile) << profile.error().message() << "\n" << text;
  return profile.value_or(Profile());
}

TEST(ProfileText, new_profile_is_read_back_equal) {
  EXPECT_EQ(read(make_profile(kFound)).mounts, std::vector{kFound});
  ProfileMount odd = kFound;
  odd.path = "/a \"b\"\\c\t\n/é";
  odd.host = "node[0-9]";
  odd.in_flight_bytes = 65'537;
  odd.source = "";
  EXPECT_EQ(read(make_profile(odd)).mounts, std::vector{odd});
}

TEST(ProfileText, only_the_two_values_of_an_entry_change) {
  const std::string before =
      "# mine\nformat = 1 # é\n\n"
      "[[mounts]] # the first\npath = '/scratch/' # é\n"
      "  in_flight_bytes = \"64 MiB\"  # why\n"
      "source = \"\"\"two\nlines\"\"\" # old\n# between\n"
      "[[mounts]]\npath = \"/data\"\nin_flight_bytes = 65_536 # few";
  const std::string after =
      "# mine\nformat = 1 # é\n\n"
      "[[mounts]] # the first\npath = '/scratch/' # é\n"
      "  in_flight_bytes = \"24 MiB\"  # why\n"
      "source = " +
      std::string(R"("measured: \"6\" of 4 MiB \\ é")") +
      " # old\n# between\n"
      "[[mounts]]\npath = \"/data\"\nin_flight_bytes = 65_536 # few";
  EXPECT_EQ(changed(before), after);
  EXPECT_EQ(read(after).mounts.at(0).source, kFound.source);
  EXPECT_EQ(changed(after), after) << "a second change has no effect";
}

TEST(ProfileText, missing_source_is_added) {
  const std::string head = "format = 1\n[[mounts]]\n\tpath = \"/scratch\"\n";
  const std::string tail = "\n[[mounts]]\npath = \"/\"\nin_flight_bytes = 65536\n";
  const std::string source = "source = " + std::string(R"("measured: \"6\" of 4 MiB \\ é")");
  EXPECT_EQ(changed(head + "\tin_flight_bytes = 9_000_000 # why" + tail),
            head + "\tin_flight_bytes = \"24 MiB\" # why\n\t" + source + tail);
  EXPECT_EQ(changed(head + "in_flight_bytes = 9000000"),
            head + "in_flight_bytes = \"24 MiB\"\n" + source);
}

TEST(ProfileText, inline_entries_are_changed_in_place) {
  const std::string before =
      "format = 1\nmounts = [{path = '/', in_flight_bytes = 65536}, "
      "{path = '/scratch', in_flight_bytes = 65536, host = 'here'}]\n";
  const Profile after = read(changed(before));
  ASSERT_EQ(after.mounts.size(), 2U);
  EXPECT_EQ(after.mounts[0], read(before).mounts[0]);
  EXPECT_EQ(after.mounts[1].in_flight_bytes, 24_MiB);
  EXPECT_EQ(after.mounts[1].source, kFound.source);
}

TEST(ProfileText, path_without_an_entry_gets_one_at_the_end) {
  const std::string above = "format = 1\n[[mounts]]\npath = \"/\"\nin_flight_bytes = 65536 # all";
  const std::string text = changed(above);
  EXPECT_TRUE(text.starts_with(above + "\n\n[[mounts]]\n")) << text;
  EXPECT_EQ(read(text).mounts.back(), kFound);
  EXPECT_EQ(read(changed("format = 1\n")).mounts, std::vector{kFound});
}

TEST(ProfileText, entries_of_other_hosts_are_unchanged) {
  const std::string text = changed(
      "format = 1\n[[mounts]]\npath = \"/scratch\"\nhost = \"there\"\nin_flight_bytes = 65536\n",
      {.path = "/scratch", .in_flight_bytes = 1_MiB, .source = "s", .host = "here"});
  const Profile profile = read(text);
  ASSERT_EQ(profile.mounts.size(), 2U);
  EXPECT_EQ(profile.mounts[0].in_flight_bytes, 65'536U);
  EXPECT_EQ(profile.mounts[1].host, "here");
}

TEST(ProfileText, entry_in_effect_keeps_its_host) {
  const std::string text = changed(
      "format = 1\n[[mounts]]\npath = \"/tmp\"\nhost = \"node*\"\nin_flight_bytes = 65536\n",
      {.path = "/tmp", .in_flight_bytes = 1_MiB, .source = "s", .host = "node7"}, "node7");
  const Profile profile = read(text);
  ASSERT_EQ(profile.mounts.size(), 1U);
  EXPECT_EQ(profile.mounts[0].host, "node*");
  EXPECT_EQ(profile.mounts[0].in_flight_bytes, 1_MiB);
}

TEST(ProfileText, entry_in_effect_is_changed_if_there_are_several) {
  const std::string one = "[[mounts]]\npath = \"/scratch\"\nin_flight_bytes = 65536\n";
  const std::string named =
      "[[mounts]]\npath = \"/scratch\"\nhost = \"here\"\nin_flight_bytes = 65536\n";
  const Profile profile = read(changed("format = 1\n" + one + named + one));
  ASSERT_EQ(profile.mounts.size(), 3U);
  EXPECT_EQ(profile.mounts[0].in_flight_bytes, 65'536U);
  EXPECT_EQ(profile.mounts[1].in_flight_bytes, 24_MiB);
  EXPECT_EQ(profile.mounts[2].in_flight_bytes, 65'536U);
}

TEST(ProfileText, crlf_line_ends_are_accepted) {
  const std::string text =
      "format = 1\r\n[[mounts]]\r\npath = \"/scratch\"\r\nin_flight_bytes = 65536\r\n"
      "source = \"old\"\r\n";
  EXPECT_THAT(changed(text), HasSubstr("in_flight_bytes = \"24 MiB\"\r\nsource = \"measured"));
}

TEST(ProfileText, invalid_profile_is_refused_with_its_line) {
  for (const char* text : {"", "format = 2\n", "format = 1\n[[mounts]]\npath = 3\n", "format ="}) {
    const auto result = update_mount({.text = text, .path = "a.toml"}, kFound, "here");
    ASSERT_EQ(error_class(result), ErrorClass::kInvalidArgument) << text;
    EXPECT_TRUE(message_contains(result.error(), "a.toml: line")) << result.error().message();
  }
}

TEST(ProfileText, unsupported_syntax_is_refused_with_the_entry_to_add) {
  const auto result =
      update_mount({.text = "format = 1\nmounts = []\n", .path = "a.toml"}, kFound, "");
  ASSERT_EQ(error_class(result), ErrorClass::kInvalidArgument);
  EXPECT_TRUE(message_contains(result.error(), "in_flight_bytes = \"24 MiB\""))
      << result.error().message();
}

}  // namespace
}  // namespace forebay::model

// SPDX-License-Identifier: Apache-2.0
// Profiles: documented texts are read, all others are refused with the line, and files find their
// entry.
#include "model/profile.hpp"

#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "base/testing.hpp"

namespace forebay::model {
namespace {

/// The first example of the page.
std::string documented_example() {
  std::ifstream in(FOREBAY_SOURCE_DIR "/docs/formats/profile.md");
  std::stringstream page;
  page << in.rdbuf();
  const std::string text = page.str();
  const std::size_t first = text.find("```toml\n") + 8;
  return text.substr(first, text.find("```", first) - first);
}

TEST(Profile, example_of_the_page_is_read_as_documented) {
  const auto profile = parse_profile(documented_example(), "page");
  ASSERT_TRUE(profile) << profile.error().message();
  ASSERT_EQ(profile->mounts.size(), 2U);
  EXPECT_EQ(profile->mounts[0].path, "/scratch");
  EXPECT_EQ(profile->mounts[0].in_flight_bytes, 64_MiB);
  EXPECT_EQ(profile->mounts[0].source,
            "8 requests of 8 MiB were the fewest within 2 % of the best");
  EXPECT_TRUE(profile->mounts[0].host.empty());
  EXPECT_EQ(profile->mounts[1].host, "node*");
  EXPECT_EQ(profile->mounts[1].in_flight_bytes, 16_MiB);
  EXPECT_TRUE(profile->mounts[1].source.empty());
}

TEST(Profile, profile_may_be_empty) {
  const auto profile = parse_profile("format = 1", "empty");
  ASSERT_TRUE(profile);
  EXPECT_TRUE(profile->mounts.empty());
}

TEST(Profile, errors_name_the_line) {
  const auto refused = [](const std::string& text, const std::string& what) {
    const auto profile = parse_profile(text, "a.toml");
    ASSERT_EQ(error_class(profile), ErrorClass::kInvalidArgument) << text;
    EXPECT_TRUE(message_contains(profile.error(), what)) << profile.error().message();
    EXPECT_TRUE(message_contains(profile.error(), "read profile a.toml"))
        << profile.error().message();
  };
  const std::string head = "format = 1\n[[mounts]]\n";
  refused("", "format = 1");
  refused("format = 2", "line 1");
  refused("format = 1\nmount = 3", "the nearest one is \"mounts\"");
  refused("format = 1\nmounts = 3", "write [[mounts]]");
  refused("format = 1\nmounts = [3]", "write [[mounts]]");
  refused(head + "in_flight_bytes = 65536", "path is missing");
  refused(head + "path = \"scratch\"\nin_flight_bytes = 65536", "not absolute");
  refused(head + "path = \"/\"\nhost = 7\nin_flight_bytes = 65536", "mounts.host is not a string");
  refused(head + "path = 7\nin_flight_bytes = 65536", "line 3: mounts.path is not a string");
  refused(head + "path = \"/\"", "in_flight_bytes is missing");
  refused(head + "path = \"/\"\nin_flight_bytes = \"much\"", "line 4");
  refused(head + "path = \"/\"\nin_flight_bytes = 5", "between 64 KiB and 16 GiB");
  refused(head + "path = \"/\"\nin_flight_byte = 5",
          "the nearest one is \"mounts.in_flight_bytes\"");
  refused("format = ", "line 1");
}

/// Every text is read, or refused with path and line; values that are read are within limits.
void check_invariants(const std::string& text) {
  const auto profile = parse_profile(text, "a.toml");
  if (!profile) {
    ASSERT_EQ(profile.error().kind(), ErrorClass::kInvalidArgument) << text;
    ASSERT_EQ(profile.error().path(), "a.toml") << text;
    ASSERT_TRUE(profile.error().cause().starts_with("line ")) << text;
    return;
  }
  for (const ProfileMount& mount : profile->mounts) {
    ASSERT_TRUE(mount.path.is_absolute()) << text;
    ASSERT_GE(mount.in_flight_bytes, kProfileInFlightBytesMin) << text;
    ASSERT_LE(mount.in_flight_bytes, kProfileInFlightBytesMax) << text;
  }
}

TEST(Profile, damaged_and_truncated_texts_keep_the_invariants) {
  const std::string whole = documented_example();
  for (std::size_t i = 0; i < whole.size(); ++i) {
    check_invariants(whole.substr(0, i));
    for (const char change : {'\0', '0', '-', '"', '[', '\n', '\xff'}) {
      std::string damaged = whole;
      damaged[i] = change;
      check_invariants(damaged);
    }
  }
}

TEST(Profile, key_with_too_many_parts_is_refused) {
  std::string key = "a";
  for (int i = 0; i < 50'000; ++i)
    key += ".a";
  EXPECT_EQ(error_class(parse_profile(key + " = 1\n", "deep")), ErrorClass::kInvalidArgument);
}

TEST(Profile, missing_file_is_an_error) {
  EXPECT_EQ(error_class(load_profile("/no/such/profile.toml")), ErrorClass::kNotFound);
}

/// The limit of the entry that applies there; 0 if there is none.
std::uint64_t limit_of(const Profile& profile,
                       const char* directory,
                       const std::string& host = "here") {
  const ProfileMount* const mount = find_mount(profile, {.directory = directory, .host = host});
  return mount == nullptr ? 0 : mount->in_flight_bytes;
}

TEST(Profile, longest_path_that_contains_a_directory_applies) {
  const Profile profile{
      {{"/scratch/fast", 2}, {"/", 1}, {"/scratch/", 3}, {"/scratch/fast/er", 4}}};
  EXPECT_EQ(limit_of(profile, "/"), 1U);
  EXPECT_EQ(limit_of(profile, "/data"), 1U);
  EXPECT_EQ(limit_of(profile, "/scratch"), 3U);
  EXPECT_EQ(limit_of(profile, "/scratches"), 1U);
  EXPECT_EQ(limit_of(profile, "/scratch/fast"), 2U);
  EXPECT_EQ(limit_of(profile, "/scratch/fast/er/deep"), 4U);
  EXPECT_EQ(limit_of(profile, "/scratch/faster"), 3U);
}

TEST(Profile, directory_may_have_no_entry) {
  EXPECT_EQ(limit_of({{{"/scratch", 1}}}, "/data"), 0U);
  EXPECT_EQ(limit_of({}, "/data"), 0U);
}

TEST(Profile, entries_for_other_hosts_are_ignored) {
  const Profile profile{{{"/", 1}, {.path = "/tmp", .in_flight_bytes = 2, .host = "node*"}}};
  EXPECT_EQ(limit_of(profile, "/tmp", "node7"), 2U);
  EXPECT_EQ(limit_of(profile, "/tmp", "login1"), 1U);
  EXPECT_EQ(limit_of({{profile.mounts[1]}}, "/tmp", "login1"), 0U);
}

TEST(Profile, equal_paths_prefer_a_host_and_then_the_last_entry) {
  const ProfileMount any{"/tmp", 1};
  const ProfileMount any_later{"/tmp/", 2};
  const ProfileMount named{.path = "/tmp", .in_flight_bytes = 3, .host = "*"};
  const ProfileMount named_later{.path = "/tmp", .in_flight_bytes = 4, .host = "here"};
  EXPECT_EQ(limit_of({{any, any_later}}, "/tmp"), 2U);
  EXPECT_EQ(limit_of({{any, named, any_later}}, "/tmp"), 3U);
  EXPECT_EQ(limit_of({{named, named_later, any}}, "/tmp"), 4U);
}

TEST(Profile, hosts_match_the_whole_name_or_its_first_part) {
  for (const char* pattern : {"node7.cluster", "node7", "node*", "node[0-9]", "*.cluster", "*"})
    EXPECT_TRUE(is_host_match(pattern, "node7.cluster")) << pattern;
  for (const char* pattern : {"node", "node8", "cluster", "Node7", "node7.", "[", ""})
    EXPECT_FALSE(is_host_match(pattern, "node7.cluster")) << pattern;
}

}  // namespace
}  // namespace forebay::model

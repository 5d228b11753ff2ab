// SPDX-License-Identifier: Apache-2.0
// The file that a calibration changes is the old one or the new one, and nothing lies beside it.
#include "tools/calibrate/profile_file.hpp"

#include <forebay/range.hpp>

#include <fstream>
#include <iterator>
#include <sstream>

#include <gtest/gtest.h>

#include "base/testing.hpp"
#include "stream/in_flight_limit.hpp"

namespace forebay::calibrate {
namespace {

namespace fs = std::filesystem;

std::string text_of(const std::string& path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

std::ptrdiff_t files_in(const fs::path& folder) {
  return std::distance(fs::directory_iterator(folder), {});
}

const model::ProfileMount kFoundMount{
    .path = "/scratch", .in_flight_bytes = 8_MiB, .source = "a test"};

TEST(ProfileFile, is_made_with_its_folders_and_read_again) {
  const TemporaryFolder folder;
  const ProfileFile file(folder / "a/b/profile.toml");
  ASSERT_TRUE(file.prepare());
  EXPECT_FALSE(fs::exists(file.path())) << "nothing is known yet";
  ASSERT_TRUE(file.put(kFoundMount));
  const auto read = model::load_profile(file.path());
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(read->mounts, std::vector{kFoundMount});
  EXPECT_EQ(files_in(folder / "a/b"), 1);
}

TEST(ProfileFile, that_is_there_keeps_what_is_not_concerned_and_who_may_read_it) {
  const TemporaryFolder folder;
  const ProfileFile file(folder / "profile.toml");
  std::ofstream(file.path()) << "# mine\nformat = 1\n";
  fs::permissions(file.path(), fs::perms::owner_read | fs::perms::owner_write);
  ASSERT_TRUE(file.prepare());
  ASSERT_TRUE(file.put(kFoundMount));
  EXPECT_TRUE(text_of(file.path()).starts_with("# mine\nformat = 1\n"));
  EXPECT_EQ(fs::status(file.path()).permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

TEST(ProfileFile, that_is_wrong_is_refused_and_stays_as_it_is) {
  const TemporaryFolder folder;
  const ProfileFile file(folder / "profile.toml");
  std::ofstream(file.path()) << "format = 2\n";
  EXPECT_EQ(error_class(file.prepare()), ErrorClass::kInvalidArgument);
  EXPECT_EQ(error_class(file.put(kFoundMount)), ErrorClass::kInvalidArgument);
  EXPECT_EQ(text_of(file.path()), "format = 2\n");
  EXPECT_EQ(files_in(folder.path()), 1);
}

TEST(ProfileFile, behind_a_link_is_changed_where_it_is) {
  const TemporaryFolder folder;
  fs::create_directory(folder / "real");
  std::ofstream(folder / "real/profile.toml") << "format = 1\n";
  fs::create_symlink(folder / "real/profile.toml", folder / "link.toml");
  ASSERT_TRUE(ProfileFile(folder / "link.toml").put(kFoundMount));
  EXPECT_TRUE(fs::is_symlink(folder / "link.toml"));
  EXPECT_EQ(model::load_profile(folder / "real/profile.toml")->mounts.size(), 1U);
}

TEST(ProfileFile, where_no_file_can_be_is_refused_before_anything_is_measured) {
  EXPECT_FALSE(ProfileFile("/dev/null/profile.toml").prepare());
  EXPECT_FALSE(ProfileFile("/proc/profile.toml").prepare());
}

TEST(Place, is_where_the_device_begins_and_streams_find_it) {
  const TemporaryFolder folder;
  fs::create_directories(folder / "a/b");
  const auto place = place_of(folder / "a/b");
  ASSERT_TRUE(place);
  EXPECT_EQ(*place, *place_of(folder.path()));
  EXPECT_EQ(*place_of(*place), *place);
  const model::Profile profile{{{*place, 8_MiB}}};
  EXPECT_TRUE(stream::mount_of_folder(profile, folder / "a/b"));
  EXPECT_EQ(*place_of("/"), "/");
  EXPECT_EQ(error_class(place_of("/no/such/folder")), ErrorClass::kNotFound);
}

TEST(Place, in_memory_is_of_this_host_alone) {
  const auto shared = is_shared("/dev/shm");
  ASSERT_TRUE(shared);
  EXPECT_FALSE(*shared);
}

}  // namespace
}  // namespace forebay::calibrate

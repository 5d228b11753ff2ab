// SPDX-License-Identifier: Apache-2.0
// A calibration leaves the old profile or the new one, and no temporary file.
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

std::ptrdiff_t files_in(const fs::path& directory) {
  return std::distance(fs::directory_iterator(directory), {});
}

const model::ProfileMount kFoundMount{
    .path = "/scratch", .in_flight_bytes = 8_MiB, .source = "a test"};

TEST(ProfileFile, put_creates_directories_and_a_readable_file) {
  const TemporaryDirectory directory;
  const ProfileFile file(directory / "a/b/profile.toml");
  ASSERT_TRUE(file.prepare());
  EXPECT_FALSE(fs::exists(file.path())) << "nothing is measured yet";
  ASSERT_TRUE(file.put(kFoundMount));
  const auto read = model::load_profile(file.path());
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(read->mounts, std::vector{kFoundMount});
  EXPECT_EQ(files_in(directory / "a/b"), 1);
}

TEST(ProfileFile, put_keeps_other_entries_and_permissions) {
  const TemporaryDirectory directory;
  const ProfileFile file(directory / "profile.toml");
  std::ofstream(file.path()) << "# mine\nformat = 1\n";
  fs::permissions(file.path(), fs::perms::owner_read | fs::perms::owner_write);
  ASSERT_TRUE(file.prepare());
  ASSERT_TRUE(file.put(kFoundMount));
  EXPECT_TRUE(text_of(file.path()).starts_with("# mine\nformat = 1\n"));
  EXPECT_EQ(fs::status(file.path()).permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

TEST(ProfileFile, wrong_profile_fails_and_is_unchanged) {
  const TemporaryDirectory directory;
  const ProfileFile file(directory / "profile.toml");
  std::ofstream(file.path()) << "format = 2\n";
  EXPECT_EQ(error_class(file.prepare()), ErrorClass::kInvalidArgument);
  EXPECT_EQ(error_class(file.put(kFoundMount)), ErrorClass::kInvalidArgument);
  EXPECT_EQ(text_of(file.path()), "format = 2\n");
  EXPECT_EQ(files_in(directory.path()), 1);
}

TEST(ProfileFile, put_replaces_the_target_of_a_link) {
  const TemporaryDirectory directory;
  fs::create_directory(directory / "real");
  std::ofstream(directory / "real/profile.toml") << "format = 1\n";
  fs::create_symlink(directory / "real/profile.toml", directory / "link.toml");
  ASSERT_TRUE(ProfileFile(directory / "link.toml").put(kFoundMount));
  EXPECT_TRUE(fs::is_symlink(directory / "link.toml"));
  EXPECT_EQ(model::load_profile(directory / "real/profile.toml")->mounts.size(), 1U);
}

TEST(ProfileFile, prepare_fails_where_no_file_can_be_created) {
  EXPECT_FALSE(ProfileFile("/dev/null/profile.toml").prepare());
  EXPECT_FALSE(ProfileFile("/proc/profile.toml").prepare());
}

TEST(DeviceRoot, root_of_the_device_is_found_by_streams) {
  const TemporaryDirectory directory;
  fs::create_directories(directory / "a/b");
  const auto place = device_root(directory / "a/b");
  ASSERT_TRUE(place);
  EXPECT_EQ(*place, *device_root(directory.path()));
  EXPECT_EQ(*device_root(*place), *place);
  const model::Profile profile{{{*place, 8_MiB}}};
  EXPECT_TRUE(stream::mount_of_directory(profile, directory / "a/b"));
  EXPECT_EQ(*device_root("/"), "/");
  EXPECT_EQ(error_class(device_root("/no/such/directory")), ErrorClass::kNotFound);
}

TEST(DeviceRoot, memory_is_not_shared) {
  const auto shared = is_shared("/dev/shm");
  ASSERT_TRUE(shared);
  EXPECT_FALSE(*shared);
}

}  // namespace
}  // namespace forebay::calibrate

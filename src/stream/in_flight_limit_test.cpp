// SPDX-License-Identifier: Apache-2.0
// Whose word the limit of a place is: the profile's where it names this place on this host and
// device, else that of its kind.
#include "stream/in_flight_limit.hpp"

#include <forebay/range.hpp>

#include <filesystem>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/testing.hpp"

namespace forebay::stream {
namespace {

namespace fs = std::filesystem;
using model::Profile;
using storage::FileSystem;

TEST(InFlightLimit, without_an_entry_it_is_as_usual_for_the_kind) {
  const TemporaryFolder folder;
  const InFlightLimit disk = in_flight_limit({}, folder.path(), FileSystem::kExt);
  EXPECT_EQ(disk.source, LimitSource::kUsual);
  EXPECT_EQ(disk.bytes, 32_MiB);
  EXPECT_EQ(disk.reason, "as for any local device");
  EXPECT_EQ(in_flight_limit({}, folder.path(), FileSystem::kNfs).bytes, 64_MiB);
}

TEST(InFlightLimit, an_entry_above_the_folder_counts_and_says_why) {
  const TemporaryFolder folder;
  fs::create_directories(folder / "a/b");
  const std::string place = fs::canonical(folder.path());
  const Profile profile{{{place, 5_MiB, "a test"}}};
  const InFlightLimit limit = in_flight_limit(profile, folder / "a/b", FileSystem::kExt);
  EXPECT_EQ(limit.source, LimitSource::kProfile);
  EXPECT_EQ(limit.bytes, 5_MiB);
  EXPECT_EQ(limit.reason, "as the profile has it for " + place + " (a test)");
}

TEST(InFlightLimit, is_raised_to_what_the_servers_need_unless_it_was_measured) {
  const TemporaryFolder folder;
  const StorageNeeds needs{.busy_bytes = 100_MiB, .reason = "storage as a test says"};
  const InFlightLimit far = in_flight_limit({}, folder.path(), FileSystem::kFuse, needs);
  EXPECT_EQ(far.source, LimitSource::kStorage);
  EXPECT_EQ(far.bytes, 100_MiB);
  EXPECT_EQ(far.reason, "as its servers need; storage as a test says");
  const StorageNeeds few{.busy_bytes = 1_MiB, .reason = "storage as a test says"};
  const InFlightLimit near = in_flight_limit({}, folder.path(), FileSystem::kFuse, few);
  EXPECT_EQ(near.bytes, 64_MiB);
  EXPECT_EQ(near.reason, "as for any network file system; storage as a test says");
  const Profile profile{{{fs::canonical(folder.path()), 5_MiB}}};
  EXPECT_EQ(in_flight_limit(profile, folder.path(), FileSystem::kFuse, needs).bytes, 5_MiB);
}

TEST(InFlightLimit, links_are_followed) {
  const TemporaryFolder folder;
  fs::create_directory(folder / "real");
  fs::create_directory_symlink(folder / "real", folder / "link");
  const Profile profile{{{fs::canonical(folder / "real"), 5_MiB}, {folder / "link", 6_MiB}}};
  EXPECT_EQ(mount_of_folder(profile, folder / "link")->in_flight_bytes, 5_MiB);
}

TEST(InFlightLimit, an_entry_for_another_host_does_not_count) {
  const TemporaryFolder folder;
  const fs::path place = fs::canonical(folder.path());
  const std::string here = model::name_of_this_host();
  const Profile profile{{{place, 5_MiB, "", here}, {place, 6_MiB, "", "not-" + here}}};
  EXPECT_EQ(mount_of_folder(profile, folder.path())->in_flight_bytes, 5_MiB);
}

// An entry for "/" was taken for everything that is mounted anywhere.
TEST(InFlightLimit, an_entry_does_not_reach_what_is_mounted_below_it) {
  struct stat root{};
  struct stat memory{};
  if (::stat("/", &root) != 0 || ::stat("/dev/shm", &memory) != 0 || root.st_dev == memory.st_dev)
    GTEST_SKIP() << "/dev/shm is no mount of its own";
  const Profile profile{{{"/", 5_MiB}}};
  EXPECT_FALSE(mount_of_folder(profile, "/dev/shm"));
  EXPECT_TRUE(mount_of_folder(profile, "/"));
  const Profile both{{{"/dev/shm", 6_MiB}, {"/dev", 7_MiB}, {"/", 5_MiB}}};
  EXPECT_EQ(mount_of_folder(both, "/dev/shm")->in_flight_bytes, 6_MiB);
}

TEST(InFlightLimit, a_folder_that_is_not_there_has_none) {
  EXPECT_FALSE(mount_of_folder({{{"/", 5_MiB}}}, "/no/such/folder"));
}

}  // namespace
}  // namespace forebay::stream

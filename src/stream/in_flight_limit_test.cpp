// SPDX-License-Identifier: Apache-2.0
// Source of the limit of a directory: a profile entry for it, on this host and device, else the
// default of its kind.
#include "stream/in_flight_limit.hpp"

#include <forebay/range.hpp>

#include <filesystem>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/host_name.hpp"
#include "base/testing.hpp"

namespace forebay::stream {
namespace {

namespace fs = std::filesystem;
using model::Profile;
using storage::FileSystem;

TEST(InFlightLimit, without_an_entry_it_is_the_default_of_the_kind) {
  const TemporaryDirectory directory;
  const InFlightLimit disk = in_flight_limit({}, directory.path(), FileSystem::kExt);
  EXPECT_EQ(disk.source, LimitSource::kDefault);
  EXPECT_EQ(disk.bytes, 32_MiB);
  EXPECT_EQ(disk.reason, "as for any local device");
  EXPECT_EQ(in_flight_limit({}, directory.path(), FileSystem::kNfs).bytes, 64_MiB);
}

TEST(InFlightLimit, entry_above_the_directory_applies_with_its_source) {
  const TemporaryDirectory directory;
  fs::create_directories(directory / "a/b");
  const std::string place = fs::canonical(directory.path());
  const Profile profile{{{place, 5_MiB, "a test"}}};
  const InFlightLimit limit = in_flight_limit(profile, directory / "a/b", FileSystem::kExt);
  EXPECT_EQ(limit.source, LimitSource::kProfile);
  EXPECT_EQ(limit.bytes, 5_MiB);
  EXPECT_EQ(limit.reason, "as the profile has it for " + place + " (a test)");
}

TEST(InFlightLimit, is_raised_for_the_servers_unless_measured) {
  const TemporaryDirectory directory;
  const StorageNeeds needs{.saturation_bytes = 100_MiB, .reason = "storage of a test"};
  const InFlightLimit far = in_flight_limit({}, directory.path(), FileSystem::kFuse, needs);
  EXPECT_EQ(far.source, LimitSource::kStorage);
  EXPECT_EQ(far.bytes, 100_MiB);
  EXPECT_EQ(far.reason, "as its servers need; storage of a test");
  const StorageNeeds few{.saturation_bytes = 1_MiB, .reason = "storage of a test"};
  const InFlightLimit near = in_flight_limit({}, directory.path(), FileSystem::kFuse, few);
  EXPECT_EQ(near.bytes, 64_MiB);
  EXPECT_EQ(near.reason, "as for any network file system; storage of a test");
  const Profile profile{{{fs::canonical(directory.path()), 5_MiB}}};
  EXPECT_EQ(in_flight_limit(profile, directory.path(), FileSystem::kFuse, needs).bytes, 5_MiB);
}

TEST(InFlightLimit, links_are_followed) {
  const TemporaryDirectory directory;
  fs::create_directory(directory / "real");
  fs::create_directory_symlink(directory / "real", directory / "link");
  const Profile profile{{{fs::canonical(directory / "real"), 5_MiB}, {directory / "link", 6_MiB}}};
  EXPECT_EQ(mount_of_directory(profile, directory / "link")->in_flight_bytes, 5_MiB);
}

TEST(InFlightLimit, entry_for_another_host_is_ignored) {
  const TemporaryDirectory directory;
  const fs::path place = fs::canonical(directory.path());
  const std::string here = host_name();
  const Profile profile{{{place, 5_MiB, "", here}, {place, 6_MiB, "", "not-" + here}}};
  EXPECT_EQ(mount_of_directory(profile, directory.path())->in_flight_bytes, 5_MiB);
}

// An entry for "/" once applied to all mounts.
TEST(InFlightLimit, entry_does_not_apply_to_a_mount_below_it) {
  struct stat root{};
  struct stat memory{};
  if (::stat("/", &root) != 0 || ::stat("/dev/shm", &memory) != 0 || root.st_dev == memory.st_dev)
    GTEST_SKIP() << "/dev/shm is not a separate mount";
  const Profile profile{{{"/", 5_MiB}}};
  EXPECT_FALSE(mount_of_directory(profile, "/dev/shm"));
  EXPECT_TRUE(mount_of_directory(profile, "/"));
  const Profile both{{{"/dev/shm", 6_MiB}, {"/dev", 7_MiB}, {"/", 5_MiB}}};
  EXPECT_EQ(mount_of_directory(both, "/dev/shm")->in_flight_bytes, 6_MiB);
}

TEST(InFlightLimit, missing_directory_has_no_entry) {
  EXPECT_FALSE(mount_of_directory({{{"/", 5_MiB}}}, "/no/such/directory"));
}

}  // namespace
}  // namespace forebay::stream

// SPDX-License-Identifier: Apache-2.0
#include "tools/emufs/mounts.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/sysmacros.h>

#include "tools/emufs/arguments.hpp"

namespace forebay::emufs {
namespace {

TEST(Mounts, mountinfo_is_parsed) {
  const auto entries = parse_mounts(
      "22 1 254:0 / / rw,relatime shared:1 master:2 - ext4 /dev/root rw\n"
      "70 22 0:51 /sub /mnt/with\\040blank rw - fuse.forebay-emufs /data/back rw,user_id=0\n");
  EXPECT_THAT(entries, ::testing::ElementsAre(MountEntry{"/", "ext4", "/dev/root", makedev(254, 0)},
                                              MountEntry{"/mnt/with blank", "fuse.forebay-emufs",
                                                         "/data/back", makedev(0, 51)}));
}

TEST(Mounts, malformed_lines_are_skipped) {
  EXPECT_TRUE(parse_mounts("").empty());
  EXPECT_TRUE(parse_mounts("22 1 254:0 / /\n\nx y z\n").empty());
}

TEST(Mounts, later_mount_at_the_same_path_hides_earlier) {
  const std::vector<MountEntry> mounts = {{"/a", "tmpfs", "none", makedev(0, 1)},
                                          {"/b", "tmpfs", "none", makedev(0, 2)},
                                          {"/a", "tmpfs", "none", makedev(0, 3)}};
  EXPECT_TRUE(is_hidden(mounts[0], mounts));
  EXPECT_FALSE(is_hidden(mounts[1], mounts));
  EXPECT_FALSE(is_hidden(mounts[2], mounts));
}

template <class Request>
Result<Request> parse(void (*add)(CLI::App&, Request&),
                      const std::vector<std::string_view>& words) {
  Request request;
  CLI::App app;
  add(app, request);
  return command::parse(app, words).map([&](const std::string&) { return request; });
}

TEST(Arguments, mount_options_are_parsed) {
  const auto mount = parse(add_mount, {"--machine", "nfs", "back", "--clients", "3", "--no-delay",
                                       "point", "--record", "file", "--attribute-cache", "3"});
  ASSERT_TRUE(mount);
  EXPECT_EQ(mount->machine, "nfs");
  EXPECT_EQ(mount->backing, "back");
  EXPECT_EQ(mount->mount_point, "point");
  EXPECT_EQ(mount->clients, 3U);
  EXPECT_EQ(mount->delay_mode, DelayMode::kDisabled);
  EXPECT_EQ(mount->sync_mode, SyncMode::kEnabled);
  EXPECT_EQ(mount->record, "file");
  EXPECT_EQ(mount->attribute_cache_s, 3U);
}

TEST(Arguments, replay_options_are_parsed) {
  const auto replay = parse(add_replay, {"r", "f", "--cut", "7", "--unsynced", "random"});
  ASSERT_TRUE(replay);
  EXPECT_EQ(replay->cut, 7U);
  EXPECT_EQ(replay->unsynced, Unsynced::kRandom);
}

TEST(Arguments, error_names_the_wrong_argument) {
  const std::vector<std::pair<std::vector<std::string_view>, std::string>> wrong = {
      {{"a"}, "MOUNT_POINT is required"},
      {{"a", "b", "--clients", "0"}, "--clients must be a whole number from 1 to 1024, not '0'"},
      {{"a", "b", "--clients", "1x"}, "--clients must be a whole number from 1 to 1024, not '1x'"},
      {{"a", "b", "--machine"}, "--machine needs a value"},
      {{"a", "b", "--quick"}, "unknown option --quick"}};
  for (const auto& [words, complaint] : wrong) {
    const auto mount = parse(add_mount, words);
    ASSERT_FALSE(mount) << complaint;
    EXPECT_EQ(mount.error().cause(), complaint);
  }
  EXPECT_EQ(parse(add_replay, {"r", "f", "--unsynced", "some"}).error().cause(),
            "--unsynced must be all, none or random, not 'some'");
}

}  // namespace
}  // namespace forebay::emufs
